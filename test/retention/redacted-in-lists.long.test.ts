/**
 * A contract is redacted before or while the indexer reads a list of active contracts that includes it. Its contents
 * must not be stored again.
 */
import { describe, expect, it } from 'vitest';
import { type Database } from '../../src/store/connection/database.ts';
import { mergeStaging } from '../../src/store/history/merge.ts';
import { prepareStaging, stagingSchema } from '../../src/store/history/staging.ts';
import { redact } from '../../src/store/retention/redact.ts';
import { openSession } from '../../src/store/write/session.ts';
import { decodeActiveContract } from '../support/wire/decode.ts';
import { query } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { here, type JsonRecord, there } from '../support/frames.ts';
import { identity, schemasOfEachTest } from '../support/schemas.ts';
import { create, id, redactionWorld, type World } from './redaction-world.ts';
import { secretEvent, tracesOf } from './traces.ts';

const schemas = schemasOfEachTest();
const world = (schema: string, updates: readonly JsonRecord[]): Promise<World> =>
  redactionWorld(schemas, schema, updates);

/** The three kinds of entries for a contract in a list of active contracts. */
const entries: readonly (readonly [string, JsonRecord])[] = [
  [
    'active',
    frames.entry('JsActiveContract', {
      createdEvent: secretEvent(id, { offset: 8 }),
      synchronizerId: there,
      reassignmentCounter: 1,
    }),
  ],
  [
    'leaving',
    frames.entry('JsIncompleteUnassigned', {
      createdEvent: secretEvent(id, { offset: 7 }),
      unassignedEvent: frames.unassigned({ contractId: id, offset: 8, source: here, target: there }),
    }),
  ],
  [
    'arriving',
    frames.entry('JsIncompleteAssigned', {
      assignedEvent: frames.assigned({ createdEvent: secretEvent(id, { offset: 8 }) }),
    }),
  ],
];

async function stageList(database: Database, entry: JsonRecord): Promise<void> {
  const session = await openSession(database, identity, { notify: false });
  await session.beginSeed(9);
  const batch = session.newBatch(9);
  batch.addEntry(decodeActiveContract(frames.text(entry)));
  await session.writeSeed(batch, 0);
  await session.publishSeed(9, 'seed');
}

describe.each(entries)('contents of a contract that is listed as %s', (entryName, entry) => {
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

  it('are not stored by a new seed after a redaction', async () => {
    const { database, redact: redactContract, traces } = await world('fresh', [create(1)]);
    await redactContract();
    await query(
      schemas.url,
      `truncate ${['stream', 'updates', 'batches', 'contracts', 'live', 'ended', 'contract_parties', 'interface_views', 'active_counts', 'activity_hourly', 'coverage'].map((table) => `fresh.${table}`).join(', ')}`,
    );
    await stageList(database, entry);
    expect(await traces()).toEqual([]);
  });

  it('can be redacted after a seed', async () => {
    const database = schemas.open('fresh');
    await stageList(database, entry);
    expect((await tracesOf(schemas.url, 'fresh', id)).length).toBeGreaterThan(0);
    const subject = { kind: 'contract', contractId: id } as const;
    const request = { subject, reason: 'r', active: true, exercises: false };
    await expect(redact(database, { ...request, active: false }, new AbortController().signal)).rejects.toMatchObject({
      code: 'REDACTION_REFUSED',
    });
    await expect(query(schemas.url, `select fresh_pqs.redact_contract('${id}', 'r')`)).rejects.toThrow(
      /is (active|unassigned): only archived contracts are redacted/,
    );
    const party = { ...request, subject: { kind: 'party', party: frames.bob } } as const;
    expect(await redact(database, { ...party, active: false }, new AbortController().signal)).toMatchObject({
      skippedActive: 1,
    });
    await redact(database, entryName === 'arriving' ? party : request, new AbortController().signal);
    expect(await tracesOf(schemas.url, 'fresh', id)).toEqual([]);
  });

  it('are not stored by a reseed after or during a redaction', async () => {
    for (const [moment, schema] of [
      ['before', 'fresh'],
      ['while', 'ledger'],
    ] as const) {
      const { database, redact: redactContract, traces } = await world(schema, [create(1)]);
      if (moment === 'before') await redactContract();
      const staging = schemas.open(stagingSchema(schema, 'reseed'));
      await prepareStaging(staging, schema, 'reseed', { identity, notBefore: 1 });
      await stageList(staging, entry);
      if (moment === 'before') expect(await traces(), moment).toEqual([]);
      else await redactContract();
      await mergeStaging(database, merge);
      expect(await traces(), moment).toEqual([]);
    }
  });
});
