/** What `migrate --citus` takes, before it looks for a database. */
import { expect, it } from 'vitest';
import { migrateCommand } from '../../src/cli/follow/migrate.ts';
import { runCommand } from '../support/run-command.ts';

it.each([
  [['--shards', '4'], '--shards needs --citus'],
  [['--citus', '--print'], '--citus reads the workers'],
  [['--citus', '--shards', '0'], '--shards takes 1 to 1024, found "0"'],
  [['--citus', '--shards', '1025'], '--shards takes 1 to 1024, found "1025"'],
  [['--citus', '--shards', 'four'], '--shards takes 1 to 1024, found "four"'],
])('%j is refused', async (words, said) => {
  const refused = runCommand(migrateCommand, words, {});
  await expect(refused).rejects.toMatchObject({
    code: 'USAGE',
    exitCode: 2,
    message: expect.stringContaining(said) as string,
  });
});

it('takes as many as that', async () => {
  // It goes on to the database, of which none is named.
  const refused = runCommand(migrateCommand, ['--citus', '--shards', '1024', '--data-dir', '/nowhere/at/all'], {});
  await expect(refused).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' });
});
