/**
 * Reads the rows of a user's SELECT as a role that can only read. The rows are returned as texts, so nothing of the
 * SELECT runs with the rights of the writer.
 */
import { DatabaseError, escapeIdentifier, type ClientBase } from 'pg';
import { IndexerError, withContext } from '../../errors/indexer-error.ts';
import { selectOfRange, type ProjectedRange, type Projection } from './projections.ts';

export interface ReadLimits {
  /** Maximum time for all rows of a range, milliseconds. */
  readonly ms: number;
  readonly rows: number;
  /** Maximum number of characters of all rows. */
  readonly characters: number;
  /** Maximum number of characters of one row. */
  readonly rowCharacters: number;
}

/** Limits of one range while a projection is filled. Ranges are made smaller until their rows are within the limits. */
export const fillLimits: ReadLimits = {
  ms: 5_000,
  rows: 50_000,
  characters: 32_000_000,
  rowCharacters: 500_000,
};

const rowsPerFetch = 100;

/**
 * Makes the rest of the transaction read-only and run as the role. The transaction must have read something before,
 * because then Postgres refuses to make it writable again.
 */
export async function becomeReader(client: ClientBase, readRole: string, ms: number): Promise<void> {
  await client.query(
    `set local transaction_read_only = on; set local statement_timeout = ${String(ms)};
     set local plan_cache_mode = auto; set local role ${escapeIdentifier(readRole)}`,
  );
}

/**
 * The rows of a range in text form, as Postgres prints a row. Call {@link becomeReader} first, and roll the transaction
 * back afterwards.
 * @throws IndexerError PROJECTION_LIMIT, PROJECTION_ROWS_OUTSIDE; errors of the SELECT
 */
export async function readRows(
  client: ClientBase,
  projection: Projection,
  range: ProjectedRange,
  limits: ReadLimits = fillLimits,
): Promise<readonly string[]> {
  const begin = performance.now();
  const { after, upTo } = range;
  await client.query(
    `declare answer no scroll cursor for
     select case when length(r.line) <= ${String(limits.rowCharacters)} then r.line end as line, r.is_inside as "isInside"
       from (select t::text as line,
                    coalesce(t."offset" > ${String(after ?? -1)} and t."offset" <= ${String(upTo)}, false) as is_inside
               from (${selectOfRange(projection, range)}) t offset 0) r`,
  );
  const lines: string[] = [];
  let characters = 0;
  for (;;) {
    const { rows } = await client.query<ReadRow>(`fetch ${String(rowsPerFetch)} from answer`);
    for (const { line, isInside } of rows) {
      if (line === null) throw limitError(`a row is longer than ${String(limits.rowCharacters)} characters`);
      if (!isInside) throw outsideError(projection.name);
      lines.push(line);
      characters += line.length;
    }
    if (rows.length < rowsPerFetch) break;
    if (lines.length > limits.rows) throw limitError(`a range has more than ${String(limits.rows)} rows`);
    if (characters > limits.characters) {
      throw limitError(`the rows of a range have more than ${String(limits.characters)} characters`);
    }
    if (performance.now() - begin > limits.ms) throw limitError(`a range takes more than ${String(limits.ms)} ms`);
  }
  await client.query('close answer');
  return lines;
}

interface ReadRow {
  readonly line: string | null;
  readonly isInside: boolean;
}

/**
 * Reports an error of a user's SELECT as such, with the range that it concerns. A SELECT may cause any error, and the
 * reaction to most of them, such as a change to another server, must not depend on it.
 */
export async function withSelectErrors<T>(
  name: string,
  { after, upTo }: ProjectedRange,
  pending: Promise<T>,
): Promise<T> {
  try {
    return await pending;
  } catch (thrown) {
    const error = selectError(name, thrown);
    if (error === undefined) throw thrown;
    const offsets = `offsets ${String((after ?? -1) + 1)} to ${String(upTo)}`;
    throw withContext(error, { message: `${error.message}, at ${offsets}` });
  }
}

/**
 * Reports rows that the table of a user's projection refuses, such as two with the same key, as an error of its SELECT. A
 * repetition does not help, and must not delay the other projections.
 */
export async function withRowErrors<T>(name: string, range: ProjectedRange, pending: Promise<T>): Promise<T> {
  try {
    return await pending;
  } catch (thrown) {
    if (!(thrown instanceof DatabaseError) || !/^(?:22|23|54)/.test(thrown.code ?? '')) throw thrown;
    return withSelectErrors(name, range, Promise.reject(thrown));
  }
}

function selectError(name: string, thrown: unknown): IndexerError | undefined {
  if (thrown instanceof IndexerError) return thrown;
  if (!(thrown instanceof DatabaseError) || thrown.severity === 'FATAL') return undefined;
  const { code = '' } = thrown;
  if (/^(?:57014|53)/.test(code)) return limitError(`a range takes too much time or memory (SQLSTATE ${code})`);
  if (code === '23505') {
    return new IndexerError(`the SELECT of ${name} returned two rows with the same key`, {
      code: 'PROJECTION_SELECT_FAILED',
    });
  }
  return new IndexerError(`the SELECT of ${name} failed (SQLSTATE ${code})`, { code: 'PROJECTION_SELECT_FAILED' });
}

function limitError(message: string): IndexerError {
  return new IndexerError(message, { code: 'PROJECTION_LIMIT' });
}

function outsideError(name: string): IndexerError {
  return new IndexerError(`the SELECT of ${name} returned a row whose offset is not after :from and up to :to`, {
    code: 'PROJECTION_ROWS_OUTSIDE',
  });
}
