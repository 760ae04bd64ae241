/** Arguments of `migrate --citus`, checked before the command connects to a database. */
import { expect, it } from 'vitest';
import { migrateCommand } from '../../src/cli/follow/migrate.ts';
import { runCommand } from '../support/run-command.ts';

it.each([
  [['--shards', '4'], '--shards needs --citus'],
  [['--citus', '--print'], '--citus reads the workers'],
  [['--citus', '--shards', '0'], '--shards takes 1 to 1024, found "0"'],
  [['--citus', '--shards', '1025'], '--shards takes 1 to 1024, found "1025"'],
  [['--citus', '--shards', 'four'], '--shards takes 1 to 1024, found "four"'],
])('migrate rejects %j', async (args, message) => {
  const refusedCommand = runCommand(migrateCommand, args, {});
  await expect(refusedCommand).rejects.toMatchObject({
    code: 'USAGE',
    exitCode: 2,
    message: expect.stringContaining(message) as string,
  });
});

it('migrate --citus accepts 1024 shards', async () => {
  // The command continues to the database, which is not configured.
  const refusedCommand = runCommand(
    migrateCommand,
    ['--citus', '--shards', '1024', '--data-dir', '/nowhere/at/all'],
    {},
  );
  await expect(refusedCommand).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
});
