/** `check` reports when the major version of a server is no longer supported. */
import { expect, it } from 'vitest';
import { checkPostgresVersion } from '../../src/cli/check/release-checks.ts';

it('check warns about a Postgres version from the day after its end of support', () => {
  const judgeOn = (version: string, day: string) => checkPostgresVersion(version, Date.parse(day));
  expect(judgeOn('14.20', '2026-11-12')).toMatchObject({ state: 'pass' });
  expect(judgeOn('14.20', '2026-11-13')).toMatchObject({ state: 'warn', fix: expect.stringContaining('upgrade') });
  expect(judgeOn('17.10 (Debian 17.10-1)', '2026-11-13')).toMatchObject({ state: 'pass' });
  expect(judgeOn('99devel', '2026-11-13')).toMatchObject({ state: 'skip' });
});
