/**
 * Transactions of commands that rewrite stored history while no indexer writes. They use the planner's default settings
 * instead of those for the writer. Only the holder of the writer lock begins them.
 */
import type { PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { tablesOf } from '../connection/query-builder.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import type { StreamIdentity } from '../../model/stream.ts';

/** Facts from the stream row, as read before anything is changed. */
export interface StreamFacts {
  readonly participantId: string | null;
  readonly filter: string;
  readonly filterHash: string;
  /** Hashes of the filters from which the current filter was extended. */
  readonly extendedFrom: readonly string[];
  readonly shape: StreamIdentity['shape'];
  readonly seeded: boolean;
  readonly seedOffset: number | null;
  /** Number of contracts received by the seed that is in progress. */
  readonly seedContracts: number;
  /**
   * Version of the participant that returned the list of active contracts, and whether the list includes reassignments
   * in flight; null if not recorded.
   */
  readonly seedRelease: string | null;
  readonly seedHasInFlight: boolean | null;
  readonly checkpoint: number | null;
  readonly lastUpdate: { readonly offset: number; readonly updateId: string } | undefined;
  /** Updates up to and including this offset were pruned in this schema; 0 if none was pruned. */
  readonly prunedToOffset: number;
  readonly epoch: number;
}

/**
 * Runs one transaction with the planner's default settings; those of the pool suit the small statements of the writer.
 */
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

/** The highest offset that can be read; null before a seed is published. */
export async function publishedCheckpoint(database: Database): Promise<number | null> {
  const stream = await readStream(database);
  return stream?.seeded === true ? stream.checkpoint : null;
}

/**
 * Reads the stream row like {@link readStream} and locks it until the transaction ends. A writer that is still running
 * has to wait, and is fenced afterwards.
 */
export function lockStream(client: PoolClient): Promise<StreamFacts | undefined> {
  return streamFacts(client, true);
}

async function streamFacts(client: PoolClient, isLocked: boolean): Promise<StreamFacts | undefined> {
  const row = await tablesOf(client)
    .selectFrom('stream')
    .select(['participant_id as participantId', 'filter_hash as filterHash', 'transaction_shape as shape'])
    .select('filter_extended_from as extendedFrom')
    .select(['seeded_at', 'seed_offset as seedOffset', 'checkpoint', 'pruned_to_offset', 'epoch'])
    .select(['seed_contracts as seedContracts', 'seed_release as seedRelease'])
    .select('seed_has_in_flight as seedHasInFlight')
    .select(['checkpoint_update_offset as markOffset', 'checkpoint_update_id as markId'])
    .select((e) => e.cast<string>('filter', 'text').as('filter'))
    .$if(isLocked, (stream) => stream.forUpdate())
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { markOffset: offset, markId: updateId, seeded_at: seededAt, pruned_to_offset: prunedToOffset, ...facts } = row;
  const lastUpdate = offset === null || updateId === null ? undefined : { offset, updateId };
  return { ...facts, seeded: seededAt !== null, prunedToOffset: prunedToOffset ?? 0, lastUpdate };
}

const refusalCodes = {
  reset: 'RESET_REFUSED',
  reseed: 'RESEED_REFUSED',
  interfaces: 'INTERFACE_BACKFILL_REFUSED',
  'filter accept': 'FILTER_ACCEPT_REFUSED',
  'switch-participant': 'SWITCH_REFUSED',
  'filter extend': 'FILTER_EXTEND_REFUSED',
  filter_extend: 'FILTER_EXTEND_REFUSED',
} as const;

/** The error for a command that is refused, with its remedy. */
export function refusalError(command: keyof typeof refusalCodes, message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: refusalCodes[command], remedy });
}
