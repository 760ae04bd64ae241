/**
 * Writes one batch as one transaction in one round trip: compare-and-set of the stream row, COPY into the append-only
 * tables, then set-based changes of lifetimes and totals. Several batches may run concurrently, each on a separate
 * connection. They commit in order.
 */
import { type ClientBase, escapeIdentifier } from 'pg';
import { delayUnit, startOf, type ActivityRow } from '../../model/activity.ts';
import type { Batch } from '../../model/batch.ts';
import type { DictionaryEntries } from '../../model/dictionary.ts';
import { endCodes, type Deactivation, type Lifetimes } from '../../model/lifetimes.ts';
import { tables, type TableName } from '../../model/tables.ts';
import type { BinaryTables } from './copy-binary.ts';
import { rollBack, type Database } from '../connection/database.ts';
import { departureStatements } from './departures.ts';
import { duplicateContractError } from './duplicate.ts';
import { entryStatements } from './dictionary-store.ts';
import { int4Array, int8Array, textArray, timestampArray } from '../connection/array-parameters.ts';
import {
  beginStatement,
  commit,
  runInOneRoundTrip,
  runInTransaction,
  type EncodeBytes,
  type Statement,
} from '../connection/round-trip.ts';

export interface BatchWrite {
  readonly batch: Batch<BinaryTables>;
  /** New dictionary entries that the rows refer to. */
  readonly added: DictionaryEntries;
  /** The write of the previous batch, while it is running. */
  readonly predecessor: Promise<unknown> | undefined;
  /** Moves the stream row by compare-and-set. It fails if another writer has moved the row. */
  readonly advance: Statement;
}

/** Writing this many bytes or fewer is faster than a second round trip. */
const smallBytes = 64 * 1024;

/**
 * Writes and commits a batch. Resolves to the number of rows written, by table.
 * @throws IndexerError; then nothing is written
 */
export async function writeBatch(database: Database, write: BatchWrite): Promise<ReadonlyMap<string, number>> {
  const { batch, predecessor, advance } = write;
  const { filled: filledTables, copies: copyStatements, rest } = rowStatements(batch, write.added);
  const isSmallBatch = filledTables.reduce((bytes, { messages }) => bytes + messages.length, 0) <= smallBytes;
  if (isSmallBatch) await predecessor;
  await database.withClient(async (client) => {
    // The fence comes first, so that a stale writer stops before it does any work.
    if (isSmallBatch || predecessor === undefined)
      await runInTransaction(client, [advance, ...copyStatements, ...rest]);
    else
      await runInOrder(client, copyStatements, rest, {
        advance,
        predecessor,
        idleLimitMs: database.idleInTransactionMs,
      });
  });
  return new Map(filledTables.map(({ table, rows }) => [table, rows]));
}

/**
 * The statements that store the rows of a batch: COPY statements, and statements that depend on stored rows. Seals the
 * batch.
 */
export function rowStatements(batch: Batch<BinaryTables>, addedEntries: DictionaryEntries) {
  batch.seal();
  if (batch.lifetimes.repeated) throw duplicateContractError();
  const filledTables = [...batch.sink.filled()];
  const copyStatements = filledTables.map(({ table, messages }) => copyStatement(table, messages));
  const rest = [
    ...batchStatement(batch, filledTables),
    ...entryStatements(addedEntries),
    ...lifetimeStatement(batch),
    ...activityStatements(batch),
    ...departureStatements(batch),
  ];
  return { filled: filledTables, copies: copyStatements, rest };
}

/**
 * Statements that only add rows are sent immediately. Statements that depend on earlier batches (the stream row, ends
 * of lifetimes, totals) are sent after the predecessor has committed.
 */
async function runInOrder(
  client: ClientBase,
  copyStatements: readonly Statement[],
  rest: readonly Statement[],
  order: { readonly advance: Statement; readonly predecessor: Promise<unknown>; readonly idleLimitMs: number },
): Promise<void> {
  const { advance, predecessor, idleLimitMs } = order;
  try {
    await runInOneRoundTrip(client, [beginStatement, ...copyStatements]);
    await awaitInTransaction(client, predecessor, idleLimitMs);
    await runInOneRoundTrip(client, [advance, ...rest, commit]);
  } catch (thrown) {
    await rollBack(client);
    throw thrown;
  }
}

