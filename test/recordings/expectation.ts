/** Derives all expected rows from the frames of a run: tables, views of readers, and active contracts by offset. */
import { addSummaries } from './expected-summaries.ts';
import { addViews } from './expected-views.ts';
import { ExpectedRows, isAliveAt } from './expected.ts';
import { asInteger, asText, JsonObject, type Json } from './json.ts';
import { activeAt, type Frame, type Recording, type Shape } from './recording.ts';
import { integer, postgresTime, type Row, type Rows } from './rows.ts';
import { activeAtName } from './stored.ts';

export interface Expectation {
  readonly rows: Rows;
  readonly leaves: number;
  readonly unplaced: readonly string[];
  /** Offsets at which active contracts are compared. */
  readonly offsets: readonly number[];
}

/**
 * @param seedOffset offset of the seed; undefined if history was followed from its beginning
 * @param offsets at which active contracts are compared
 */
export function expectationOf(
  recording: Recording,
  shape: Shape,
  seedOffset: number | undefined,
  offsets: readonly number[],
): Expectation {
  const expected = new ExpectedRows();
  const entries = seedOffset === undefined ? [] : activeAt(recording, seedOffset);
  for (const entry of entries) expected.entry(entry);
  const updates = recording.updates[shape].filter(({ offset }) => offset > (seedOffset ?? 0));
  for (const frame of updates) expected.update(frame);
  addSummaries(expected);
  addViews(expected, recording.second);
  const { rows, tally: leafTally, lifetimes } = expected;
  const contracts = new Map(rows.of('explore.contracts').map((row) => [lifetimeKey(row, 'created_at_offset'), row]));
  for (const offset of offsets) {
    for (const lifetime of lifetimes) {
      const contract = contracts.get(lifetimeKey(lifetime.row, 'activated_offset'));
      if (isAliveAt(lifetime, offset) && contract !== undefined) rows.add(activeAtName(offset), activeRow(contract));
    }
  }
  for (const lifetime of lifetimes) {
    const contract = contracts.get(lifetimeKey(lifetime.row, 'activated_offset'));
    if (lifetime.deactivated === null && contract !== undefined)
      rows.add('explore.active_contracts', activeRow(contract));
  }
  rows.add('coverage', {
    from_offset: integer(seedOffset ?? 0),
    origin: seedOffset === undefined ? 'genesis' : 'seed',
    complete: true,
    transaction_shape: shape,
  });
  rows.add('stream', {
    ...progressOf(updates),
    ...(updates.length > 0 ? {} : anchorOf(expected, recording, shape)),
    participant_id: recording.participantId,
    transaction_shape: shape,
    seed_offset: integer(seedOffset ?? 0),
    seed_contracts: integer(entries.length),
    checkpoint: integer(recording.end),
  });
  return { rows, leaves: leafTally.leaves, unplaced: leafTally.unplaced, offsets };
}

const lifetimeKey = (row: Row, offset: string): string =>
  `${asText(row['contract_id'])} ${asText(row['synchronizer_id'])} ${String(asInteger(row[offset]))}`;

const contractOnlyColumns = new Set([
  'status',
  'is_active',
  'archived_at_offset',
  'archived_at',
  'origin',
  'node_id',
  'redaction_id',
]);
const activeRow = (contract: Row): Row =>
  Object.fromEntries(Object.entries(contract).filter(([column]) => !contractOnlyColumns.has(column)));

/**
 * The state of the stream after all updates. The newest time is that of the last update, because they were recorded one
 * after the other.
 */
function progressOf(updates: readonly Frame[]): Row {
  const times = new Map<string, Json>();
  for (const { value } of updates) {
    times.set(asText(value.fields.get('synchronizerId')), value.fields.get('recordTime') ?? null);
  }
  const newestTime =
    [...times.values()]
      .map((time) => postgresTime(asText(time)))
      .sort(compareTimes)
      .at(-1) ?? null;
  const last = updates.at(-1);
  return {
    record_times: new JsonObject(times),
    checkpoint_record_time: newestTime,
    checkpoint_update_offset: last === undefined ? null : integer(last.offset),
    checkpoint_update_id: last?.value.fields.get('updateId') ?? null,
  };
}

/** If no update was stored since the seed, the update of the newest active contract identifies the history. */
function anchorOf({ rows }: ExpectedRows, recording: Recording, shape: Shape): Row {
  const newestOffset = Math.max(...rows.of('contracts').map((row) => asInteger(row['offset'])));
  const update = recording.updates[shape].find(({ offset }) => offset === newestOffset);
  if (update === undefined) return {};
  return {
    checkpoint_update_offset: integer(newestOffset),
    checkpoint_update_id: update.value.fields.get('updateId') ?? null,
  };
}

/** Orders times of one zone, with fractions of any length. */
function compareTimes(a: string, b: string): number {
  const comparable = (time: string): string => time.replace('+00:00', '').padEnd(26, '.000000').slice(0, 26);
  const [left, right] = [comparable(a), comparable(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}
