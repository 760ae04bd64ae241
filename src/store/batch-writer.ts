/**
 * One batch, one transaction: the stream row moves first by compare-and-set (a stale writer stops before it costs
 * anything), then COPY into the append-only tables, set-based maintenance of lifetimes and rollup, COMMIT.
 * Takes the client as a parameter, so that lanes can run several transactions with commits in order.
 */
import { once } from 'node:events';
import type { ClientBase } from 'pg';
import { escapeIdentifier } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Batch } from '../model/batch.ts';
import type { DictionaryEntries } from '../model/dictionary.ts';
import { tableNames, tables, type Row, type TableName } from '../model/tables.ts';
import type { BinaryCopy } from './copy-binary.ts';
import { storeEntries } from './dictionary-store.ts';

/**
 * Everything of a batch but the stream row. The client must be in a transaction, and nobody else may use the encoder
 * meanwhile. Resolves to rows written by table.
 */
export async function writeRows(
  client: ClientBase,
  encoder: BinaryCopy,
  batch: Batch,
  added: DictionaryEntries,
): Promise<ReadonlyMap<string, number>> {
  const written = new Map<string, number>();
  await storeEntries(client, added);
  for (const table of tableNames) {
    const rows = table === 'lifetimes' ? batch.lifetimes.rows() : (batch.rows.get(table) ?? []);
    if (rows.length === 0) continue;
    await copyRows(client, encoder, table, rows);
    written.set(table, rows.length);
  }
  await deactivate(client, batch);
  await addActivity(client, batch);
  return written;
}

function copyStatement(table: TableName): string {
  const columns = Object.keys(tables[table]).map((column) => escapeIdentifier(column));
  return `copy ${escapeIdentifier(table)} (${columns.join(', ')}) from stdin (format binary)`;
}

async function copyRows(
  client: ClientBase,
  encoder: BinaryCopy,
  table: TableName,
  rows: readonly Row[],
): Promise<void> {
  // Before the COPY begins: a refused value must not leave one open on the connection.
  const bytes = encoder.encode(table, rows);
  const stream = client.query(copyFrom(copyStatement(table)));
  const finished = once(stream, 'finish');
  stream.end(bytes);
  await finished;
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
