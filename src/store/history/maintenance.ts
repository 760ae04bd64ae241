/**
 * Transactions of commands that rewrite stored history while no indexer writes: planned as reports, not as the writer's
 * statements, and only begun by the holder of the writer lock.
 */
import type { PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { tablesOf } from '../connection/query-builder.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import type { StreamIdentity } from '../../model/stream.ts';

/** The stream row before anything is changed. */
export interface StreamFacts {
  readonly participantId: string | null;
  readonly filter: string;
  readonly filterHash: string;
  /** Hashes of the filters that it was extended from. */
  readonly extendedFrom: readonly string[];
  readonly shape: StreamIdentity['shape'];
  readonly seeded: boolean;
  readonly seedOffset: number | null;
  /** Entries of a seed in progress. */
  readonly seedContracts: number;
  /**
   * Version of the participant that returned the list, and whether it has reassignments in flight; null: not recorded.
   */
  readonly seedRelease: string | null;
  readonly seedHasInFlight: boolean | null;
  readonly checkpoint: number | null;
  readonly lastUpdate: { readonly offset: number; readonly updateId: string } | undefined;
  /** Updates up to here were pruned in this schema; 0 if none were. */
  readonly prunedToOffset: number;
  readonly epoch: number;
}

/** One transaction with the planner's default choices; the pool's settings suit the writer's small statements. */
export function maintain<T>(database: Database, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return database.transaction(async (client) => {
    await client.query(reportPlanning);
    return work(client);
  });
}

/** The current stream row; undefined if nothing was ever indexed here. */
export function readStream(database: Database): Promise<StreamFacts | undefined> {
  return database.withClient((client) => streamFacts(client, false));
}

/** Everything up to this offset can be read; null before a seed is published. */
export async function publishedCheckpoint(database: Database): Promise<number | null> {
  const stream = await readStream(database);
  return stream?.seeded === true ? stream.checkpoint : null;
}

/**
 * As {@link readStream}, locked until the transaction ends: a writer that is still running has to wait, and then is
 * fenced.
 */
export function lockStream(client: PoolClient): Promise<StreamFacts | undefined> {
  return streamFacts(client, true);
}

async function streamFacts(client: PoolClient, locked: boolean): Promise<StreamFacts | undefined> {
  const row = await tablesOf(client)
    .selectFrom('stream')
    .select(['participant_id as participantId', 'filter_hash as filterHash', 'transaction_shape as shape'])
    .select('filter_extended_from as extendedFrom')
    .select(['seeded_at', 'seed_offset as seedOffset', 'checkpoint', 'pruned_to_offset', 'epoch'])
    .select(['seed_contracts as seedContracts', 'seed_release as seedRelease'])
    .select('seed_has_in_flight as seedHasInFlight')
    .select(['checkpoint_update_offset as markOffset', 'checkpoint_update_id as markId'])
    .select((e) => e.cast<string>('filter', 'text').as('filter'))
    .$if(locked, (stream) => stream.forUpdate())
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { markOffset: offset, markId: updateId, seeded_at: seededAt, pruned_to_offset: prunedToOffset, ...facts } = row;
  const lastUpdate = offset === null || updateId === null ? undefined : { offset, updateId };
  return { ...facts, seeded: seededAt !== null, prunedToOffset: prunedToOffset ?? 0, lastUpdate };
}

const refusals = {
  reset: 'RESET_REFUSED',
  reseed: 'RESEED_REFUSED',
  interfaces: 'INTERFACE_BACKFILL_REFUSED',
  'filter accept': 'FILTER_ACCEPT_REFUSED',
  'switch-participant': 'SWITCH_REFUSED',
  'filter extend': 'FILTER_EXTEND_REFUSED',
  filter_extend: 'FILTER_EXTEND_REFUSED',
} as const;

/** Error for a command that must not run, with the remedy. */
export function refused(command: keyof typeof refusals, found: string, remedy: string): IndexerError {
  return new IndexerError(found, { code: refusals[command], remedy });
}
