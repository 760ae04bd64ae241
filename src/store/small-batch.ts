/**
 * A small batch as one statement: compare-and-set of the stream row, rows, ends of lifetimes and sums. One round trip
 * instead of ten; what it does is what `batch-writer.ts` does with COPY. Nothing is written unless the stream row moves.
 */
import type { ClientBase } from 'pg';
import { escapeIdentifier } from 'pg';
import type { Batch } from '../model/batch.ts';
import { tables, type TableName } from '../model/tables.ts';
import type { JsonRows } from './json-rows.ts';
import { assertMoved, checkpointMove, moveValues, type CheckpointMove } from './stream-row.ts';

/** The tables in the order of their parameters. */
const order = Object.keys(tables) as readonly TableName[];
const moveParameters = 7;

function recordset(parameter: number, columns: Readonly<Record<string, string>>): string {
  const definition = Object.entries(columns).map(([name, type]) => `${escapeIdentifier(name)} ${type}`);
  return `json_to_recordset($${parameter}::json) r (${definition.join(', ')})`;
}

function insertion(table: TableName, parameter: number): string {
  const names = Object.keys(tables[table]).map((name) => escapeIdentifier(name));
  const list = names.join(', ');
  return `in_${table} as (insert into ${escapeIdentifier(table)} (${list})
     select ${list} from ${recordset(parameter, tables[table])} where exists (select from moved))`;
}

const endedParameter = moveParameters + order.length + 1;
const ended = { contract_id: 'text', synchronizer_pk: 'int4', deactivated_offset: 'int8' };
const sums = {
  hour: 'timestamptz',
  template_pk: 'int4',
  choice_pk: 'int4',
  synchronizer_pk: 'int4',
  creates: 'int8',
  archives: 'int8',
  exercises: 'int8',
};

const statement = `with moved as (${checkpointMove} returning 1),
  ${order.map((table, index) => insertion(table, moveParameters + index + 1)).join(',\n  ')},
  ended as (update lifetimes l set deactivated_offset = r.deactivated_offset
     from ${recordset(endedParameter, ended)}
    where l.contract_id = r.contract_id and l.synchronizer_pk = r.synchronizer_pk
      and l.deactivated_offset is null and l.activated_offset <= r.deactivated_offset
      and exists (select from moved)),
  summed as (insert into activity_hourly as a
     select ${Object.keys(sums).join(', ')} from ${recordset(endedParameter + 1, sums)} where exists (select from moved)
     on conflict (hour, template_pk, choice_pk, synchronizer_pk) do update
        set creates = a.creates + excluded.creates, archives = a.archives + excluded.archives,
            exercises = a.exercises + excluded.exercises)
  select from moved`;

/**
 * Writes the batch; it commits by itself unless the client is in a transaction. Resolves to rows written by table.
 * @throws IndexerError CHECKPOINT_MOVED (fenced); nothing is written then
 */
export async function writeSmallBatch(
  client: ClientBase,
  batch: Batch<JsonRows>,
  move: CheckpointMove,
): Promise<ReadonlyMap<string, number>> {
  const { sink, lifetimes, activity } = batch;
  for (const row of lifetimes.rows()) sink.push('lifetimes', row);
  const ends = lifetimes.deactivations().map(({ contractId, synchronizerPk, offset }) => ({
    contract_id: contractId,
    synchronizer_pk: synchronizerPk,
    deactivated_offset: offset,
  }));
  const counted = activity.rows().map(({ hour, templatePk, choicePk, synchronizerPk, ...counts }) => ({
    hour,
    template_pk: templatePk,
    choice_pk: choicePk,
    synchronizer_pk: synchronizerPk,
    ...counts,
  }));
  const { rowCount } = await client.query({
    name: 'small-batch',
    text: statement,
    values: [
      ...moveValues(move),
      ...order.map((table) => sink.array(table)),
      JSON.stringify(ends),
      JSON.stringify(counted),
    ],
  });
  assertMoved(move, rowCount);
  return sink.counts();
}
