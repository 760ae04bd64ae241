/** Starts two daemons on one stream, a writer and a standby, and measures takeovers. */
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { watchStored, type StoredStream } from '../e2e/runs/stored.ts';
import type { TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { openRoute, type ConnectionRoute } from './road.ts';

export const leaseMs = 2_000;
const startAt = Date.UTC(2026, 0, 5, 8) * 1000;

export interface Pair extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  readonly stored: StoredStream;
  /** The connection of the leader to the database. */
  readonly road: ConnectionRoute;
  readonly leader: Daemon;
  readonly standby: Daemon;
  /** Appends updates to the ledger. */
  grow(updates: number): void;
  epoch(): Promise<number>;
  /**
   * Measures a takeover: milliseconds until the epoch is above `previousEpoch`, and until an update appended after that
   * is stored.
   */
  takeover(previousEpoch: number): Promise<{ readonly epochMs: number; readonly commitMs: number }>;
  /** Digests of the stored rows, and of the rows that an undisturbed indexer stores. */
  digests(): Promise<{ readonly found: string; readonly expected: string }>;
}

/** Starts both daemons, and waits until one is live and the other one is a standby. */
export async function startPair(env: Readonly<Record<string, string>> = {}): Promise<Pair> {
  const database = await createMigratedDatabase(['ha', 'calm']);
  const sandbox = await startSandbox({ seed: 11, now: () => startAt / 1000 });
  const stored = await watchStored(database.url);
  const connectionRoute = await openRoute(database.url);
  const steps = new Steps(sandbox.ledger, 11);
  let updateCount = 0;
  const growLedger = (updates: number): void => {
    for (const end = updateCount + updates; updateCount < end; updateCount += 1)
      steps.step(startAt + updateCount * 1_000_000);
  };
  growLedger(50);
  const start = (databaseUrl: string, schema: string): Daemon =>
    startDaemon({
      ledgerUrl: sandbox.url,
      databaseUrl,
      schema,
      env: { INDEXER_LEASE: `${leaseMs}ms`, INDEXER_START: 'genesis', ...env },
    });
  const leader = start(connectionRoute.url, 'ha');
  await stored.reaches(leader, 'ha', sandbox.ledger.ledgerEnd());
  const standby = start(database.url, 'ha');
  await standby.logged('standby');
  const epoch = async (): Promise<number> => {
    const { rows } = await stored.client.query<{ epoch: string }>('select epoch from ha.stream');
    return Number(rows[0]?.epoch);
  };
  return {
    sandbox,
    database,
    stored,
    road: connectionRoute,
    leader,
    standby,
    grow: growLedger,
    epoch,
    takeover: async (previousEpoch) => {
      const startMs = performance.now();
      const since = (): number => Math.round(performance.now() - startMs);
      const hasTakenOver = async (): Promise<true | undefined> => ((await epoch()) > previousEpoch ? true : undefined);
      await waitFor('another epoch', hasTakenOver, 60_000);
      const epochMs = since();
      growLedger(20);
      await stored.reaches(standby, 'ha', sandbox.ledger.ledgerEnd());
      return { epochMs, commitMs: since() };
    },
    digests: async () => {
      await stored.reaches(standby, 'ha', sandbox.ledger.ledgerEnd());
      // Inside this process, because a separate process costs seconds of CPU time.
      await using calmIndexer = await runIndexer({
        LEDGER_URL: sandbox.url,
        DATABASE_URL: database.url,
        POSTGRES_SCHEMA: 'calm',
        INDEXER_START: 'genesis',
      });
      await calmIndexer.reaches(sandbox.ledger.ledgerEnd());
      return { found: await digestOf(database.url, 'ha'), expected: await digestOf(database.url, 'calm') };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([leader.kill(), standby.kill()]);
      await stored[Symbol.asyncDispose]();
      await connectionRoute[Symbol.asyncDispose]();
      await sandbox.close();
      await database.drop();
    },
  };
}
