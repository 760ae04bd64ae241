/** If a quarantined update is stored later, the tables equal the tables without quarantine, whatever its offset is. */
import { describe, expect, it } from 'vitest';
import { decodeUpdate } from '../support/wire/decode.ts';
import { type Database } from '../../src/store/connection/database.ts';
import { storeLate } from '../../src/store/write/late-update.ts';
import { prune } from '../../src/store/retention/prune.ts';
import { openSession } from '../../src/store/write/session.ts';
import { digestOf } from '../support/digest.ts';
import * as frames from '../support/frames.ts';
import { here, type JsonRecord, there } from '../support/frames.ts';
import { identity, schemasOfFile } from '../support/schemas.ts';

const schemas = schemasOfFile();

const timedUpdate = (frame: JsonRecord, offset: number): string =>
  frames.text(frame).replaceAll(frames.recordTime, `2026-08-14T11:0${offset}:00.000000Z`);

/** Stores updates with offsets from 1, one per batch. The update at offset `quarantinedOffset` is quarantined. */
async function storeUpdates(schema: string, updates: readonly string[], quarantinedOffset?: number): Promise<Database> {
  const database = await schemas.migrated(schema);
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  for (const [from, text] of updates.entries()) {
    if (from + 1 === quarantinedOffset) {
      await session.quarantine({ offset: quarantinedOffset, code: 'X', problem: 'x', frame: Buffer.from(text) }, from);
      continue;
    }
    const batch = session.newBatch(from);
    batch.add(decodeUpdate(text));
    await session.writeBatch(batch, from);
  }
  return database;
}

const create = (offset: number, contractId: string, synchronizerId: string): JsonRecord =>
  frames.transaction(offset, [{ CreatedEvent: frames.created({ offset, contractId }) }], { synchronizerId });
const unassignFrame = (offset: number, source: string, target: string): JsonRecord =>
  frames.reassignment(offset, { JsUnassignedEvent: { value: frames.unassigned({ offset, source, target }) } }, source);
const arrive = (offset: number, source: string, target: string): JsonRecord => {
  const assignedEvent = frames.assigned({ source, target, createdEvent: frames.created({ offset }) });
  return frames.reassignment(offset, { JsAssignmentEvent: assignedEvent }, target);
};
const archive = (offset: number): JsonRecord =>
  frames.transaction(offset, [{ ExercisedEvent: frames.exercised({ offset }) }]);

/** Names get numbers in the order of arrival, so the updates with the first names are not stored late. */
describe.each([
  [
    'of a contract that leaves and comes back',
    2,
    [create(1, '00c1', here), unassignFrame(2, here, there), arrive(3, here, there), unassignFrame(4, there, here)],
    [arrive(5, there, here), archive(6)],
  ],
  [
    'of two synchronizers',
    3,
    [create(1, '00c1', here), create(2, '00c2', there), create(3, '00c3', there)],
    [create(4, '00c4', here)],
  ],
])('updates %s', (caseName, first, head, tail) => {
  const updates = [...head, ...tail].map((frame, index) => timedUpdate(frame, index + 1));
  const offsets = updates.map((_, index) => index + 1).filter((offset) => offset >= first);

  it.each(offsets)('result in the same tables if offset %i is stored last', async (lateOffset) => {
    const schema = `l${caseName.length}_${lateOffset}`;
    await storeUpdates(`${schema}_whole`, updates);
    const database = await storeUpdates(schema, updates, lateOffset);
    await storeLate(database, decodeUpdate(updates[lateOffset - 1] ?? ''));
    expect(await digestOf(schemas.url, schema)).toBe(await digestOf(schemas.url, `${schema}_whole`));
  });
});

it('storeLate() rejects an update if the archives of its contracts may be pruned', async () => {
  const updates = [create(1, '00c1', here), archive(2), create(3, '00c3', here)].map((frame, index) =>
    timedUpdate(frame, index + 1),
  );
  const database = await storeUpdates('pruned', updates, 1);
  await prune(database, { offset: 2 }, { stop: new AbortController().signal });
  const digestBefore = await digestOf(schemas.url, 'pruned');
  await expect(storeLate(database, decodeUpdate(updates[0] ?? ''))).rejects.toMatchObject({
    code: 'QUARANTINE_CONTRACT_MISSING',
  });
  expect(await digestOf(schemas.url, 'pruned')).toBe(digestBefore);
});
