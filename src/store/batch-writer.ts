/**
 * One batch, one transaction, one round trip: compare-and-set of the stream row, COPY into the append-only tables,
 * set-based maintenance of lifetimes and rollup. Several batches may be under way on connections of their own; they
 * commit in order.
 */
import type { ClientBase } from 'pg';
import { escapeIdentifier } from 'pg';
import type { Batch } from '../model/batch.ts';
import type { DictionaryEntries } from '../model/dictionary.ts';
import { tables, type TableName } from '../model/tables.ts';
import { ByteWriter } from './byte-writer.ts';
import type { BinaryRows } from './copy-binary.ts';
import { rollBack, type Database } from './database.ts';
import { entryStatements } from './dictionary-store.ts';
import { fly, type Statement } from './flight.ts';

export interface BatchWrite {
  readonly batch: Batch<BinaryRows>;
  /** New dictionary entries that the rows refer to. */
  readonly added: DictionaryEntries;
  /** The write of the batch before, while it is under way. */
  readonly predecessor: Promise<unknown> | undefined;
  /** Moves the stream row by compare-and-set; fails when somebody else did. */
  readonly advance: Statement;
}

/** So few bytes are written sooner than a second round trip would take. */
const smallBytes = 64 * 1024;

/** Writes and commits a batch. Resolves to rows written by table. @throws IndexerError; then nothing is written */
export async function writeBatch(database: Database, write: BatchWrite): Promise<ReadonlyMap<string, number>> {
  const { batch, predecessor, advance } = write;
  batch.seal();
  const filled = [...batch.sink.filled()];
  const copies = filled.map(({ table, messages }) => copyStatement(table, messages));
  const rest = [...entryStatements(write.added), ...endStatement(batch), ...activityStatement(batch)];
  const small = filled.reduce((bytes, { messages }) => bytes + messages.length, 0) <= smallBytes;
  if (small) await predecessor;
  await database.withClient(async (client) => {
    // The fence comes first: a stale writer stops before it costs anything.
    if (small || predecessor === undefined) await fly(client, [advance, ...copies, ...rest]);
    else await inOrder(client, copies, predecessor, [advance, ...rest]);
  });
  return new Map(filled.map(({ table, rows }) => [table, rows]));
}

/**
 * What only adds rows is sent at once, what builds on earlier batches (the stream row, ends of lifetimes, sums) after
 * the predecessor has committed.
 */
async function inOrder(
  client: ClientBase,
  copies: readonly Statement[],
  predecessor: Promise<unknown>,
  rest: readonly Statement[],
): Promise<void> {
  try {
    await fly(client, [{ name: 'begin', text: 'begin' }, ...copies]);
    await predecessor;
    await fly(client, [...rest, { name: 'commit', text: 'commit' }]);
  } catch (thrown) {
    await rollBack(client);
    throw thrown;
  }
}

function copyStatement(table: TableName, messages: Buffer): Statement {
  const columns = Object.keys(tables[table]).map((column) => escapeIdentifier(column));
  return {
    name: `copy-${table}`,
    text: `copy ${escapeIdentifier(table)} (${columns.join(', ')}) from stdin (format binary)`,
    copy: messages,
  };
}

const parameters = new ByteWriter();

function endStatement(batch: Batch): Statement[] {
  const ended = batch.lifetimes.deactivations();
  if (ended.length === 0) return [];
  return [
    {
      name: 'deactivate',
      text: `update lifetimes l set deactivated_offset = d.deactivated_offset
               from unnest($1::text[], $2::integer[], $3::bigint[]) d (contract_id, synchronizer_pk, deactivated_offset)
              where l.contract_id = d.contract_id and l.synchronizer_pk = d.synchronizer_pk
                and l.deactivated_offset is null and l.activated_offset <= d.deactivated_offset`,
      values: [
        parameters.textArray(ended.map((d) => d.contractId)),
        list(ended.map((d) => d.synchronizerPk)),
        list(ended.map((d) => d.offset)),
      ],
    },
  ];
}

function activityStatement(batch: Batch): Statement[] {
  const rows = batch.activity.rows();
  if (rows.length === 0) return [];
  return [
    {
      name: 'add-activity',
      text: `insert into activity_hourly as a
               select * from unnest($1::text[]::timestamptz[], $2::integer[], $3::integer[], $4::integer[],
                                    $5::bigint[], $6::bigint[], $7::bigint[])
             on conflict (hour, template_pk, choice_pk, synchronizer_pk) do update
               set creates = a.creates + excluded.creates, archives = a.archives + excluded.archives,
                   exercises = a.exercises + excluded.exercises`,
      values: [
        parameters.textArray(rows.map((row) => row.hour)),
        list(rows.map((row) => row.templatePk)),
        list(rows.map((row) => row.choicePk)),
        list(rows.map((row) => row.synchronizerPk)),
        list(rows.map((row) => row.creates)),
        list(rows.map((row) => row.archives)),
        list(rows.map((row) => row.exercises)),
      ],
    },
  ];
}

/** An array of numbers in its text form. */
function list(numbers: readonly number[]): string {
  return `{${numbers.join(',')}}`;
}
