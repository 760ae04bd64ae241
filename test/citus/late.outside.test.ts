/** A late update on Citus: the same rows as if it had come in its place. */
import { expect, it } from 'vitest';
import { openSession } from '../../src/store/write/session.ts';
import * as frames from '../support/frames.ts';
import { digestOf } from '../support/digest.ts';
import { identity } from '../support/schemas.ts';
import { needs } from '../support/skips/needs.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { citusPlace, citusUrl, citusSkipReason, plainPlace, takeTurn, type CitusPlace } from './places.ts';

takeTurn();

const create = (offset: number, contractId: string): frames.JsonRecord =>
  frames.transaction(offset, [{ CreatedEvent: frames.created({ offset, contractId }) }]);
const archive = (offset: number, contractId: string): frames.JsonRecord =>
  frames.transaction(offset, [{ ExercisedEvent: frames.exercised({ offset, contractId }) }]);
const updates = [create(1, '00c1'), create(2, '00c2'), create(3, '00c3'), archive(4, '00c2'), archive(5, '00c1')].map(
  (frame, index) => frames.text(frame).replaceAll(frames.recordTime, `2026-08-14T11:0${index + 1}:00.000000Z`),
);

/** Stores all, the late ones at the end. */
async function writeLateUpdates(citusSchema: CitusPlace, lateOffset: number): Promise<void> {
  const session = await openSession(citusSchema.database, identity);
  let previousCount = 0;
  for (const [index, update] of updates.entries()) {
    if (index + 1 === lateOffset) continue;
    const batch = session.newBatch(previousCount);
    batch.add(decodeUpdate(update));
    await session.writeBatch(batch, previousCount);
    previousCount = index + 1;
  }
  const update = decodeUpdate(updates[lateOffset - 1] ?? '');
  if (update.kind === 'offset_checkpoint') throw new Error('no update');
  const next = await openSession(citusSchema.database, identity);
  expect(await next.storeLate(update, async () => true)).toBe(true);
  const last = await openSession(citusSchema.database, identity);
  expect(await last.storeLate(update, async () => true)).toBe(false);
}

it.each([2, 4])(
  'late update %i results in the same rows on Citus as on plain Postgres',
  needs(citusSkipReason),
  async (late) => {
    await using plain = await plainPlace('citus_late');
    await using distributed = await citusPlace(citusUrl ?? '', 'citus_late', 4);
    for (const place of [plain, distributed]) await writeLateUpdates(place, late);
    expect(await digestOf(distributed.url, distributed.schema)).toBe(await digestOf(plain.url, plain.schema));
  },
);
