/** Facts of the ledger noted in the stream row, and the reads that `status` shows. Not part of the write path. */
import type { Database } from './database.ts';

/** Notes the polled ledger end and pruned offset; a writer that was fenced changes nothing. */
export async function noteLedgerFacts(
  database: Database,
  epoch: number,
  ledgerEnd: number,
  prunedOffset: number,
): Promise<void> {
  await database.withClient((client) =>
    client.query('update stream set ledger_end = $2, pruned_offset = $3 where epoch = $1', [
      epoch,
      ledgerEnd,
      prunedOffset,
    ]),
  );
}

export interface StoredStatus {
  readonly participantId: string;
  readonly checkpoint: number | null;
  readonly seeded: boolean;
  readonly seedOffset: number | null;
  readonly seedContracts: number;
  readonly ledgerEnd: number | null;
  readonly recordTime: Date | null;
  readonly updates: number;
  readonly activeContracts: number;
}

interface StatusRow {
  readonly participant_id: string;
  readonly checkpoint: number | null;
  readonly seeded_at: Date | null;
  readonly seed_offset: number | null;
  readonly seed_contracts: number;
  readonly ledger_end: number | null;
  readonly checkpoint_record_time: Date | null;
  readonly updates: number;
  readonly active: number;
}

/** What the tables say of themselves; undefined when nothing was ever indexed here. Counts whole tables: seconds at millions. */
export async function readStoredStatus(database: Database): Promise<StoredStatus | undefined> {
  const { rows } = await database.withClient((client) =>
    client.query<StatusRow>(
      `select s.*, (select count(*) from updates) as updates,
              (select count(*) from lifetimes where deactivated_offset is null) as active
         from stream s`,
    ),
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  return {
    participantId: row.participant_id,
    checkpoint: row.checkpoint,
    seeded: row.seeded_at !== null,
    seedOffset: row.seed_offset,
    seedContracts: row.seed_contracts,
    ledgerEnd: row.ledger_end,
    recordTime: row.checkpoint_record_time,
    updates: row.updates,
    activeContracts: row.active,
  };
}
