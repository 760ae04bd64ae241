/** Table `quarantine`: updates that could not be stored, as they came; and storing them after all. */
import type { ClientBase } from 'pg';
import { ExitCode, IndexerError } from '../errors.ts';
import { Batch } from '../model/batch.ts';
import type { Update } from '../model/update.ts';
import { rowStatements } from './batch-writer.ts';
import { BinaryRows } from './copy-binary.ts';
import type { Database } from './database.ts';
import { loadDictionary } from './dictionary-store.ts';
import { fly, type Statement } from './flight.ts';

/** An update to be set aside. */
export interface QuarantinedUpdate {
  readonly offset: number;
  /** Error code. */
  readonly code: string;
  /** What was found, without contents. */
  readonly found: string;
  /** As the ledger sent it. */
  readonly frame: Buffer;
}

/** One row, for people. */
export interface QuarantineRow {
  readonly offset: number;
  readonly code: string;
  readonly found: string;
  readonly bytes: number;
  readonly quarantinedAt: Date;
  readonly attempts: number;
}

/** Keeps an update; to be sent in the transaction that moves the checkpoint past it. */
export function quarantineStatement({ offset, code, found, frame }: QuarantinedUpdate, epoch: number): Statement {
  return {
    name: 'quarantine',
    text: `insert into quarantine ("offset", code, found, frame, epoch)
           values ($1::bigint, $2::text, $3::text, decode($4::text, 'hex'), $5::bigint)`,
    values: [offset, code, found, frame.toString('hex'), epoch],
  };
}

/** All rows, oldest offset first. */
export async function listQuarantine(database: Database): Promise<readonly QuarantineRow[]> {
  const { rows } = await database.withClient((client) =>
    client.query<QuarantineRow>(
      `select "offset", code, found, octet_length(frame) as bytes, quarantined_at as "quarantinedAt", attempts
         from quarantine order by "offset"`,
    ),
  );
  return rows;
}

/** The frame of a row. @throws IndexerError NOT_QUARANTINED */
export async function quarantinedFrame(database: Database, offset: number): Promise<Buffer> {
  const { rows } = await database.withClient((client) =>
    client.query<{ frame: Buffer }>('select frame from quarantine where "offset" = $1', [offset]),
  );
  if (rows[0] !== undefined) return rows[0].frame;
  throw new IndexerError(`no update is set aside at offset ${String(offset)}`, {
    code: 'NOT_QUARANTINED',
    retry: 'fatal',
    exitCode: ExitCode.usage,
    remedy: 'see `ledger-indexer quarantine list`',
  });
}

/** Notes a try that failed. */
export async function noteAttempt(database: Database, offset: number): Promise<void> {
  await database.withClient((client) =>
    client.query('update quarantine set attempts = attempts + 1, attempted_at = now() where "offset" = $1', [offset]),
  );
}

/**
 * Stores an update that was set aside, where its offset belongs, in one transaction: rows, lifetimes that it ends, ends
 * of its own contracts that were stored since, counts. Nobody else may be writing: hold the writer lock; the epoch is
 * raised, so that a paused writer cannot go on from what it remembers.
 * @throws IndexerError what Postgres refuses it with; nothing is changed then
 */
export async function storeQuarantined(database: Database, update: Update): Promise<void> {
  await database.transaction(async (client) => {
    const { rows } = await client.query<{ epoch: number }>('update stream set epoch = epoch + 1 returning epoch');
    const epoch = rows[0]?.epoch ?? 0;
    const dictionary = await loadDictionary(client);
    const batch = new Batch(new BinaryRows(), dictionary, epoch, update.offset - 1);
    batch.add(update);
    const added = dictionary.takeAdded();
    const { copies, rest } = rowStatements(batch, added);
    await fly(client, [...copies, ...rest]);
    await endLater(client, update.offset);
    await moveMark(client, batch);
    await client.query('delete from quarantine where "offset" = $1', [update.offset]);
  });
}

/** Contracts of this update that later updates ended: the ends found nothing to end when they were stored. */
async function endLater(client: ClientBase, offset: number): Promise<void> {
  await client.query(
    `with ends as (
       select e.contract_id, u.synchronizer_pk, e."offset"
         from exercises e join updates u on u."offset" = e."offset"
        where e.consuming and e.acs_delta is distinct from false
       union all
       select a.contract_id, u.synchronizer_pk, a."offset"
         from archives a join updates u on u."offset" = a."offset"
       union all
       select r.contract_id, r.source_pk, r."offset" from reassignments r where r.kind = 'unassign' and not r.incomplete),
     ended as (
       update lifetimes l set deactivated_offset = found."offset"
         from (select l.contract_id, l.synchronizer_pk, min(ends."offset") as "offset"
                 from lifetimes l join ends using (contract_id, synchronizer_pk)
                where l.activated_offset = $1 and l.deactivated_offset is null and ends."offset" > $1
                group by 1, 2) found
        where l.contract_id = found.contract_id and l.synchronizer_pk = found.synchronizer_pk
          and l.activated_offset = $1 and l.deactivated_offset is null
       returning l.template_pk)
     update active_counts a set deactivated = a.deactivated + n.ended
       from (select template_pk, count(*) as ended from ended group by 1) n
      where a.template_pk = n.template_pk`,
    [offset],
  );
}

/** The proof of the history is the newest stored update: this one, if nothing was stored after it. */
async function moveMark(client: ClientBase, { lastUpdate, recordTimes }: Batch): Promise<void> {
  const times = JSON.stringify(Object.fromEntries(recordTimes));
  await client.query(
    `update stream
        set checkpoint_update_offset = case when newer then $1 else checkpoint_update_offset end,
            checkpoint_update_id = case when newer then $2 else checkpoint_update_id end,
            record_times = case when newer then record_times || $3 else $3 || record_times end
       from (select $1::bigint > coalesce(checkpoint_update_offset, 0) as newer from stream) mark`,
    [lastUpdate?.offset ?? null, lastUpdate?.updateId ?? null, times],
  );
}
