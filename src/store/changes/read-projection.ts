/**
 * Reads the rows of a projection that follow a position in history, in order, one bounded page at a time. A row has the
 * number that it has among the rows of its offset. Each page has either stored rows or rows that are computed from the
 * history, so that its cost depends only on its offsets, however far the projection is behind.
 */
import { DatabaseError, escapeIdentifier, type ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import {
  isOfOtherSelect,
  maxNodeId,
  type Change,
  type ChangeCursor,
  type ChangesPage,
  type ChangesRequest,
} from '../../model/push/changes.ts';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { inSnapshot } from '../reads/snapshot-read.ts';
import { maxRows, maxUpdatesPerRead, readRangeEnd, readStream } from './stream-range.ts';
import { findProjection, type StreamedProjection } from './streamed-projection.ts';

/** Numbers of updates whose rows are computed for one page. A smaller one is tried if a SELECT takes too long. */
const computedUpdates = [200, 20, 1] as const;
/** Time limit of each attempt but the last one, milliseconds. */
const attemptMs = 3_000;
/** Name that no column of a projection has. */
const numberColumn = '"row number$"';

export interface PageLimits {
  /** Maximum number of rows, 1 to 1000. */
  readonly rows: number;
  /** Maximum number of characters of all rows together; a page always has at least one row. */
  readonly characters: number;
}

/**
 * Reads one page from one snapshot of the database, with the rights of the role.
 * @throws IndexerError PROJECTION_NOT_FOUND; PROJECTION_REFUSED if the reader may not follow it; PROJECTION_SELECT_FAILED
 * if its SELECT fails; PROJECTION_LIMIT if the SELECT takes too long even for one update; STORE_ errors
 */
export async function readProjection(
  database: Database,
  request: ChangesRequest & { readonly projection: string },
  limits: PageLimits,
): Promise<ChangesPage> {
  for (const updates of computedUpdates) {
    const isLast = updates === computedUpdates.at(-1);
    try {
      return await readPage(database, request, limits, { updates, isLast });
    } catch (thrown) {
      if (isLast || !(thrown instanceof IndexerError) || thrown.code !== 'PROJECTION_LIMIT') throw thrown;
    }
  }
  throw limitError(request.projection);
}

interface Attempt {
  readonly updates: number;
  readonly isLast: boolean;
}

function readPage(
  database: Database,
  { after, role, rights, projection: name }: ChangesRequest & { readonly projection: string },
  limits: PageLimits,
  { updates, isLast }: Attempt,
): Promise<ChangesPage> {
  const schemas = readSchemas(database.schema);
  return inSnapshot(
    database,
    async (client) => {
      const { checkpoint, availableAfter } = await readStream(client, schemas);
      const from = after.node === null ? after.offset : after.offset - 1;
      // Run before the role is set: under row security the server would search all hidden rows for the offset.
      const upTo = await readRangeEnd(client, schemas, from, checkpoint ?? 0, maxUpdatesPerRead);
      const computedTo = await readRangeEnd(client, schemas, from, checkpoint ?? 0, Math.min(updates, limits.rows));
      const projection = await findProjection(client, database.schema, name, role);
      const next = { ...after, version: projection.version };
      const page = { changes: [], next, atEnd: true, checkpoint, availableAfter };
      if (checkpoint === null || after.offset > checkpoint || isOfOtherSelect(after, { next })) return page;
      // An idle stream does not call the SELECT.
      if (from >= upTo) return page;
      const range = await chooseRange(client, schemas.explore, projection, {
        from,
        upTo,
        computedTo,
        rows: limits.rows,
      });
      if (!isLast) await client.query(`set local statement_timeout = ${String(attemptMs)}`);
      const read = await withSelectErrors(
        name,
        readRows(client, schemas.explore, projection, { after, range, limits }),
      );
      return { ...page, ...pageEnd(read, { range, limits, checkpoint, version: projection.version }) };
    },
    rights,
  );
}

interface ReadRows {
  readonly changes: readonly Change[];
  /** Number of rows within the limit of rows, including those beyond the limit of characters. */
  readonly found: number;
}

function pageEnd(
  { changes, found }: ReadRows,
  end: {
    readonly range: PageRange;
    readonly limits: PageLimits;
    readonly checkpoint: number;
    version: string | undefined;
  },
): Pick<ChangesPage, 'changes' | 'next' | 'atEnd'> {
  const { range, limits, checkpoint, version } = end;
  const last = changes.at(-1);
  const isFull = last !== undefined && (found === boundedRows(limits) || changes.length < found);
  const next: ChangeCursor = isFull ? { offset: last.offset, node: last.node } : { offset: range.upTo, node: null };
  return { changes, next: { ...next, version }, atEnd: !isFull && range.upTo === checkpoint };
}

function boundedRows({ rows }: PageLimits): number {
  return Math.max(1, Math.min(maxRows, rows));
}

interface PageRange {
  /** SQL: the rows after `from`, up to and including `upTo`. */
  readonly source: string;
  readonly from: number;
  readonly upTo: number;
}

interface SearchedRange {
  readonly from: number;
  readonly upTo: number;
  /** End of the range if its rows are computed. */
  readonly computedTo: number;
  readonly rows: number;
}

/** The next offsets that are all stored, or all computed. The reader's rights decide whether it sees stored rows. */
async function chooseRange(
  client: ClientBase,
  explore: string,
  projection: StreamedProjection,
  { from, upTo, computedTo, rows: limit }: SearchedRange,
): Promise<PageRange> {
  const { storedName, table, computed } = projection;
  const { rows } = await client.query<{ storedTo: number | null; gapTo: number | null }>(
    `select (select upper(s.stored) - 1 from unnest(p.ranges) s (stored) where s.stored @> $2::bigint) as "storedTo",
            (select min(lower(s.stored)) - 1 from unnest(p.ranges) s (stored) where lower(s.stored) > $2::bigint) as "gapTo"
       from (select ${escapeIdentifier(explore)}.projected_ranges($1) as ranges) p`,
    [storedName ?? '', from + 1],
  );
  const { storedTo, gapTo } = rows[0] ?? { storedTo: null, gapTo: null };
  if (storedTo === null) {
    const end = Math.min(computedTo, gapTo ?? computedTo);
    return { source: computed(from, end), from, upTo: end };
  }
  const end = await storedEnd(client, table, { from, upTo: Math.min(upTo, storedTo) }, limit);
  return {
    source: `select * from ${table} where "offset" > ${String(from)} and "offset" <= ${String(end)}`,
    from,
    upTo: end,
  };
}

/** The end of a stored range without many more rows than the page can have. Rows of one offset stay together. */
async function storedEnd(
  client: ClientBase,
  table: string,
  { from, upTo }: { readonly from: number; readonly upTo: number },
  limit: number,
): Promise<number> {
  const { rows } = await client.query<{ offset: number }>(
    `select "offset" from ${table} where "offset" > $1 and "offset" <= $2 order by "offset" offset $3 limit 1`,
    [from, upTo, limit],
  );
  return rows[0]?.offset ?? upTo;
}

interface WantedRows {
  readonly after: ChangeCursor;
  readonly range: PageRange;
  readonly limits: PageLimits;
}

/**
 * The number of a row follows from its contents, so that it is the same whether the row is stored or computed. A row
 * outside of the range, which a SELECT of a user may return by mistake, would be sent more than once.
 */
async function readRows(
  client: ClientBase,
  explore: string,
  { columns, condition }: StreamedProjection,
  { after, range, limits }: WantedRows,
): Promise<ReadRows> {
  const list = (alias: string): string => columns.map((name) => `${alias}.${escapeIdentifier(name)}`).join(', ');
  const order = `${columns.includes('node_id') ? 'r.node_id, ' : ''}r::text collate "C"`;
  // The page is limited before the JSON is built, so that only its rows are formatted.
  const { rows } = await client.query<StoredRow>(
    `with numbered as (
     select r.*, (row_number() over (partition by r."offset" order by ${order}) - 1)::int as ${numberColumn}
       from (select ${list('t')} from (${range.source}) t
              where ${condition} and t."offset" > ${String(range.from)} and t."offset" <= ${String(range.upTo)}) r),
     wanted as (
     select * from numbered n where (n."offset", n.${numberColumn}) > ($1, $2)
      order by n."offset", n.${numberColumn} limit $3),
     printed as (
     select w."offset", w.${numberColumn} as node,
            (select row_to_json(c)::text from (select ${list('w')}) c) as json
       from wanted w),
     counted as (
     select p.*, (count(*) over ())::int as found,
            sum(length(json)) over (order by "offset", node) - length(json) as before
       from printed p)
     select c."offset", c.node, c.json, c.found, u.update_id as "updateId", to_json(u.record_time) #>> '{}' as "recordTime"
       from counted c left join lateral (
              select e.update_id, e.record_time from ${escapeIdentifier(explore)}.updates e
               where e."offset" = c."offset" limit 1) u on true
      where c.before = 0 or c.before + length(c.json) <= $4
      order by c."offset", c.node`,
    [after.offset, after.node ?? maxNodeId, boundedRows(limits), limits.characters],
  );
  const changes = rows.map(({ offset, node, json, updateId, recordTime }) => ({
    offset,
    node,
    json,
    update: { id: updateId, recordTime },
  }));
  return { changes, found: rows[0]?.found ?? 0 };
}

interface StoredRow {
  readonly offset: number;
  readonly node: number;
  readonly json: string;
  readonly found: number;
  readonly updateId: string | null;
  readonly recordTime: string | null;
}

/** Errors of a SELECT that a retry does not fix are reported as such, so that a stream does not wait for them. */
async function withSelectErrors<T>(name: string, pending: Promise<T>): Promise<T> {
  try {
    return await pending;
  } catch (thrown) {
    if (!(thrown instanceof DatabaseError)) throw thrown;
    const { code = '' } = thrown;
    if (code === '57014') throw limitError(name);
    if (!/^(?:21|22|54|P0)/.test(code)) throw thrown;
    throw new IndexerError(`the SELECT of ${name} failed (SQLSTATE ${code})`, { code: 'PROJECTION_SELECT_FAILED' });
  }
}

function limitError(name: string): IndexerError {
  return new IndexerError(`the SELECT of ${name} takes too long for one update`, { code: 'PROJECTION_LIMIT' });
}
