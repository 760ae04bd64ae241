/**
 * One batch, one transaction: compare-and-set of the stream row, COPY into the append-only tables, set-based maintenance
 * of lifetimes and rollup, COMMIT. Several may be under way on connections of their own; they commit in order.
 */
import { once } from 'node:events';
import type { ClientBase } from 'pg';
import { escapeIdentifier } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Batch } from '../model/batch.ts';
import type { DictionaryEntries } from '../model/dictionary.ts';
import { tables, type TableName } from '../model/tables.ts';
import type { BinaryRows } from './copy-binary.ts';
import { storeEntries } from './dictionary-store.ts';

export interface BatchWrite {
  readonly batch: Batch<BinaryRows>;
  /** New dictionary entries that the rows refer to. */
  readonly added: DictionaryEntries;
  /** The write of the batch before, while it is under way. */
  readonly predecessor: Promise<unknown> | undefined;
  /** Moves the stream row by compare-and-set; throws when somebody else did. */
  readonly advance: (client: ClientBase) => Promise<void>;
}

/**
 * Writes a batch on a client that is in a transaction; whoever calls commits. What only adds rows is sent at once, what
 * builds on earlier batches (the stream row, ends of lifetimes, sums) after the predecessor has committed.
 * Resolves to rows written by table.
 */
export async function writeBatch(client: ClientBase, write: BatchWrite): Promise<ReadonlyMap<string, number>> {
  const { batch, predecessor, advance } = write;
  // Without a predecessor the fence comes first: a stale writer stops before it costs anything.
  if (predecessor === undefined) await advance(client);
  const written = await copyBatch(client, batch);
  if (predecessor !== undefined) {
    await predecessor;
    await advance(client);
  }
  await storeEntries(client, write.added);
  await deactivate(client, batch);
  await addActivity(client, batch);
  return written;
}

async function copyBatch(client: ClientBase, batch: Batch<BinaryRows>): Promise<ReadonlyMap<string, number>> {
  const written = new Map<string, number>();
  for (const row of batch.lifetimes.rows()) batch.sink.push('lifetimes', row);
  for (const { table, rows, stream } of batch.sink.filled()) {
    const copy = client.query(copyFrom(copyStatement(table)));
    const finished = once(copy, 'finish');
    copy.end(stream);
    await finished;
    written.set(table, rows);
  }
  return written;
}

function copyStatement(table: TableName): string {
  const columns = Object.keys(tables[table]).map((column) => escapeIdentifier(column));
  return `copy ${escapeIdentifier(table)} (${columns.join(', ')}) from stdin (format binary)`;
}

async function deactivate(client: ClientBase, batch: Batch): Promise<void> {
  const ended = batch.lifetimes.deactivations();
  if (ended.length === 0) return;
  await client.query({
    name: 'deactivate',
    text: `update lifetimes l set deactivated_offset = d.deactivated_offset
             from unnest($1::text[], $2::integer[], $3::bigint[]) d (contract_id, synchronizer_pk, deactivated_offset)
            where l.contract_id = d.contract_id and l.synchronizer_pk = d.synchronizer_pk
              and l.deactivated_offset is null and l.activated_offset <= d.deactivated_offset`,
    values: [ended.map((d) => d.contractId), ended.map((d) => d.synchronizerPk), ended.map((d) => d.offset)],
  });
}

async function addActivity(client: ClientBase, batch: Batch): Promise<void> {
  const rows = batch.activity.rows();
  if (rows.length === 0) return;
  await client.query({
    name: 'add-activity',
    text: `insert into activity_hourly as a
             select * from unnest($1::timestamptz[], $2::integer[], $3::integer[], $4::integer[],
                                  $5::bigint[], $6::bigint[], $7::bigint[])
           on conflict (hour, template_pk, choice_pk, synchronizer_pk) do update
             set creates = a.creates + excluded.creates, archives = a.archives + excluded.archives,
                 exercises = a.exercises + excluded.exercises`,
    values: [
      rows.map((row) => row.hour),
      rows.map((row) => row.templatePk),
      rows.map((row) => row.choicePk),
      rows.map((row) => row.synchronizerPk),
      rows.map((row) => row.creates),
      rows.map((row) => row.archives),
      rows.map((row) => row.exercises),
    ],
  });
}
