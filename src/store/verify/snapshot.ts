/** The snapshot that a complete `verify` reads: read-only and consistent, regardless of later commits. */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { ParticipantRange } from '../../model/stream.ts';
import { type Database, rollBack } from '../connection/database.ts';
import { tablesOf } from '../connection/query-builder.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import { readRequestedInterfaces } from '../write/filter-interfaces.ts';
import { currentParticipant } from '../write/participants.ts';

/** The stream at the time of the snapshot. */
export interface VerifiedStream {
  readonly participantId: string | null;
  /** The filter of the subscription, including the interfaces that it requests at the time of the snapshot. */
  readonly filter: object;
  readonly checkpoint: number;
  /** Updates up to and including this offset were pruned here; 0 if none was pruned. */
  readonly prunedToOffset: number;
  /** Updates after this offset are complete under the current filter, including views of interfaces. */
  readonly coveredAfter: number;
  /** Contracts activated after this offset are complete; -1 if all active contracts were read. */
  readonly activeAfter: number;
  readonly seedOffset: number;
  /** Range of the current participant; undefined if the stream never switched to another participant. */
  readonly participantRange: ParticipantRange | undefined;
}

export interface Snapshot {
  readonly client: ClientBase;
  readonly stream: VerifiedStream;
}

/** Settings of the transaction. It has no time limit, because entire tables are read. */
const settings = [
  'set local statement_timeout = 0',
  'set local idle_in_transaction_session_timeout = 0',
  reportPlanning,
  "set local work_mem = '64MB'",
].join('; ');

/**
 * Runs `work` with a client within one REPEATABLE READ READ ONLY transaction.
 * @throws IndexerError VERIFY_NOT_SEEDED if nothing is published yet
 */
export async function inSnapshot<T>(database: Database, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return database.withClient(async (client) => {
    await client.query('begin transaction isolation level repeatable read, read only');
    try {
      await client.query(settings);
      return await work({ client, stream: await readStream(client) });
    } finally {
      await rollBack(client);
    }
  });
}

async function readStream(client: ClientBase): Promise<VerifiedStream> {
  const row = await tablesOf(client)
    .selectFrom('stream')
    .select(['participant_id', 'filter', 'checkpoint', 'seed_offset', 'seeded_at', 'pruned_to_offset'])
    .executeTakeFirst();
  if (row === undefined || row.seeded_at === null || row.checkpoint === null) throw notSeededError();
  const { coveredAfter, activeAfter } = await readStoredCoverage(client);
  const views = (await readRequestedInterfaces(client)).flatMap(({ id, state, completeFrom }) =>
    state === 'followed' && completeFrom !== null ? [{ id, completeFrom }] : [],
  );
  return {
    participantId: row.participant_id,
    filter: { ...(row.filter as object), interfaces: views.map(({ id }) => id) },
    checkpoint: row.checkpoint,
    seedOffset: row.seed_offset ?? 0,
    prunedToOffset: row.pruned_to_offset ?? 0,
    coveredAfter: Math.max(coveredAfter, ...views.map(({ completeFrom }) => completeFrom)),
    activeAfter,
    participantRange: await currentParticipant(client),
  };
}

/**
 * Uses the newest range that is not a reset, because a reset to an offset does not change which earlier ranges are
 * complete.
 */
async function readStoredCoverage(client: ClientBase): Promise<Pick<VerifiedStream, 'coveredAfter' | 'activeAfter'>> {
  const rows = await tablesOf(client)
    .selectFrom('coverage')
    .select(['from_offset', 'origin', 'complete'])
    .orderBy('from_offset', 'desc')
    .orderBy('recorded_at', 'desc')
    .execute();
  const range = rows.find(({ origin }) => origin !== 'reset') ?? rows.at(-1);
  const coveredAfter = range?.from_offset ?? 0;
  const isExtended = range?.origin === 'filter-extend' && range.complete;
  const hasAllActiveContracts = range?.origin === 'seed' || range?.origin === 'reseed' || isExtended;
  return { coveredAfter, activeAfter: hasAllActiveContracts || coveredAfter === 0 ? -1 : coveredAfter };
}

function notSeededError(): IndexerError {
  return new IndexerError('nothing is published in this schema yet: there is no seed to compare', {
    code: 'VERIFY_NOT_SEEDED',
  });
}
