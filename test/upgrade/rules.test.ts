import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { buildReadSideScript } from '../../src/store/schema/read-side.ts';
import { migrationFiles } from '../../src/store/schema/migrations.ts';
import { migrationTests } from './migration-tests.ts';
import { readRecording } from './recording.ts';
import { violations, type RuleInput } from './rules.ts';

const base: RuleInput = {
  migrations: ['0001_stream', '0002_events'],
  readSide: 'read side 1',
  version: '1.0.0',
  recording: { version: '1.0.0', migrations: ['0001_stream', '0002_events'], readSide: 'read side 1' },
  tested: [],
};

describe('violations()', () => {
  it('returns none for the recorded migrations and read side', () => {
    expect(violations(base)).toEqual([]);
  });

  it('reports a migration after the recording without an upgrade test', () => {
    const migrations = [...base.migrations, '0003_new'];
    expect(violations({ ...base, migrations })).toEqual([
      '0003_new has no upgrade test: add an entry to test/upgrade/migration-tests.ts',
    ]);
    expect(violations({ ...base, migrations, tested: ['0003_new'] })).toEqual([]);
    expect(violations({ ...base, migrations, version: '0.9.0' })[0]).toMatch(
      /until 1.0.0 is released, run `npm run upgrade:record`/,
    );
  });

  it('reports a recorded migration that was renamed or removed', () => {
    expect(violations({ ...base, migrations: ['0001_stream'] })).toEqual([
      '0002_events is in the database of 1.0.0 and was removed: restore the file',
    ]);
  });

  it('reports an upgrade test of no migration', () => {
    expect(violations({ ...base, tested: ['0002_events'] })).toEqual([
      '0002_events has an upgrade test, but is no migration after 1.0.0: remove the entry',
    ]);
  });

  it('reports views that changed after the release without a migration', () => {
    const changed = { ...base, readSide: 'read side 2' };
    expect(violations(changed)[0]).toMatch(/migrations\/read differs from 1.0.0 without a migration/);
    expect(violations({ ...changed, version: '0.9.0' })).toEqual([]);
    expect(violations({ ...changed, version: '1.0.1' })).toHaveLength(1);
    expect(violations({ ...changed, migrations: [...base.migrations, '0003_new'], tested: ['0003_new'] })).toEqual([]);
  });
});

describe('the migrations of this build', () => {
  it('have an upgrade test if the recorded database lacks them', async () => {
    const script = await buildReadSideScript('ledger');
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(
      violations({
        migrations: (await migrationFiles()).map(({ id }) => id),
        readSide: /^comment on schema "?explore"? is '(.*)';$/m.exec(script)?.[1] ?? '',
        version,
        recording: readRecording(),
        tested: Object.keys(migrationTests),
      }),
    ).toEqual([]);
  });
});
