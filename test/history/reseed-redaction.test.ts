/** Contents that are redacted while a reseed stages active contracts are not restored by its merge. */
import { expect, it } from 'vitest';
import { decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { mergeStaging } from '../../src/store/history/merge.ts';
import { prepareStaging, stagingSchema } from '../../src/store/history/staging.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { redact } from '../../src/store/retention/redact.ts';
import { openSession } from '../../src/store/write/session.ts';
import { createTestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { identity } from '../support/schemas.ts';

/** Indexes the contract at offset 1. */
async function followUntilEnd(database: Database): Promise<void> {
  await migrate(database);
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  const batch = session.newBatch(0);
  const event = { CreatedEvent: frames.created({ offset: 1 }) };
  batch.add(decodeUpdate(frames.text(frames.transaction(1, [event]))));
  await session.writeBatch(batch, 0);
}

/** Stages the active contract. It was reassigned in the gap, so the ledger lists it with offset 8. */
async function stageList(staging: Database): Promise<void> {
  await prepareStaging(staging, 'ledger', 'reseed', { identity, notBefore: 1 });
  const session = await openSession(staging, identity, { notify: false });
  await session.beginSeed(9);
  const batch = session.newBatch(9);
  batch.addEntry(decodeActiveContract(frames.text(frames.activeEntry({ offset: 8 }))));
  await session.writeSeed(batch, 0);
  await session.publishSeed(9, 'seed');
}

it('redact removes contents also from rows that a reseed has staged', async () => {
  await using testDatabase = await createTestDatabase();
  const openSchema = (schema: string): Database =>
    openDatabase({ url: testDatabase.url, schema, statementTimeoutMs: 60_000, applicationName: 'test' });
  const [database, staging] = [openSchema('ledger'), openSchema(stagingSchema('ledger', 'reseed'))];
  await followUntilEnd(database);
  await stageList(staging);
  const subject = { kind: 'contract', contractId: '00c1' } as const;
  const request = { subject, reason: 'asked for', active: true, exercises: false };
  await redact(database, request, new AbortController().signal);
  const merge = {
    identity,
    offset: 9,
    interfaces: [],
    anchor: undefined,
    checkpoint: 1,
    reason: 'gap',
    writer: 'test',
    notify: false,
  };
  await mergeStaging(database, merge);
  const { rows } = await database.pool.query(
    `select c."offset", c.payload, c.created_event_blob as blob, v.view, c.redaction_id = v.redaction_id as same
       from contracts c join interface_views v using ("offset", node_id) order by 1`,
  );
  await Promise.all([database.close(), staging.close()]);
  const empty = { payload: null, blob: null, view: null, same: true };
  expect(rows).toEqual([
    { offset: 1, ...empty },
    { offset: 8, ...empty },
  ]);
});
