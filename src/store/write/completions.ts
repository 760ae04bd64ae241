/**
 * Stores completions, the results of submitted commands, concurrently with the batches of updates and in the same
 * session. Their checkpoint is the end of the newest row of `completion_ranges`. It moves by compare-and-set in the
 * transaction of the rows, under the epoch of the session, and never past the checkpoint of the stream.
 */
import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { postgresMicroseconds, type Microseconds } from '../../model/binary-timestamp.ts';
import type { Completion } from '../../model/update.ts';
import type { CompletionGap, CompletionStart } from '../../model/stream.ts';
import { columnText } from '../../model/escape.ts';
import { plainCharacterPattern } from '../connection/byte-writer.ts';
import {
  idArray,
  int4Array,
  int8Array,
  textArray,
  timestampArray,
  traceArray,
} from '../connection/array-parameters.ts';
import type { Database } from '../connection/database.ts';
import { constantOne, tablesOf } from '../connection/query-builder.ts';
import { runInTransaction, type EncodeBytes, type Statement } from '../connection/round-trip.ts';
import { dataRefused } from '../connection/store-error.ts';
import { assertEpoch, compareAndSet, fencedError } from './stream-row.ts';

/** Completions of one session. They end when the session of the batches ends. */
export class StoreCompletions {
  readonly #database: Database;
  readonly #epoch: number;
  readonly #assertHeld: (() => void) | undefined;

  /** @param assertLockHeld throws if this process may no longer write; called before every write */
  constructor(database: Database, epoch: number, assertLockHeld: (() => void) | undefined) {
    this.#database = database;
    this.#epoch = epoch;
    this.#assertHeld = assertLockHeld;
  }

  async open(start: CompletionStart): Promise<number> {
    this.#assertHeld?.();
    return this.#database.transaction((client) => openCompletions(client, this.#epoch, start));
  }

