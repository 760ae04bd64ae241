/**
 * Tests a ledger that rejects requests while a stream stays open and idle, as participants do when a token expires. The
 * indexer must report that it is not ready. When an operator has fixed the problem, the indexer must detect it at once.
 * Requests use HTTP.
 */
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { waitUntilStored } from './runs/at-offset.ts';
import { GuardedLedger } from './runs/guarded-ledger.ts';
import { runIndexer } from './runs/indexer-run.ts';

let folder: string;
let database: TestDatabase;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-timeout-'));
  database = await createTestDatabase();
});
afterEach(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

/** Replaces the token by swapping a symbolic link, as happens to a mounted secret. */
async function writeToken(token: string): Promise<void> {
  await writeFile(join(folder, token), token);
  await symlink(join(folder, token), join(folder, 'link'));
  await rename(join(folder, 'link'), join(folder, 'token'));
}

interface Daemon extends AsyncDisposable {
  /** Base URL of the HTTP endpoints. */
  http(): Promise<string>;
  /** Log output so far. */
  output(): string;
}

function start(ledger: GuardedLedger, env: Readonly<Record<string, string>> = {}): Daemon {
  const run = runIndexer({
    LEDGER_URL: ledger.url,
    DATABASE_URL: database.url,
    LEDGER_TOKEN_FILE: join(folder, 'token'),
    INDEXER_START: 'genesis',
    ...env,
  });
  let log: readonly string[] = [];
  const whenStarted = run.then((indexer) => {
    ({ log } = indexer);
    return indexer;
  });
  return {
    http: async () => (await whenStarted).httpUrl,
    output: () => log.join(''),
    [Symbol.asyncDispose]: async () => await (await whenStarted)[Symbol.asyncDispose](),
  };
}

interface Ready {
  readonly status: number;
  readonly state: string;
  readonly reason: string;
}

async function readiness(daemon: Daemon): Promise<Ready> {
  const response = await fetch(`${await daemon.http()}/readyz`);
  return { status: response.status, ...((await response.json()) as Omit<Ready, 'status'>) };
}

const waitForStates = (daemon: Daemon, states: readonly string[], limitMs?: number): Promise<Ready> =>
  waitFor(
    `it is ${states.join(' or ')}`,
    async () => {
      const readyState = await readiness(daemon);
      return states.includes(readyState.state) ? readyState : undefined;
    },
    limitMs,
  );

describe('indexer with an idle stream', () => {
  it('is not ready after ten seconds with an expired token, until the token is renewed', async () => {
    await using ledger = await GuardedLedger.start('first');
    await writeToken('first');
    await using daemon = start(ledger);
    await waitUntilStored(daemon, 3);
    expect(await readiness(daemon)).toMatchObject({ status: 200, state: 'live' });
    ledger.accepted.clear();
    const timeoutSeconds = await waitForStates(daemon, ['ledger_timeout', 'idle'], 120_000);
    expect(timeoutSeconds).toMatchObject({ status: 503, state: 'ledger_timeout' });
    expect(timeoutSeconds.reason).toMatch(/the ledger end, last known as 3, .* for \d+ s: LEDGER_UNAUTHENTICATED: /u);
    const status = (await (await fetch(`${await daemon.http()}/status`)).json()) as Record<string, unknown>;
    expect(status).toMatchObject({
      state: 'ledger_timeout',
      delay: { cause: 'source' },
      lastError: { code: 'LEDGER_UNAUTHENTICATED' },
    });
    expect(status['ledgerEndAgeSeconds']).toBeGreaterThanOrEqual(10);
    const metrics = await (await fetch(`${await daemon.http()}/metrics`)).text();
    const learnedAt = Number(/^indexer_ledger_end_timestamp_seconds (.+)$/mu.exec(metrics)?.[1]);
    expect(learnedAt).toBeGreaterThan(0);
    // The stream was not closed, because no element was due on it.
    expect(ledger.following).toEqual(['first']);

    ledger.accepted.add('second');
    await writeToken('second');
    expect(await waitForStates(daemon, ['live', 'idle'])).toMatchObject({ status: 200 });
    await waitFor('the stream has the new token', () => (ledger.following.join() === 'second' ? true : undefined));
    await waitUntilStored(daemon, ledger.grow());
    expect(daemon.output()).not.toContain('"msg":"backing off"');
  });

  it('polls the ledger and stays ready while the database is slow', async () => {
    await using ledger = await GuardedLedger.start('first');
    await writeToken('first');
    await using daemon = start(ledger, { INDEXER_LEDGER_TIMEOUT: '2s' });
    await waitUntilStored(daemon, 3);
    const requestsBefore = ledger.count('/v2/state/ledger-end');
    const lockQuery = query(database.url, 'begin; lock table ledger.stream; select pg_sleep(5); commit');
    await waitFor('four more questions', () =>
      ledger.count('/v2/state/ledger-end') >= requestsBefore + 4 ? true : undefined,
    );
    expect(await readiness(daemon)).toMatchObject({ status: 200 });
    await lockQuery;
  });
});

describe('indexer with failing requests', () => {
  const ledgerEnd = '/v2/state/ledger-end';
  /** Without idle probes, only the poll sends requests. */
  const slowProbeEnv = { INDEXER_IDLE_PROBE_AFTER: '1m' };

  it('reports the ledger end when the pruned-offset request fails', async () => {
    await using ledger = await GuardedLedger.start('first');
    await writeToken('first');
    await using daemon = start(ledger, { ...slowProbeEnv, INDEXER_LEDGER_TIMEOUT: '2s' });
    await waitUntilStored(daemon, 3);
    ledger.instead.set('/v2/state/latest-pruned-offsets', (response) => response.writeHead(503).end('busy'));
    const offset = ledger.grow();
    await waitUntilStored(daemon, offset);
    const requestsBefore = ledger.count(ledgerEnd);
    await waitFor('five questions', () => (ledger.count(ledgerEnd) >= requestsBefore + 5 ? true : undefined));
    expect(await readiness(daemon)).toMatchObject({ status: 200, state: 'live' });
    const status = (await (await fetch(`${await daemon.http()}/status`)).json()) as Record<string, unknown>;
    expect(status).toMatchObject({ ledgerEnd: offset, lastError: { code: 'LEDGER_UNAVAILABLE' } });
    expect(await query(database.url, 'select ledger_end::int from ledger.stream')).toEqual([{ ledger_end: offset }]);
  });

  it('stays ready when a ledger-end response never arrives, because it retries in time', async () => {
    await using ledger = await GuardedLedger.start('first');
    await writeToken('first');
    await using daemon = start(ledger, { ...slowProbeEnv, INDEXER_LEDGER_TIMEOUT: '6s' });
    await waitUntilStored(daemon, 3);
    // The ledger never responds to the first of these requests.
    ledger.instead.set(ledgerEnd, () => ledger.instead.delete(ledgerEnd));
    await waitFor('the question', () => (ledger.instead.size === 0 ? true : undefined));
    const requestsBefore = ledger.count(ledgerEnd);
    const states = new Set<string>();
    await waitFor(
      'two more questions',
      async () => {
        states.add((await readiness(daemon)).state);
        return ledger.count(ledgerEnd) >= requestsBefore + 2 ? true : undefined;
      },
      120_000,
    );
    expect([...states]).toEqual(['live']);
  });

  it('becomes ready when an update arrives, although a Retry-After stops its requests', async () => {
    await using ledger = await GuardedLedger.start('first');
    await writeToken('first');
    await using daemon = start(ledger, { ...slowProbeEnv, INDEXER_LEDGER_TIMEOUT: '3s' });
    await waitUntilStored(daemon, 3);
    const readLearnedAt = async (): Promise<number> => {
      const status = (await (await fetch(`${await daemon.http()}/status`)).json()) as Record<string, unknown>;
      return Number(status['ledgerEndAgeSeconds']);
    };
    ledger.instead.set(ledgerEnd, (response) => response.writeHead(503, { 'retry-after': '300' }).end());
    await waitFor('it is ledger_timeout', async () =>
      (await readiness(daemon)).state === 'ledger_timeout' ? true : undefined,
    );
    await waitUntilStored(daemon, ledger.grow());
    expect(await readiness(daemon)).toMatchObject({ status: 200, state: 'live' });
    expect(await readLearnedAt()).toBeGreaterThan(3);
    await waitFor('it is ledger_timeout again', async () =>
      (await readiness(daemon)).state === 'ledger_timeout' ? true : undefined,
    );
  });
});

describe('parked indexer', () => {
  it('resumes when its rejected token is replaced', async () => {
    await using ledger = await GuardedLedger.start('good', 'better');
    await writeToken('refused');
    await using daemon = start(ledger);
    await waitForStates(daemon, ['parked']);
    await writeToken('good');
    await waitUntilStored(daemon, 3);
    // The stream ends because of its token, and the file is not replaced in time. After two attempts, a long pause
    // follows.
    ledger.accepted.delete('good');
    ledger.grow();
    await waitForStates(daemon, ['parked']);
    await writeToken('better');
    await waitUntilStored(daemon, 4);
  });

  it('does not reconnect until missing rights are granted, then resumes', async () => {
    await using ledger = await GuardedLedger.start('good');
    ledger.rights = false;
    await writeToken('good');
    await using daemon = start(ledger);
    await waitForStates(daemon, ['parked']);
    const countRequests = (): number => ledger.count('/v2/updates');
    await waitFor('four questions', () => (countRequests() >= 4 ? true : undefined));
    // It does not connect or log anything, and only sends requests.
    expect(ledger.count('upgrade')).toBe(1);
    expect(daemon.output().split('"msg":"ledger failed"')).toHaveLength(2);
    ledger.rights = true;
    await waitUntilStored(daemon, 3);
  });

  it('does not reconnect early if a gateway rejects the stream although the rights exist', async () => {
    await using ledger = await GuardedLedger.start('good');
    ledger.refusal = { status: 403, headers: {}, of: 'handshakes' };
    await writeToken('good');
    await using daemon = start(ledger);
    await waitForStates(daemon, ['parked']);
    const countRequests = (): number => ledger.count('/v2/updates');
    await waitFor('four questions', () => (countRequests() >= 4 ? true : undefined));
    expect(ledger.count('upgrade')).toBe(1);
    expect(daemon.output().split('"msg":"ledger failed"')).toHaveLength(2);
  });
});
