/** Tests when updates begin and end contracts, and which ends of contracts the database must apply. */
import { describe, expect, it } from 'vitest';
import { copyValue, decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { Batch } from '../../src/model/batch.ts';
import { postgresMicroseconds } from '../../src/model/binary-timestamp.ts';
import { Dictionary } from '../../src/model/dictionary.ts';
import { tables, type Row, type RowSink, type TableName } from '../../src/model/tables.ts';
import * as frames from '../support/frames.ts';
import type { JsonRecord } from '../support/frames.ts';

/** A sink that keeps the rows for inspection. */
class CapturedRows implements RowSink {
  readonly rows = new Map<string, Row[]>(Object.keys(tables).map((name) => [name, []]));

  push(table: TableName, row: Row): void {
    this.rows.get(table)?.push(row);
  }
}

function batchOf(...updates: JsonRecord[]): Batch<CapturedRows> {
  const batch = new Batch(
    new CapturedRows(),
    new Dictionary({ templates: [], choices: [], synchronizers: [], implementations: [] }),
    1,
    0,
  );
  for (const update of updates) batch.add(decodeUpdate(frames.text(update)));
  return batch;
}
function seedOf(...entries: JsonRecord[]): Batch<CapturedRows> {
  const batch = batchOf();
  for (const entry of entries) batch.addEntry(decodeActiveContract(frames.text(entry)));
  return batch;
}
/** The values of some columns, row by row. */
function valuesOf(rows: readonly Row[] | undefined, table: TableName, ...names: readonly string[]): unknown[][] {
  const columns = Object.keys(tables[table]);
  return copyValue(rows ?? []).map((row) => names.map((name) => row[columns.indexOf(name)]));
}
/** Rows of contract, synchronizer, start offset and end offset (null while active). */
function lifetimes({ lifetimes: batchLifetimes }: Batch): unknown[][] {
  const liveValues = valuesOf([...batchLifetimes.live()], 'live', 'contract_id', 'synchronizer_pk', 'offset').map(
    (row) => [...row, null],
  );
  const endedValues = valuesOf(
    [...batchLifetimes.ended()],
    'ended',
    'contract_id',
    'synchronizer_pk',
    'offset',
    'ended_offset',
  );
  return [...liveValues, ...endedValues].toSorted((a, b) => Number(a[2]) - Number(b[2]));
}
/** Ends of contracts that began in earlier batches: the database must apply them. */
function batchEnds(batch: Batch): unknown[] {
  batch.seal();
  return copyValue([...batch.lifetimes.deactivations()]).map(({ end, ...contract }) => ({
    ...contract,
    offset: end.offset,
  }));
}
const create = (offset: number, change: JsonRecord = {}): JsonRecord =>
  frames.transaction(offset, [{ CreatedEvent: frames.created(change) }]);
const exercise = (offset: number, change: JsonRecord = {}): JsonRecord =>
  frames.transaction(offset, [{ ExercisedEvent: frames.exercised(change) }]);
const unassign = (offset: number): JsonRecord =>
  frames.reassignment(offset, { JsUnassignedEvent: { value: frames.unassigned() } });
const assign = (offset: number, change: JsonRecord = {}, target = frames.there): JsonRecord =>
  frames.reassignment(offset, { JsAssignmentEvent: frames.assigned({ target, ...change }) }, target);

describe('batch', () => {
  it('starts the lifetime of a contract with its create and ends it with a consuming exercise', () => {
    const batch = batchOf(create(1), exercise(2, { consuming: false }), exercise(3));
    expect(lifetimes(batch)).toEqual([['00c1', 1, 1, 3]]);
    expect(batchEnds(batch)).toEqual([]);
    expect(batch.sink.rows.get('exercises')).toHaveLength(2);
  });

  it('ends a contract that is created and archived in one transaction', () => {
    const transient = frames.transaction(1, [
      { CreatedEvent: frames.created() },
      { ExercisedEvent: frames.exercised() },
    ]);
    expect(lifetimes(batchOf(transient))).toEqual([['00c1', 1, 1, 1]]);
  });

  it('stores a create with acsDelta false as never active, and its exercise ends no contract', () => {
    const batch = batchOf(create(1, { acsDelta: false }), exercise(2, { acsDelta: false }));
    expect([lifetimes(batch), batchEnds(batch)]).toEqual([[], []]);
    expect(batch.sink.rows.get('contracts')).toHaveLength(1);
    const endedWitnesses = valuesOf(
      batch.sink.rows.get('ended'),
      'ended',
      'contract_id',
      'class',
      'ended_by',
      'ended_offset',
    );
    expect(endedWitnesses).toEqual([['00c1', -1, 'w', 1]]);
  });

  it('stores time, offset and reason of the end of a contract', () => {
    const columns = ['ended_offset', 'ended_by', 'ended_at', 'ended_node_id', 'class'] as const;
    const archivedBatch = batchOf(create(1), exercise(9, { nodeId: 3 }));
    expect(valuesOf([...archivedBatch.lifetimes.ended()], 'ended', ...columns)).toEqual([
      [9, 'a', postgresMicroseconds('2026-08-14T11:01:00Z'), 3, 3],
    ]);
    const unassignBatch = batchOf(create(1), unassign(8));
    expect(valuesOf([...unassignBatch.lifetimes.ended()], 'ended', ...columns)).toEqual([
      [8, 'r', postgresMicroseconds(frames.recordTime), null, 3],
    ]);
  });

  it('marks lifetimes as repeated if a contract becomes active twice in an update', () => {
    const duplicateEvents = [{ CreatedEvent: frames.created() }, { CreatedEvent: frames.created({ nodeId: 1 }) }];
    expect(batchOf(frames.transaction(1, duplicateEvents)).lifetimes.repeated).toBe(true);
    expect(batchOf(create(1), exercise(2), create(3)).lifetimes.repeated).toBe(false);
  });

  it('treats a create without acsDelta as active only if a stakeholder is a witness', () => {
    const { acsDelta: _, ...eventWithoutDelta } = frames.created();
    const witnessedEvent = { ...eventWithoutDelta, witnessParties: [frames.bob] };
    const divulgedEvent = { ...eventWithoutDelta, witnessParties: ['Eve::1220'] };
    expect(lifetimes(batchOf(frames.transaction(1, [{ CreatedEvent: witnessedEvent }])))).toHaveLength(1);
    expect(lifetimes(batchOf(frames.transaction(1, [{ CreatedEvent: divulgedEvent }])))).toEqual([]);
  });

  it('ends contracts of this and earlier batches on archived events of shape ACS_DELTA', () => {
    const archive = frames.transaction(2, [
      { ArchivedEvent: frames.archived({ contractId: '00c1' }) },
      { ArchivedEvent: frames.archived({ contractId: 'earlier' }) },
    ]);
    const batch = batchOf(create(1), archive);
    expect(lifetimes(batch)).toEqual([['00c1', 1, 1, 2]]);
    expect(batchEnds(batch)).toEqual([{ contractId: 'earlier', synchronizerPk: 1, offset: 2 }]);
  });

  it('stores only the first end of a contract without a create', () => {
    const batch = batchOf(exercise(4), exercise(5));
    expect(batchEnds(batch)).toEqual([{ contractId: '00c1', synchronizerPk: 1, offset: 4 }]);
  });

  it('starts a new lifetime at each assignment to another synchronizer', () => {
    const returnBatch = assign(4, {}, frames.here);
    const batch = batchOf(create(1), unassign(2), assign(3), returnBatch);
    expect(lifetimes(batch)).toEqual([
      ['00c1', 1, 1, 2],
      ['00c1', 2, 3, null],
      ['00c1', 1, 4, null],
    ]);
    expect(valuesOf(batch.sink.rows.get('reassignments'), 'reassignments', 'kind')).toEqual([['u'], ['a'], ['a']]);
    expect(valuesOf(batch.sink.rows.get('contracts'), 'contracts', 'origin')).toEqual([['c'], ['a'], ['a']]);
  });

  it('keeps the end of an earlier activation separate from a re-activation in one batch', () => {
    const batch = batchOf(unassign(2), assign(3, {}, frames.here), exercise(4));
    expect(batchEnds(batch)).toEqual([{ contractId: '00c1', synchronizerPk: 1, offset: 2 }]);
    expect(lifetimes(batch)).toEqual([['00c1', 1, 3, 4]]);
  });

  it('advances its offset with OffsetCheckpoints and counts activity by record time', () => {
    const batch = batchOf(frames.fullTransaction(41), frames.offsetCheckpoint(99));
    batch.seal();
    expect([batch.offset, batch.lastUpdate?.offset]).toEqual([99, 41]);
    expect(batch.sink.rows.get('updates')).toHaveLength(1);
    expect(batch.recordTimes).toEqual(new Map([[frames.here, frames.recordTime]]));
    const rows = batch.activity.rows();
    const hour = (Date.UTC(2026, 7, 14, 11) - Date.UTC(2000, 0, 1)) / 3_600_000;
    expect(new Set(rows.map((row) => row.hour))).toEqual(new Set([hour]));
    const sum = (key: 'creates' | 'archives' | 'exercises'): number => rows.reduce((total, row) => total + row[key], 0);
    expect([sum('creates'), sum('archives'), sum('exercises')]).toEqual([1, 2, 1]);
  });
});

describe('seed batch', () => {
  it('treats active entries as active from the offset of their create', () => {
    const batch = seedOf(frames.activeEntry());
    expect(lifetimes(batch)).toEqual([['00c1', 1, 41, null]]);
    expect([batch.entries, batch.continuationToken]).toEqual([1, 'dG9r']);
  });

  it('ends the lifetime of a contract with an incomplete unassignment', () => {
    const value = { createdEvent: frames.created(), unassignedEvent: frames.unassigned() };
    const batch = seedOf(frames.entry('JsIncompleteUnassigned', value));
    expect(lifetimes(batch)).toEqual([['00c1', 1, 41, 50]]);
    expect(valuesOf(batch.sink.rows.get('reassignments'), 'reassignments', 'kind', 'incomplete')).toEqual([
      ['u', true],
    ]);
  });

  it('starts no lifetime for an incomplete assignment', () => {
    const batch = seedOf(frames.entry('JsIncompleteAssigned', { assignedEvent: frames.assigned() }));
    expect(lifetimes(batch)).toEqual([]);
    expect(batch.sink.rows.get('contracts')).toEqual([]);
    const rows = batch.sink.rows.get('reassignments');
    expect(valuesOf(rows, 'reassignments', 'offset', 'kind', 'incomplete')).toEqual([[51, 'a', true]]);
    expect(JSON.parse(String(valuesOf(rows, 'reassignments', 'created_event')[0]?.[0]))).toEqual(
      frames.created({ offset: 51 }),
    );
  });

  it('counts empty entries and keeps the last non-empty continuation token', () => {
    const batch = seedOf(frames.activeEntry(), frames.entry('JsEmpty', {}, { streamContinuationToken: '' }));
    expect([batch.entries, batch.continuationToken]).toEqual([2, 'dG9r']);
  });
});

describe('Batch.lastUpdate', () => {
  it('contains id and offset of the newest update that has an id', () => {
    const batch = new Batch(
      new CapturedRows(),
      new Dictionary({ templates: [], choices: [], synchronizers: [], implementations: [] }),
      1,
      0,
    );
    const keptFields = { synchronizerId: 's', recordTime: null, traceParent: null, traceState: null, commandId: null };
    const header = {
      ...keptFields,
      workflowId: null,
      paidTrafficCost: null,
      kind: 'unknown',
      name: 'Prophecy',
      raw: '{}',
      events: [],
    } as const;
    batch.add({ ...header, offset: 5, updateId: 'a' });
    batch.add({ ...header, offset: 6, updateId: null });
    batch.seal();
    expect(batch.lastUpdate).toEqual({ offset: 5, updateId: 'a' });
    expect(batch.offset).toBe(6);
  });
});
