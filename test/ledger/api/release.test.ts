import { describe, expect, it } from 'vitest';
import {
  isReleaseSince,
  mayLackInFlight,
  listSourceOf,
  inFlightOmittedSince,
  readRelease,
  releaseOf,
  unreadRelease,
} from '../../../src/ledger/api/release.ts';
import { ledgerError } from '../../../src/ledger/errors/make-ledger-error.ts';

describe('participant release', () => {
  it.each([
    ['3.4.12', '3.4'],
    ['3.7.4', '3.7'],
    ['v3.7.1', '3.7'],
    ['3.7.0-SNAPSHOT', '3.7'],
    ['3.7.0-rc1', '3.7'],
    ['3.7-20261029', '3.7'],
    ['3.10.0', '3.10'],
    ['', undefined],
    ['main', undefined],
    ['3', undefined],
    ['release 3.7', undefined],
  ])('is read from version %j as %s', (version, number) => {
    expect(releaseOf(version)).toEqual({ version, number });
  });

  it('is compared by its numbers, and an unknown release is older than any other', () => {
    expect(isReleaseSince(releaseOf('3.10.0'), '3.7')).toBe(true);
    expect(isReleaseSince(releaseOf('3.6.99'), '3.7')).toBe(false);
    expect(isReleaseSince(releaseOf('4.0.0'), '3.7')).toBe(true);
    expect([isReleaseSince(releaseOf('main'), '3.4'), isReleaseSince(unreadRelease, '3.4')]).toEqual([false, false]);
  });

  it('is unknown if the version call is rejected, but an unreachable server is an error', async () => {
    const failing = (code: 'LEDGER_NOT_A_LEDGER' | 'LEDGER_PERMISSION_DENIED' | 'LEDGER_UNREACHABLE') =>
      readRelease({ node: { version: () => Promise.reject(ledgerError(code, 'no')) } });
    expect(await failing('LEDGER_NOT_A_LEDGER')).toEqual(unreadRelease);
    expect(await failing('LEDGER_PERMISSION_DENIED')).toEqual(unreadRelease);
    await expect(failing('LEDGER_UNREACHABLE')).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' });
    expect(await readRelease({ node: { version: async () => ({ version: '3.7.4' }) } })).toEqual(releaseOf('3.7.4'));
  });
});

describe('list of active contracts', () => {
  const releaseFields = (seedRelease: string | null, hasInFlight: boolean | null) => ({
    seedRelease,
    seedHasInFlight: hasInFlight,
  });

  it.each([
    ['false if the list is recorded as complete', releaseFields('3.7.4', true), '3.7.4', false],
    ['false if 3.6 returned a complete list before an upgrade', releaseFields('3.6.2', true), '3.7.4', false],
    ['true if 3.7 returned an incomplete list', releaseFields('3.7.0', false), '3.7.4', true],
    ['true if the release could not be read and is 3.7 now', releaseFields(null, false), '3.7.4', true],
    ['true if the version had no numbers and the release is 3.7 now', releaseFields('main', false), '3.7.4', true],
    ['false if the release could not be read and is 3.6 now', releaseFields(null, false), '3.6.2', false],
    ['true if no release was recorded and it is 3.7 now', releaseFields(null, null), '3.7.4', true],
    ['false if no release was recorded and it is 3.5 now', releaseFields(null, null), '3.5.10', false],
  ])('makes lacksInFlight() return %s', (_caseName, source, now, expected) => {
    expect(mayLackInFlight(source, releaseOf(now))).toBe(expected);
  });

  it('is recorded as complete only if the release is known', () => {
    expect(listSourceOf(releaseOf('3.7.4'))).toEqual({ release: '3.7.4', hasInFlight: true });
    expect(listSourceOf(releaseOf('main'))).toEqual({ release: 'main', hasInFlight: false });
    expect(listSourceOf(unreadRelease)).toEqual({ release: null, hasInFlight: false });
    expect(isReleaseSince(releaseOf(`${inFlightOmittedSince}.0`), inFlightOmittedSince)).toBe(true);
  });
});