/** Waits and keeps the transaction active, because the server would end a transaction that is idle for too long. */
async function awaitInTransaction(client: ClientBase, pending: Promise<unknown>, idleLimitMs: number): Promise<void> {
  // A failure is ignored here; the next statement of the transaction reports it.
  const keepAliveTimer = setInterval(() => void client.query('select 1').catch(() => undefined), idleLimitMs / 4);
  try {
    await pending;
  } finally {
    clearInterval(keepAliveTimer);
  }
}

/** @param targetTable the table that receives the rows; it must have the columns of `table` */
export function copyStatement(table: TableName, messages: Buffer, targetTable: string = table): Statement {
  const columns = Object.keys(tables[table]).map((column) => escapeIdentifier(column));
  return {
    name: `copy-${targetTable}`,
    text: `copy ${escapeIdentifier(targetTable)} (${columns.join(', ')}) from stdin (format binary)`,
    copy: messages,
  };
}

/** Records which writer stored the updates of the batch, and when. */
function batchStatement(
  { batchOffset, epoch }: Batch,
  filledTables: readonly { readonly table: TableName }[],
): Statement[] {
  if (!filledTables.some(({ table }) => table === 'updates')) return [];
  const text = 'insert into batches (batch_offset, epoch) values ($1, $2)';
  return [{ name: 'add-batch', text, values: [batchOffset, epoch] }];
}

/**
 * Ends contracts of earlier batches by moving rows from live to ended, and updates the counts. An end counts for the
 * template of the moved row. The event itself may name a newer package, or a contract that was never active here.
 */
function lifetimeStatement(batch: Batch): Statement[] {
  const { lifetimes } = batch;
  const counts = lifetimes.counts();
  if (lifetimes.deactivations().next().done === true && counts.length === 0) return [];
  return [
    {
      name: 'deactivate',
      text: `with gone as (
               delete from live l
                using ${endsTable}
                where id_text(l.contract_id) = d.contract_id and l.synchronizer_pk = d.synchronizer_pk
                  and l."offset" <= d.ended_offset
               returning l.*, d.ended_offset, d.ended_node_id, d.ended_by, d.ended_at),
             moved as (${insertEndedSql('gone')})
             insert into active_counts as a (template_pk, activated, deactivated)
               select template_pk, sum(activated), sum(deactivated)
                 from (select * from unnest($7::integer[], $8::bigint[], $9::bigint[])
                         counted (template_pk, activated, deactivated)
                       union all select template_pk, 0, 1 from gone) c
                group by template_pk
             on conflict (template_pk) do update
               set activated = a.activated + excluded.activated, deactivated = a.deactivated + excluded.deactivated`,
      values: [
        ...endValues(lifetimes),
        list(counts.map((count) => count.templatePk)),
        list(counts.map((count) => count.activated)),
        list(counts.map((count) => count.deactivated)),
      ],
    },
  ];
}

/** SQL: the ends in parameters $1 to $6, as table `d`. */
export const endsTable = `unnest($1::text[], $2::integer[], $3::bigint[], $4::integer[], $5::text[]::"char"[],
                                 $6::timestamptz[])
                            d (contract_id, synchronizer_pk, ended_offset, ended_node_id, ended_by, ended_at)`;

/**
 * SQL: adds rows to table `ended`, and computes the class of their duration.
 * @param rows a table, optionally with a condition
 */
export function insertEndedSql(rows: string): string {
  return `insert into ended ("offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, class, ended_by,
                             contract_id, ended_at, ended_node_id, unhosted_since)
          select "offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk,
                 lifetime_class("offset", ended_offset), ended_by, contract_id, ended_at, ended_node_id, unhosted_since
            from ${rows}`;
}

/** The parameters of {@link endsTable}, each an array. The lifetimes must not change until they are sent. */
export function endValues(lifetimes: Lifetimes): readonly EncodeBytes[] {
  const eachValue =
    <T>(pickValue: (deactivation: Deactivation) => T) =>
    (): Iterable<T> =>
      mapLazily(lifetimes.deactivations(), pickValue);
  return [
    textArray(eachValue(({ contractId }) => contractId)),
    int4Array(eachValue(({ synchronizerPk }) => synchronizerPk)),
    int8Array(eachValue(({ end }) => end.offset)),
    int4Array(eachValue(({ end }) => end.nodeId)),
    textArray(eachValue(({ end }) => endCodes[end.by])),
    timestampArray(eachValue(({ end }) => end.at)),
  ];
}

