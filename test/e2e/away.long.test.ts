/**
 * Tests a ledger that is unreachable or that sends Retry-After. Requests wait as long as the ledger demands, and the
 * indexer resumes as soon as the ledger returns.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { waitUntilStored } from './runs/at-offset.ts';
import { startDaemon, type Daemon } from './runs/daemon.ts';
import { GuardedLedger } from './runs/guarded-ledger.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

function start(ledger: GuardedLedger, env: Readonly<Record<string, string>> = {}): Daemon {
  const awayEnv = { LEDGER_TOKEN: 'good', INDEXER_START: 'genesis', ...env };
  return startDaemon({ ledgerUrl: ledger.url, databaseUrl: database.url, schema: 'ledger', env: awayEnv });
}

/** The shortest interval between two consecutive times, in milliseconds. */
function shortestPause(times: readonly number[]): number {
  return Math.min(...times.slice(1).map((time, index) => time - (times[index] ?? 0)));
}

describe('indexer with an unreachable participant', () => {
  it('retries every few seconds with few log lines', async () => {
    await using ledger = await GuardedLedger.start('good');
    await using daemon = start(ledger, { INDEXER_RETRY_MAX_DELAY: '30s' });
    await waitUntilStored(daemon, 3);
    ledger.away = true;
    ledger.cut();
    const connectionsBefore = ledger.connected.length;
    // With a back-off of up to half a minute, twenty attempts would take two minutes.
    await waitFor(
      'twenty attempts',
      () => (ledger.connected.length >= connectionsBefore + 20 ? true : undefined),
      45_000,
    );
    const lines = daemon.output().split('"msg":"ledger failed, trying again"').length - 1;
    expect(lines).toBeGreaterThanOrEqual(2);
    expect(lines).toBeLessThanOrEqual(8);
    ledger.away = false;
    ledger.grow();
    await waitUntilStored(daemon, 4);
  }, 90_000);
});

describe('Retry-After', () => {
  it.each([
    ['seconds, in a response', 429, '2', 'http'],
    ['seconds, in a handshake response', 503, '2', 'upgrade'],
    ['a date, in a response', 503, new Date(2_000).toUTCString(), 'http'],
  ])(
    'delays the next request: %s',
    async (_formName, status, value, location) => {
      await using ledger = await GuardedLedger.start('good');
      // The date is relative to the clock of the sender, which may differ from ours.
      const headers = { 'retry-after': value, date: new Date(0).toUTCString() };
      ledger.refusal = { status, headers, of: location === 'http' ? 'requests' : 'handshakes' };
      await using daemon = start(ledger);
      const path = location === 'http' ? '/v2/version' : 'upgrade';
      await waitFor('three attempts', () => (ledger.count(path) >= 3 ? true : undefined), 30_000);
      const times = ledger.requests.filter((request) => request.path === path).map(({ atMs }) => atMs);
      expect(shortestPause(times)).toBeGreaterThan(1_990);
      ledger.refusal = undefined;
      await waitUntilStored(daemon, 3);
    },
    60_000,
  );

  it('delays ledger-end requests without closing the stream', async () => {
    await using ledger = await GuardedLedger.start('good');
    // Only the poll sends requests, and there is only one socket.
    await using daemon = start(ledger, { INDEXER_IDLE_PROBE_AFTER: '1m', INDEXER_COMPLETIONS: 'off' });
    await waitUntilStored(daemon, 3);
    ledger.refusal = { status: 429, headers: { 'retry-after': '2' }, of: 'requests' };
    const probeTimes = (): readonly number[] =>
      ledger.requests.filter(({ path }) => path === '/v2/state/ledger-end').map(({ atMs }) => atMs);
    const questionsBefore = probeTimes().length;
    await waitFor('three questions', () => (probeTimes().length >= questionsBefore + 3 ? true : undefined), 30_000);
    const times = probeTimes().slice(questionsBefore);
    expect(shortestPause(times)).toBeGreaterThan(1_990);
    await waitUntilStored(daemon, ledger.grow());
    expect(ledger.count('upgrade')).toBe(1);
  });
});
