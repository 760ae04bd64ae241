/** The list of active contracts may contain a contract twice. No index of the storage detects this. */
import { expect, it } from 'vitest';
import { decodeActiveContract } from '../support/wire/decode.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { query } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { here, there } from '../support/frames.ts';
import { identity, schemasOfFile } from '../support/schemas.ts';

const schemas = schemasOfFile();

async function seed(session: StoreSession, ...entries: readonly (readonly [id: string, offset: number, on: string])[]) {
  await session.beginSeed(50);
  for (const [index, [contractId, offset, synchronizerId]] of entries.entries()) {
    const batch = session.newBatch(50);
    const createdEvent = frames.created({ contractId, offset });
    const entry = frames.entry('JsActiveContract', { createdEvent, synchronizerId, reassignmentCounter: 0 });
    batch.addEntry(decodeActiveContract(frames.text(entry)));
    await session.writeSeed(batch, index);
  }
}

it('publishSeed() rejects a contract that is listed twice on one synchronizer', async () => {
  const session = await openSession(await schemas.migrated('twice'), identity);
  await seed(session, ['00a', 1, here], ['00b', 2, here], ['00a', 3, here]);
  await expect(session.publishSeed(50, 'seed')).rejects.toMatchObject({ code: 'DUPLICATE_KEY', retry: 'park' });
  await expect(session.publishSeed(50, 'seed')).rejects.toThrow(`found contract 00a twice on ${here}`);
  const [row] = await query(schemas.url, 'select seeded_at, checkpoint from twice.stream');
  expect(row).toEqual({ seeded_at: null, checkpoint: null });
});

it('publishSeed() accepts a contract that is listed on two synchronizers', async () => {
  const session = await openSession(await schemas.migrated('on_two'), identity);
  await seed(session, ['00a', 1, here], ['00b', 2, here], ['00a', 3, there]);
  await session.publishSeed(50, 'seed');
  const [row] = await query(schemas.url, 'select checkpoint::int from on_two.stream');
  expect(row).toEqual({ checkpoint: 50 });
});