function* mapLazily<T, U>(values: Iterable<T>, change: (value: T) => U): Generator<U> {
  for (const value of values) yield change(value);
}

/**
 * The statements that add the activity of a batch. There are two statements. With hundreds of templates, most of the
 * rows that the writer updates belong to templates, so these rows contain only the counts of their template.
 */
export function activityStatements(batch: Batch): Statement[] {
  const rows = batch.activity.rows();
  const templateRows = rows.filter(({ templatePk }) => templatePk !== 0);
  const hourlyRows = rows.filter(({ templatePk }) => templatePk === 0);
  return [
    ...(templateRows.length === 0 ? [] : [templateActivity(templateRows)]),
    ...(hourlyRows.length === 0 ? [] : [hourActivity(hourlyRows)]),
  ];
}

function templateActivity(rows: readonly ActivityRow[]): Statement {
  const valuesOfRows = (pickValue: (row: ActivityRow) => number) => (): Iterable<number> => mapLazily(rows, pickValue);
  return {
    name: 'add-activity',
    text: `insert into activity_hourly as a (hour, template_pk, choice_pk, synchronizer_pk, creates, archives, exercises)
             select * from unnest($1::timestamptz[], $2::integer[], $3::integer[], $4::integer[], $5::bigint[], $6::bigint[],
                                  $7::bigint[])
           on conflict (hour, template_pk, choice_pk, synchronizer_pk) do update
             set creates = a.creates + excluded.creates, archives = a.archives + excluded.archives,
                 exercises = a.exercises + excluded.exercises`,
    values: [
      timestampArray(() => mapLazily(rows, ({ hour }) => startOf(hour))),
      int4Array(valuesOfRows(({ templatePk }) => templatePk)),
      int4Array(valuesOfRows(({ choicePk }) => choicePk)),
      int4Array(valuesOfRows(({ synchronizerPk }) => synchronizerPk)),
      int8Array(valuesOfRows(({ creates }) => creates)),
      int8Array(valuesOfRows(({ archives }) => archives)),
      int8Array(valuesOfRows(({ exercises }) => exercises)),
    ],
  };
}

const hourlyColumns = ['synchronizerPk', 'transactions', 'totalCreates', 'totalArchives', 'totalExercises'] as const;

function hourActivity(rows: readonly ActivityRow[]): Statement {
  return {
    name: 'add-activity-of-hours',
    // Traffic costs are capped at the largest bigint, because one absurd cost must not stop the stream.
    text: `insert into activity_hourly as a (hour, template_pk, choice_pk, synchronizer_pk, creates, archives, exercises,
                  transactions, total_creates, total_archives, total_exercises, paid_traffic_cost, delay_seconds)
             select hour, 0, 0, synchronizer_pk, 0, 0, 0, transactions, total_creates, total_archives, total_exercises,
                    least(cost, 9223372036854775807), delay_seconds
               from unnest($1::timestamptz[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                           $7::numeric[], $8::double precision[])
                      n (hour, synchronizer_pk, transactions, total_creates, total_archives, total_exercises, cost,
                         delay_seconds)
           on conflict (hour, template_pk, choice_pk, synchronizer_pk) do update
             set transactions = a.transactions + excluded.transactions,
                 total_creates = a.total_creates + excluded.total_creates,
                 total_archives = a.total_archives + excluded.total_archives,
                 total_exercises = a.total_exercises + excluded.total_exercises,
                 paid_traffic_cost = least(a.paid_traffic_cost::numeric + excluded.paid_traffic_cost,
                                           9223372036854775807),
                 delay_seconds = a.delay_seconds + excluded.delay_seconds`,
    values: [
      timestampArray(() => mapLazily(rows, ({ hour }) => startOf(hour))),
      ...hourlyColumns.map((column) => list(rows.map((row) => row[column]))),
      list(rows.map((row) => row.paidTrafficCost)),
      list(rows.map((row) => row.delay * delayUnit)),
    ],
  };
}

/** An array of simple values in its text form. */
function list(values: readonly (number | bigint | string | null)[]): string {
  return `{${values.map((value) => value ?? 'null').join(',')}}`;
}