  async write(completions: readonly Completion[], from: number, to: number): Promise<void> {
    this.#assertHeld?.();
    await writeCompletions(this.#database, { epoch: this.#epoch, from, to, completions });
  }

  async skip(gap: CompletionGap): Promise<void> {
    this.#assertHeld?.();
    await this.#database.transaction((client) => skipCompletions(client, this.#epoch, gap));
  }
}

/**
 * Returns the position from which completions continue: the end of the newest range. The first range begins at `begin`;
 * a range for other parties begins where the newest ends. Runs in the caller's transaction.
 * @throws IndexerError WRITER_FENCED (fenced) if the epoch is no longer in force
 */
async function openCompletions(client: ClientBase, epoch: number, start: CompletionStart): Promise<number> {
  await assertEpoch(client, epoch);
  const newest = await newestRange(client);
  const parties = [...start.parties].sort();
  if (newest === undefined) {
    await beginRange(client, { from: start.begin, parties, reason: null });
    return start.begin;
  }
  if (newest.parties.join('\n') === parties.join('\n')) return newest.to;
  await beginRange(client, { from: newest.to, parties, reason: 'completions of other parties are read from here on' });
  return newest.to;
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly parties: readonly string[];
}

function newestRange(client: ClientBase): Promise<Range | undefined> {
  return tablesOf(client)
    .selectFrom('completion_ranges')
    .select(['from_offset as from', 'to_offset as to', 'parties'])
    .orderBy('from_offset', 'desc')
    .limit(constantOne)
    .executeTakeFirst();
}

/** Begins a range. If the newest range begins at the same offset and is still empty, the new range replaces it. */
async function beginRange(
  client: ClientBase,
  { from, parties, reason }: Pick<Range, 'from' | 'parties'> & { readonly reason: string | null },
): Promise<void> {
  await client.query(
    `insert into completion_ranges (from_offset, to_offset, parties, reason) values ($1, $1, $2, $3)
     on conflict (from_offset) do update set parties = excluded.parties, reason = excluded.reason, recorded_at = now()`,
    [from, parties, reason],
  );
}

/**
 * Records that completions from the checkpoint to `gap.to` are no longer returned, and begins a new range there. Runs
 * in the caller's transaction.
 * @throws IndexerError WRITER_FENCED (fenced)
 */
async function skipCompletions(client: ClientBase, epoch: number, gap: CompletionGap): Promise<void> {
  await assertEpoch(client, epoch);
  const newest = await newestRange(client);
  if (newest?.to !== gap.from) throw fencedError(checkpointMovedText(gap.from));
  await beginRange(client, { from: gap.to, parties: newest.parties, reason: gap.reason });
}

interface CompletionWrite {
  readonly epoch: number;
  readonly from: number;
  readonly to: number;
  /** Completions after `from` up to and including `to`, ordered by offset. */
  readonly completions: readonly Completion[];
}

/**
 * Stores completions and moves their checkpoint, in one transaction and one round trip.
 * @throws IndexerError WRITER_FENCED (fenced), STORE_DATA_REFUSED; then nothing is written
 */
async function writeCompletions(database: Database, write: CompletionWrite): Promise<void> {
  const { completions } = write;
  for (const completion of completions) refuseUnstorable(completion);
  const statements = [advance(write)];
  if (completions.length > 0) statements.push(insertSubmitters(completions), insertCompletions(completions));
  await database.withClient((client) => runInTransaction(client, statements));
}

/**
 * Moves the checkpoint. The fence comes first: a new writer locks the stream row FOR UPDATE, and this lock delays it
 * until the commit. Later statements of the previous writer find another epoch. Batches of updates change no key, so
 * they neither wait for this lock nor delay it.
 */
function advance({ epoch, from, to }: CompletionWrite): Statement {
  return compareAndSet({
    name: 'move-completions',
    text: `update completion_ranges r set to_offset = $3
             from (select from stream where epoch = $1 and checkpoint >= $3 for key share) fence
            where r.from_offset = (select max(from_offset) from completion_ranges) and r.to_offset = $2`,
    values: [epoch, from, to],
    found: checkpointMovedText(from),
  });
}

function checkpointMovedText(from: number): string {
  return `the checkpoint of completions was no longer ${String(from)}, the epoch was taken over, or the stream has not caught up`;
}

/** Adds party sets that are new. */
function insertSubmitters(completions: readonly Completion[]): Statement {
  const submittersByKey = new Map(completions.map(({ actAs }) => [submittersKey(actAs), actAs]));
  const pairs = [...submittersByKey].flatMap(([key, actAs]) => actAs.map((party) => ({ key, party })));
  return {
    name: 'add-submitters',
    text: `insert into submitters (submitters_key, party) select * from unnest($1::bytea[], $2::text[])
           on conflict do nothing`,
    values: [idArray(() => pairs.map(({ key }) => key)), textArray(() => pairs.map(({ party }) => columnText(party)))],
  };
}

/** Key of a party set, in hexadecimal. */
function submittersKey(actAs: readonly string[]): string {
  const parties = [...new Set(actAs)].sort();
  const digits = createHash('sha256').update(JSON.stringify(parties)).digest('hex').slice(0, 32);
  // Stored bytes that begin with ff mean a text, so no key may begin with ff.
  return digits.startsWith('ff') ? `00${digits.slice(2)}` : digits;
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly values: EncodeBytes;
}

/** Removes redacted contents here rather than when the stream is read, so that a redaction need not end the session. */
function insertCompletions(completions: readonly Completion[]): Statement {
  const columns = columnsOf(completions);
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  const keptColumns = columns.map(({ name }) =>
    name === 'status_message' ? 'case when r.redaction_id is null then n.status_message end' : `n."${name}"`,
  );
  return {
    name: 'add-completions',
    text: `insert into completions (${names}, redaction_id)
           select ${keptColumns.join(', ')}, r.redaction_id
             from unnest(${columns.map(({ type }, index) => `$${String(index + 1)}::${type}[]`).join(', ')}) n (${names})
             left join redacted_contracts r on r.contract_id = id_text(n.contract_id)`,
    values: columns.map(({ values }) => values),
  };
}

function columnsOf(completions: readonly Completion[]): readonly Column[] {
  const eachValue =
    <T>(pickValue: (completion: Completion) => T) =>
    (): Iterable<T> =>
      completions.map(pickValue);
  const escapedTexts = (pickText: (completion: Completion) => string | null) => (): Iterable<string | null> =>
    completions.map((completion) => {
      const value = pickText(completion);
      return value === null ? null : columnText(value);
    });
  const id = (pickText: (completion: Completion) => string | null) => idArray(eachValue(pickText));
  const time = (pickText: (completion: Completion) => string | null) =>
    timestampArray(() => completions.map((c) => timeOf(pickText(c))));
  const columns: readonly (readonly [string, string, EncodeBytes])[] = [
    ['offset', 'bigint', int8Array(eachValue(({ offset }) => offset))],
    ['record_time', 'timestamptz', time(({ recordTime }) => recordTime)],
    ['submitted_at', 'timestamptz', time(({ rejection }) => rejection?.submittedAt ?? null)],
    ['paid_traffic_cost', 'bigint', int8Array(eachValue(({ paidTrafficCost }) => paidTrafficCost))],
    ['deduplication_offset', 'bigint', int8Array(eachValue((c) => c.deduplicationOffset))],
    ['deduplication_microseconds', 'bigint', int8Array(eachValue((c) => c.deduplicationMicroseconds))],
    ['status_code', 'integer', int4Array(eachValue(({ rejection }) => rejection?.statusCode ?? 0))],
    ['error_category', 'integer', int4Array(eachValue(({ rejection }) => rejection?.category ?? null))],
    ['submitters_key', 'bytea', idArray(eachValue(({ actAs }) => submittersKey(actAs)))],
    ['update_id', 'bytea', id(({ updateId }) => updateId)],
    ['trace_parent', 'bytea', traceArray(escapedTexts(({ traceParent }) => traceParent))],
    ['contract_id', 'bytea', id(({ rejection }) => rejection?.contractId ?? null)],
    ['transaction_hash', 'bytea', id(({ transactionHash }) => transactionHash)],
    ['command_id', 'text', textArray(escapedTexts(({ commandId }) => commandId))],
    ['submission_id', 'text', textArray(escapedTexts(({ submissionId }) => submissionId))],
    ['user_id', 'text', textArray(escapedTexts(({ userId }) => userId))],
    ['synchronizer_id', 'text', textArray(escapedTexts(({ synchronizerId }) => synchronizerId))],
    ['trace_state', 'text', textArray(escapedTexts(({ traceState }) => traceState))],
    ['error_code', 'text', textArray(escapedTexts(({ rejection }) => rejection?.code ?? null))],
    ['choice_path', 'text', textArray(escapedTexts(({ rejection }) => rejection?.choicePath ?? null))],
    ['status_message', 'text', textArray(escapedTexts(({ rejection }) => rejection?.message ?? null))],
  ];
  return columns.map(([name, type, values]) => ({ name, type, values }));
}

/** @throws IndexerError STORE_DATA_REFUSED */
function refuseUnstorable({ updateId, transactionHash, rejection, ...completion }: Completion): void {
  const ids = [updateId, transactionHash, rejection?.contractId ?? null];
  if (ids.some((id) => id !== null && !plainCharacterPattern.test(id))) {
    throw dataRefused('completions', 'an id with a backslash or a character that is not printable ASCII');
  }
  if (completion.recordTime !== null && postgresMicroseconds(completion.recordTime) === undefined) {
    throw dataRefused('completions', 'a time that is not ISO-8601 in UTC');
  }
  const { paidTrafficCost, deduplicationOffset, deduplicationMicroseconds } = completion;
  for (const number of [paidTrafficCost, deduplicationOffset, deduplicationMicroseconds]) {
    if (typeof number === 'bigint' && BigInt.asIntN(64, number) !== number) {
      throw dataRefused('completions', 'a number beyond 64 bits');
    }
  }
  for (const number of [rejection?.statusCode, rejection?.category]) {
    if (typeof number === 'number' && Math.abs(number) >= 2 ** 31)
      throw dataRefused('completions', 'a number beyond 32 bits');
  }
}

/** The time in an error may be any text, so an invalid time is ignored. */
function timeOf(text: string | null): Microseconds | null {
  return text === null ? null : (postgresMicroseconds(text) ?? null);
}
