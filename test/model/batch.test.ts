/** Tests when updates begin and end contracts, and which ends of contracts the database must apply. */
import { describe, expect, it } from 'vitest';
import { copied, decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { Batch } from '../../src/model/batch.ts';
import { postgresMicroseconds } from '../../src/model/binary-timestamp.ts';
import { Dictionary } from '../../src/model/dictionary.ts';
import { tables, type Row, type RowSink, type TableName } from '../../src/model/tables.ts';
import * as frames from '../support/frames.ts';
import type { JsonRecord } from '../support/frames.ts';

/** A sink that keeps the rows for inspection. */
class KeptRows implements RowSink {
  readonly rows = new Map<string, Row[]>(Object.keys(tables).map((name) => [name, []]));

  push(table: TableName, row: Row): void {
    this.rows.get(table)?.push(row);
  }
}

function batchOf(...updates: JsonRecord[]): Batch<KeptRows> {
  const batch = new Batch(
    new KeptRows(),
    new Dictionary({ templates: [], choices: [], synchronizers: [], implementations: [] }),
    1,
    0,
  );
  for (const update of updates) batch.add(decodeUpdate(frames.text(update)));
  return batch;
}
function seedOf(...entries: JsonRecord[]): Batch<KeptRows> {
  const batch = batchOf();
  for (const entry of entries) batch.addEntry(decodeActiveContract(frames.text(entry)));
  return batch;
}
/** The values of some columns, row by row. */
function valuesOf(rows: readonly Row[] | undefined, table: TableName, ...names: readonly string[]): unknown[][] {
  const columns = Object.keys(tables[table]);
  return copied(rows ?? []).map((row) => names.map((name) => row[columns.indexOf(name)]));
}
/** Rows of contract, synchronizer, start offset and end offset (null while active). */
function lifetimes({ lifetimes: all }: Batch): unknown[][] {
  const live = valuesOf([...all.live()], 'live', 'contract_id', 'synchronizer_pk', 'offset').map((row) => [
    ...row,
    null,
  ]);
  const ended = valuesOf([...all.ended()], 'ended', 'contract_id', 'synchronizer_pk', 'offset', 'ended_offset');
  return [...live, ...ended].toSorted((a, b) => Number(a[2]) - Number(b[2]));
}
/** Ends of contracts that began in earlier batches: the database must apply them. */
function ends(batch: Batch): unknown[] {
  batch.seal();
  return copied([...batch.lifetimes.deactivations()]).map(({ end, ...contract }) => ({
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
    expect(ends(batch)).toEqual([]);
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
    expect([lifetimes(batch), ends(batch)]).toEqual([[], []]);
    expect(batch.sink.rows.get('contracts')).toHaveLength(1);
    const witnessed = valuesOf(
      batch.sink.rows.get('ended'),
      'ended',
      'contract_id',
      'class',
      'ended_by',
      'ended_offset',
    );
    expect(witnessed).toEqual([['00c1', -1, 'w', 1]]);
  });

  it('stores time, offset and reason of the end of a contract', () => {
    const columns = ['ended_offset', 'ended_by', 'ended_at', 'ended_node_id', 'class'] as const;
    const archived = batchOf(create(1), exercise(9, { nodeId: 3 }));
    expect(valuesOf([...archived.lifetimes.ended()], 'ended', ...columns)).toEqual([
      [9, 'a', postgresMicroseconds('2026-08-14T11:01:00Z'), 3, 3],
    ]);
    const left = batchOf(create(1), unassign(8));
    expect(valuesOf([...left.lifetimes.ended()], 'ended', ...columns)).toEqual([
      [8, 'r', postgresMicroseconds(frames.recordTime), null, 3],
    ]);
  });

  it('marks lifetimes as repeated if a contract becomes active twice in an update', () => {
    const twice = [{ CreatedEvent: frames.created() }, { CreatedEvent: frames.created({ nodeId: 1 }) }];
    expect(batchOf(frames.transaction(1, twice)).lifetimes.repeated).toBe(true);
    expect(batchOf(create(1), exercise(2), create(3)).lifetimes.repeated).toBe(false);
  });

  it('treats a create without acsDelta as active only if a stakeholder is a witness', () => {
    const { acsDelta: _, ...silent } = frames.created();
    const seen = { ...silent, witnessParties: [frames.bob] };
    const divulged = { ...silent, witnessParties: ['Eve::1220'] };
    expect(lifetimes(batchOf(frames.transaction(1, [{ CreatedEvent: seen }])))).toHaveLength(1);
    expect(lifetimes(batchOf(frames.transaction(1, [{ CreatedEvent: divulged }])))).toEqual([]);
  });

  it('ends contracts of this and earlier batches on archived events of shape ACS_DELTA', () => {
    const archive = frames.transaction(2, [
      { ArchivedEvent: frames.archived({ contractId: '00c1' }) },
      { ArchivedEvent: frames.archived({ contractId: 'earlier' }) },
    ]);
    const batch = batchOf(create(1), archive);
    expect(lifetimes(batch)).toEqual([['00c1', 1, 1, 2]]);
    expect(ends(batch)).toEqual([{ contractId: 'earlier', synchronizerPk: 1, offset: 2 }]);
  });

  it('stores only the first end of a contract without a create', () => {
    const batch = batchOf(exercise(4), exercise(5));
    expect(ends(batch)).toEqual([{ contractId: '00c1', synchronizerPk: 1, offset: 4 }]);
  });

  it('starts a new lifetime at each assignment to another synchronizer', () => {
    const back = assign(4, {}, frames.here);
    const batch = batchOf(create(1), unassign(2), assign(3), back);
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
    expect(ends(batch)).toEqual([{ contractId: '00c1', synchronizerPk: 1, offset: 2 }]);
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
      new KeptRows(),
      new Dictionary({ templates: [], choices: [], synchronizers: [], implementations: [] }),
      1,
      0,
    );
    const kept = { synchronizerId: 's', recordTime: null, traceParent: null, traceState: null, commandId: null };
    const header = {
      ...kept,
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
