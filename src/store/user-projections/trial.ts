/**
 * Tries a user's SELECT on ranges of the stored history: whether it returns the same rows for a range at once and in
 * parts, whether each row is in its range, and how long it takes.
 */
import type { ClientBase } from 'pg';
import { toStoreError } from '../connection/store-error.ts';
import { withQueryErrors } from '../reads/answer.ts';
import { selectOfRange, type ProjectedRange, type Projection } from '../projections/projections.ts';
import { becomeReader, readRows, type ReadLimits } from '../projections/read-rows.ts';
import { refusalError } from './select-objects.ts';

export interface TrialResult {
  /** Updates in the ranges. */
  readonly updates: number;
  readonly rows: number;
  /** Average time of an update when the range is read at once, milliseconds; undefined if nothing is stored. */
  readonly msPerUpdate: number | undefined;
}

/** Updates in each of the ranges: at the beginning, in the middle and at the end of history. */
const updatesPerRange = 500;
const parts = 7;
const trialLimits: ReadLimits = { ms: 10_000, rows: 200_000, characters: 64_000_000, rowCharacters: 500_000 };

/**
 * Runs in a transaction and leaves no trace in it.
 * @param seed seed of the random parts
 * @throws IndexerError PROJECTION_REFUSED, PROJECTION_LIMIT, PROJECTION_ROWS_OUTSIDE; errors of the SELECT
 */
export async function trySelect(
  client: ClientBase,
  projection: Projection,
  readRole: string,
  seed: number,
): Promise<TrialResult> {
  const chance = randomNumbers(seed);
  const ranges = await rangesOf(client);
  await client.query('savepoint trial');
  await becomeReader(client, readRole, trialLimits.ms);
  let [updates, rows, ms] = [0, 0, 0];
  for (const { after, offsets } of ranges) {
    const upTo = offsets.at(-1);
    if (upTo === undefined) continue;
    const begin = performance.now();
    const lines = await withOwnErrors(readRows(client, projection, { after, upTo }, trialLimits));
    ms += performance.now() - begin;
    await withOwnErrors(compareParts(client, projection, { after, upTo }, partsOf({ after, offsets }, chance)));
    updates += offsets.length;
    rows += lines.length;
  }
  await client.query('rollback to savepoint trial');
  return { updates, rows, msPerUpdate: updates === 0 ? undefined : ms / updates };
}

/** Reports errors that the SELECT causes with the message of Postgres. @throws IndexerError */
async function withOwnErrors<T>(pending: Promise<T>): Promise<T> {
  try {
    return await withQueryErrors('', 0, pending);
  } catch (thrown) {
    if (toStoreError(thrown).code !== 'STORE_STATEMENT_TIMEOUT') throw thrown;
    throw refusalError(
      `the SELECT takes more than ${String(trialLimits.ms)} ms for ${String(updatesPerRange)} updates`,
      'let it read only rows of its range, and look up others by contract id',
    );
  }
}

interface TriedRange {
  readonly after: number;
  /** Offsets of its updates; the last one is the end of the range. */
  readonly offsets: readonly number[];
}

async function rangesOf(client: ClientBase): Promise<readonly TriedRange[]> {
  const { rows } = await client.query<{ first: number; last: number }>(
    `select min("offset") as first, max("offset") as last from updates having count(*) > 0`,
  );
  const [bounds] = rows;
  if (bounds === undefined) return [];
  const { first, last } = bounds;
  const begins = [-1, Math.floor((first + last) / 2), Math.max(first, last - updatesPerRange)];
  const ranges: TriedRange[] = [];
  for (const after of new Set(begins)) {
    const { rows: offsets } = await client.query<{ offset: number }>(
      'select "offset" from updates where "offset" > $1 order by "offset" limit $2',
      [after, updatesPerRange],
    );
    ranges.push({ after, offsets: offsets.map(({ offset }) => offset) });
  }
  return ranges;
}

/** Random parts of a range, in order; one of them has a single update, and one has none. */
function partsOf({ after, offsets }: TriedRange, chance: () => number): readonly ProjectedRange[] {
  const cuts = Array.from({ length: parts - 2 }, () => offsets[Math.floor(chance() * offsets.length)] ?? after);
  const single = Math.floor(chance() * (offsets.length - 1));
  const ends = [...cuts, offsets[single] ?? after, offsets[single + 1] ?? after, offsets.at(-1) ?? after].sort(
    (a, b) => a - b,
  );
  return ends.map((upTo, index) => ({ after: ends[index - 1] ?? after, upTo }));
}

async function compareParts(
  client: ClientBase,
  projection: Projection,
  range: ProjectedRange,
  partRanges: readonly ProjectedRange[],
): Promise<void> {
  const inParts = partRanges.map((part) => `(${selectOfRange(projection, part)})`).join(' union all ');
  const { rows } = await client.query<{ offset: number }>(
    `with at_once as materialized (${selectOfRange(projection, range)}), in_parts as materialized (${inParts})
     select d."offset" from (table at_once except all table in_parts) d
     union all select d."offset" from (table in_parts except all table at_once) d
     order by 1 limit 1`,
  );
  const [difference] = rows;
  if (difference === undefined) return;
  throw refusalError(
    `the SELECT returns other rows for a range at once than for its parts, first at offset ${String(difference.offset)}`,
    'let each row depend only on events at its own offset, and on contracts that these events name; avoid limit, windows and sums over the range',
  );
}

/** The generator mulberry32. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
