/** Facts of the ledger noted in the stream row, and the reads that `status` shows. Not part of the write path. */
import { Kysely, PostgresDialect, type SelectQueryBuilder } from 'kysely';
import type { Database } from '../connection/database.ts';
import { toStoreError } from '../connection/store-error.ts';

/** Notes the polled ledger end and, if it was told, pruned offset; a writer that was fenced changes nothing. */
export async function noteLedgerFacts(
  database: Database,
  epoch: number,
  ledgerEnd: number,
  prunedOffset: number | undefined,
): Promise<void> {
  await database.withClient((client) =>
    client.query('update stream set ledger_end = $2, pruned_offset = coalesce($3, pruned_offset) where epoch = $1', [
      epoch,
      ledgerEnd,
      prunedOffset,
    ]),
  );
}

export interface StoredStatus {
  /** Null when the indexer's user could never read it. */
  readonly participantId: string | null;
  readonly checkpoint: number | null;
  readonly seeded: boolean;
  readonly seedOffset: number | null;
  readonly seedContracts: number;
  readonly ledgerEnd: number | null;
  readonly recordTime: Date | null;
  readonly updates: number;
  readonly activeContracts: number;
  /** Neither active nor ended: their parties left the participant. */
  readonly unknownContracts: number;
}

/** The columns these reads touch; the SQL truth is migrations/. */
interface Tables {
  readonly stream: {
    readonly participant_id: string | null;
    readonly checkpoint: number | null;
    readonly seeded_at: Date | null;
    readonly seed_offset: number | null;
    readonly seed_contracts: number;
    readonly ledger_end: number | null;
    readonly checkpoint_record_time: Date | null;
  };
  readonly updates: { readonly offset: number };
  readonly lifetimes: { readonly deactivated_offset: number | null; readonly unknown_since: number | null };
}

/** What the tables say of themselves; undefined when nothing was ever indexed here. Counts whole tables: seconds at millions. */
export async function readStoredStatus(database: Database): Promise<StoredStatus | undefined> {
  const read = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: database.pool }) });
  try {
    const stream = await read.selectFrom('stream').selectAll().executeTakeFirst();
    if (stream === undefined) return undefined;
    const updates = await countOf(read.selectFrom('updates'));
    const open = read.selectFrom('lifetimes').where('deactivated_offset', 'is', null);
    const activeContracts = await countOf(open.where('unknown_since', 'is', null));
    const unknownContracts = await countOf(open.where('unknown_since', 'is not', null));
    return {
      participantId: stream.participant_id,
      checkpoint: stream.checkpoint,
      seeded: stream.seeded_at !== null,
      seedOffset: stream.seed_offset,
      seedContracts: stream.seed_contracts,
      ledgerEnd: stream.ledger_end,
      recordTime: stream.checkpoint_record_time,
      updates,
      activeContracts,
      unknownContracts,
    };
  } catch (thrown) {
    throw toStoreError(thrown);
  }
}

async function countOf<T extends keyof Tables>(rows: SelectQueryBuilder<Tables, T, object>): Promise<number> {
  const { count } = await rows.select((expression) => expression.fn.countAll().as('count')).executeTakeFirstOrThrow();
  return Number(count);
}
