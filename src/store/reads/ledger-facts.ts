/** Facts about the ledger in the stream row, and the reads of `status`. They are not part of the write path. */
import type { ClientBase } from 'pg';
import type { Database } from '../connection/database.ts';
import { countRows, tablesOf } from '../connection/query-builder.ts';

/**
 * Stores the polled ledger end and, if reported, the offset up to which the participant pruned. If the writer is
 * fenced, nothing changes.
 */
export async function storeLedgerFacts(
  database: Database,
  epoch: number,
  ledgerEnd: number,
  participantPrunedOffset: number | undefined,
): Promise<void> {
  await database.withClient((client) =>
    tablesOf(client)
      .updateTable('stream')
      .set('ledger_end', ledgerEnd)
      .$if(participantPrunedOffset !== undefined, (stream) =>
        stream.set('participant_pruned_offset', participantPrunedOffset ?? null),
      )
      .where('epoch', '=', epoch)
      .execute(),
  );
}

export interface StoredStatus {
  /** Null if the indexer's user never had the right to read it. */
  readonly participantId: string | null;
  readonly checkpoint: number | null;
  readonly seeded: boolean;
  readonly seedOffset: number | null;
  readonly seedContracts: number;
  readonly ledgerEnd: number | null;
  readonly recordTime: Date | null;
  readonly updates: number;
  readonly activeContracts: number;
  /** Contracts that are neither active nor ended, because their parties left the participant. */
  readonly unhostedContracts: number;
}

/**
 * Reads the status from the tables; undefined if nothing was ever indexed here. It counts entire tables, which takes
 * seconds for millions of rows.
 */
export function readStoredStatus(database: Database): Promise<StoredStatus | undefined> {
  return database.withClient(async (client) => {
    const stream = await tablesOf(client)
      .selectFrom('stream')
      .select(['participant_id as participantId', 'checkpoint', 'seeded_at', 'seed_offset as seedOffset'])
      .select(['seed_contracts as seedContracts', 'ledger_end as ledgerEnd', 'checkpoint_record_time as recordTime'])
      .executeTakeFirst();
    if (stream === undefined) return undefined;
    const { seeded_at: seededAt, ...facts } = stream;
    return { ...facts, seeded: seededAt !== null, ...(await countAll(client)) };
  });
}

type Counts = Pick<StoredStatus, 'updates' | 'activeContracts' | 'unhostedContracts'>;

async function countAll(client: ClientBase): Promise<Counts> {
  const tables = tablesOf(client);
  const updates = await tables.selectFrom('updates').select(countRows).executeTakeFirstOrThrow();
  const liveCount = tables.selectFrom('live').select(countRows);
  const active = await liveCount.where('unhosted_since', 'is', null).executeTakeFirstOrThrow();
  const unhostedCount = await liveCount.where('unhosted_since', 'is not', null).executeTakeFirstOrThrow();
  return { updates: updates.count, activeContracts: active.count, unhostedContracts: unhostedCount.count };
}
