/** `verify` converts events of the ledger and of the database to text. Equal events must have equal texts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BucketSums, digestOf, fieldDigests } from '../../src/cli/verify/bucket-sums.ts';
import { activeOrInFlight } from '../../src/ledger/frames/plain-active.ts';
import { ledgerUpdateOf } from '../../src/ledger/frames/plain-frame.ts';
import { comparedFields } from '../../src/model/compared-rows.ts';
import { decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { openDatabase, type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { storedEntries, readStoredSums, type ActiveRange } from '../../src/store/verify/stored-active.ts';
import { storedFields, storedLines } from '../../src/store/verify/stored-updates.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import type { Json, JsonRecord } from '../support/frames.ts';
import { identity } from '../support/schemas.ts';

let testDatabase: TestDatabase;
let database: Database;
let session: StoreSession;
let checkpoint = 100;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  database = openDatabase({ url: testDatabase.url, ...options });
  await migrate(database);
  session = await openSession(database, identity);
  await session.beginSeed(checkpoint);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const next = (): number => checkpoint + 1;

async function write(text: string): Promise<void> {
  const batch = session.newBatch(checkpoint);
  batch.add(decodeUpdate(text));
  await session.writeBatch(batch, checkpoint);
  checkpoint = batch.offset;
}

/** Keys and digests on both sides, after the frame was stored. */
async function parseBoth(text: string) {
  const from = checkpoint;
  await write(text);
  const databaseLines = await database.withClient((client) => storedLines(client, from, checkpoint));
  const sentLines = ledgerUpdateOf(text);
  expect(sentLines.offset).toBe(checkpoint);
  const groupByKey = (lines: readonly (readonly [string, string])[]) => Object.fromEntries(lines);
  return {
    sent: groupByKey(sentLines.rows.map((row) => [row.key, digestOf(row, false)])),
    stored: groupByKey(databaseLines.map(({ key, digest }) => [key, digest])),
  };
}

const create = (change: JsonRecord): JsonRecord =>
  frames.transaction(next(), [
    { CreatedEvent: frames.created({ offset: next(), contractId: `c${String(next())}`, ...change }) },
  ]);

const oddFrames: readonly (readonly [string, string])[] = [
  ['NUL', String.raw`{"a":"x\u0000y"}`],
  ['a lone surrogate', String.raw`{"a":"\ud800"}`],
  ['deep nesting', `${'[{"a":'.repeat(600)}1${'}]'.repeat(600)}`],
  ['nesting at the limit', `${'['.repeat(500)}${']'.repeat(500)}`],
  ['nesting above the limit', `${'['.repeat(501)}${']'.repeat(501)}`],
  ['an object that looks like the escape', '{"$escaped":"me"}'],
  ['the escape with one letter escaped', String.raw`{"$\u0065scaped":"me"}`],
  ['the escape as another key', '{"a":1,"$escaped":"me"}'],
  ['numbers beyond 2^53', '{"n": 9007199254740993, "m": -0.0, "e": 1.50e3}'],
  ['duplicate keys', '{"a":1,"b":"x","a":"y"}'],
  ['spaces', ' { "bb" : [ 1 , 2 ] , "a" : { } } '],
  ['__proto__', '{"__proto__": {"x": "y"}, "constructor": "c"}'],
  ['all of Unicode', JSON.stringify({ 'é😀\u2028"\\\u0001\u007f': '\u202e😀\t\u0085\uffff' })],
  ['a scalar', '"text"'],
];

function unknownTopology(offset: number): JsonRecord {
  const events = [{ event: { PartyRenamed: { value: { partyId: frames.alice, to: [{ name: 'ü', weight: 1.5 }] } } } }];
  const head = { offset, updateId: '1220ab', recordTime: frames.recordTime, synchronizerId: frames.here };
  return frames.update('TopologyTransaction', { ...head, events });
}

