/** Starts two daemons on one stream, a writer and a standby, and measures takeovers. */
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { Steps } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { watchStored, type Stored } from '../e2e/runs/stored.ts';
import type { TestDatabase } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { openRoad, type Road } from './road.ts';

export const leaseMs = 2_000;
const startAt = Date.UTC(2026, 0, 5, 8) * 1000;

export interface Pair extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly database: TestDatabase;
  readonly stored: Stored;
  /** The connection of the leader to the database. */
  readonly road: Road;
  readonly leader: Daemon;
  readonly standby: Daemon;
  /** Appends updates to the ledger. */
  grow(updates: number): void;
  epoch(): Promise<number>;
  /**
   * Measures a takeover: milliseconds until the epoch is above `before`, and until an update appended after that is
   * stored.
   */
  takeover(before: number): Promise<{ readonly epochMs: number; readonly commitMs: number }>;
  /** Digests of the stored rows, and of the rows that an undisturbed indexer stores. */
  digests(): Promise<{ readonly found: string; readonly expected: string }>;
}

/** Starts both daemons, and waits until one is live and the other one is a standby. */
export async function startPair(env: Readonly<Record<string, string>> = {}): Promise<Pair> {
  const database = await createMigratedDatabase(['ha', 'calm']);
  const sandbox = await startSandbox({ seed: 11, now: () => startAt / 1000 });
  const stored = await watchStored(database.url);
  const road = await openRoad(database.url);
  const steps = new Steps(sandbox.ledger, 11);
  let made = 0;
  const grow = (updates: number): void => {
    for (const end = made + updates; made < end; made += 1) steps.step(startAt + made * 1_000_000);
  };
  grow(50);
  const start = (databaseUrl: string, schema: string): Daemon =>
    startDaemon({
      ledgerUrl: sandbox.url,
      databaseUrl,
      schema,
      env: { INDEXER_LEASE: `${leaseMs}ms`, INDEXER_START: 'genesis', ...env },
    });
  const leader = start(road.url, 'ha');
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
    road,
    leader,
    standby,
    grow,
    epoch,
    takeover: async (before) => {
      const started = performance.now();
      const since = (): number => Math.round(performance.now() - started);
      const taken = async (): Promise<true | undefined> => ((await epoch()) > before ? true : undefined);
      await waitFor('another epoch', taken, 60_000);
      const epochMs = since();
      grow(20);
      await stored.reaches(standby, 'ha', sandbox.ledger.ledgerEnd());
      return { epochMs, commitMs: since() };
    },
    digests: async () => {
      await stored.reaches(standby, 'ha', sandbox.ledger.ledgerEnd());
      // Inside this process, because a separate process costs seconds of CPU time.
      await using calm = await runIndexer({
        LEDGER_URL: sandbox.url,
        DATABASE_URL: database.url,
        POSTGRES_SCHEMA: 'calm',
        INDEXER_START: 'genesis',
      });
      await calm.reaches(sandbox.ledger.ledgerEnd());
      return { found: await digestOf(database.url, 'ha'), expected: await digestOf(database.url, 'calm') };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([leader.kill(), standby.kill()]);
      await stored[Symbol.asyncDispose]();
      await road[Symbol.asyncDispose]();
      await sandbox.close();
      await database.drop();
    },
  };
}