describe('verify digest of an update', () => {
  beforeAll(async () => {
    await session.publishSeed(checkpoint, 'seed');
  });

  it.each([
    ['every event of a transaction', () => frames.fullTransaction(next())],
    ['an unassignment', () => frames.reassignment(next(), { JsUnassignedEvent: { value: frames.unassigned() } })],
    ['an assignment', () => frames.reassignment(next(), { JsAssignmentEvent: frames.assigned() }, frames.there)],
    ['topology', () => frames.topology(next())],
    ['an unknown kind', () => frames.update('Surprise', { offset: next(), updateId: 'u', x: [{ y: 1.5 }], z: 'ü' })],
    ['an unknown event of topology', () => unknownTopology(next())],
    [
      'empty texts',
      () =>
        frames.transaction(next(), [], { commandId: '', workflowId: '', traceContext: null, paidTrafficCost: null }),
    ],
    [
      'texts with NUL and a lone surrogate',
      () =>
        frames.transaction(next(), [], {
          commandId: 'a\u0000b',
          workflowId: 'x\ud800',
          traceContext: { traceparent: 'json:"x"', tracestate: '' },
        }),
    ],
    [
      'a failed view',
      () =>
        create({
          interfaceViews: [
            {
              interfaceId: frames.viewed,
              viewStatus: { code: 9, message: 'NO\u0000', details: [{ a: 1 }] },
              viewValue: null,
              implementationPackageId: null,
            },
          ],
        }),
    ],
    [
      'a create of an older release',
      () =>
        create({
          nodeId: null,
          acsDelta: null,
          representativePackageId: null,
          contractKeyHash: null,
          createdEventBlob: '',
        }),
    ],
    [
      'times with nanoseconds',
      () =>
        frames.transaction(next(), [], {
          effectiveAt: '2026-08-14T11:01:00.1234567Z',
          recordTime: '9999-12-31T23:59:59.999999Z',
        }),
    ],
    ['times of the year 1', () => frames.transaction(next(), [], { effectiveAt: '0001-01-01T00:00:00.000001Z' })],
  ])('is equal for ledger and database: %s', async (_caseName, frame) => {
    const { sent: sentLines, stored: databaseLines } = await parseBoth(frames.text(frame()));
    expect(databaseLines).toEqual(sentLines);
    expect(Object.keys(sentLines).length).toBeGreaterThan(0);
  });

  it.each(oddFrames)('is equal for ledger and database with a payload of %s', async (_caseName, payload) => {
    const text = frames.text(create({ createArgument: 'HERE', contractKey: 'HERE' }));
    const { sent: sentLines, stored: databaseLines } = await parseBoth(text.replaceAll('"HERE"', () => payload));
    expect(databaseLines).toEqual(sentLines);
  });

  it('is equal for ledger and database with a traffic cost beyond 2^53', async () => {
    const text = frames.text(frames.transaction(next(), [], { paidTrafficCost: 'COST' }));
    const { sent: sentLines, stored: databaseLines } = await parseBoth(text.replace('"COST"', '9223372036854775807'));
    expect(databaseLines).toEqual(sentLines);
  });

  it('changes when any field of the frame changes', async () => {
    const text = frames.text(frames.fullTransaction(next()));
    await write(text);
    const databaseLines = await database.withClient((client) => storedLines(client, checkpoint - 1, checkpoint));
    const digests = new Map(databaseLines.map(({ key, digest }) => [key, digest]));
    let leafCount = 0;
    for (const changedEntry of withOneLeafChanged(JSON.parse(text) as Json)) {
      leafCount += 1;
      const rows = ledgerUpdateOf(JSON.stringify(changedEntry)).rows;
      const isSame = rows.length === digests.size && rows.every((row) => digests.get(row.key) === digestOf(row, false));
      expect(isSame, JSON.stringify(changedEntry)).toBe(false);
    }
    expect(leafCount).toBeGreaterThan(40);
  });

  it('is computed from fields such as kind, update id and synchronizer', async () => {
    const line = { kind: 'update', key: 'update', offset: checkpoint } as const;
    const fields = await database.withClient((client) => storedFields(client, line));
    const texts = new Map(comparedFields.update.map((name, index) => [name, fields?.[index]]));
    expect(texts.get('kind')).toBe('transaction');
    expect(texts.get('update_id')).toContain('1220');
    expect(texts.get('synchronizer')).toBe(frames.here);
  });
});

describe('verify digest of active contracts', () => {
  it('is equal for ledger and database, per field and as bucket sums', async () => {
    const payloads = [...oddFrames.map(([, payload]) => payload), '{"owner":"a"}'];
    await using otherDatabase = await createTestDatabase();
    const readerDatabase = openDatabase({
      url: otherDatabase.url,
      schema: 'ledger',
      statementTimeoutMs: 60_000,
      applicationName: 'test',
    });
    try {
      await migrate(readerDatabase);
      const seed = await openSession(readerDatabase, identity);
      await seed.beginSeed(100);
      const batch = seed.newBatch(100);
      const texts = payloads.map((payload, index) =>
        frames
          .text(frames.activeEntry({ contractId: `a${String(index)}`, offset: index + 1, createArgument: 'HERE' }))
          .replace('"HERE"', () => payload),
      );
      for (const text of texts) batch.addEntry(decodeActiveContract(text));
      await seed.writeSeed(batch, 0);
      await seed.publishSeed(100, 'seed');
      const range: ActiveRange = { at: 100, after: -1, seeded: { upTo: 100, streamed: [Number.MAX_SAFE_INTEGER, -1] } };
      const isSeeded = (): boolean => true;
      const buckets = Array.from({ length: 4096 }, (_, bucket) => bucket);
      const databaseEntries = await readerDatabase.withClient((client) => storedEntries(client, range, buckets));
      const digests = new Map(databaseEntries.map((entry) => [entry.contractId, entry.digests]));
      for (const text of texts) {
        const activeEntry = activeOrInFlight(text, isSeeded);
        expect(digests.get(activeEntry?.contractId ?? '')).toEqual(
          activeEntry === undefined ? [] : fieldDigests(activeEntry.row, false),
        );
      }
      const sums = await readerDatabase.withClient((client) => readStoredSums(client, range));
      expect(sums.reduce((sum, { count }) => sum + count, 0)).toBe(payloads.length);
      const ledger = new BucketSums();
      for (const text of texts) {
        const activeEntry = activeOrInFlight(text, isSeeded);
        if (activeEntry !== undefined) ledger.add(activeEntry.contractId, activeEntry.row, false);
      }
      expect(ledger.unequal(sums)).toEqual([]);
      expect(new Set(sums.map(({ bucket }) => bucket)).size).toBeGreaterThan(10);
      expect(ledger.unequal(sums.slice(1))).toEqual(sums.slice(0, 1).map(({ bucket }) => bucket));
    } finally {
      await readerDatabase.close();
    }
  });
});

/** This field is stored in a dictionary, which keeps the first value. */
const unstoredFields: ReadonlySet<string> = new Set(['packageName']);

/** Copies of the frame, each with one string, number or flag changed. */
function* withOneLeafChanged(value: Json, key = ''): Generator<Json> {
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) {
      for (const changedEntry of withOneLeafChanged(entry, key)) yield value.with(index, changedEntry);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, entry] of Object.entries(value)) {
      if (unstoredFields.has(name) || name === 'offset') continue;
      for (const changedEntry of withOneLeafChanged(entry, name)) yield { ...value, [name]: changedEntry };
    }
  } else if (typeof value === 'string') yield /\dZ$/.test(value) ? '2001-01-01T00:00:00Z' : `${value}x`;
  else if (typeof value === 'number') yield value + 1;
  else if (typeof value === 'boolean') yield !value;
}
