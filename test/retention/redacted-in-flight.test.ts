/**
 * Contents of a contract that is redacted while more of it is on its way: whatever brings them once more, they are in no
 * table and no view, of the schema and of what a reseed gathers.
 */
import { describe, expect, it } from 'vitest';
import { quarantineCommand } from '../../src/cli/maintain/quarantine.ts';
import { decodeActiveContract, decodeUpdate } from '../support/wire/decode.ts';
import { type Database } from '../../src/store/connection/database.ts';
import { mergeStaging } from '../../src/store/history/merge.ts';
import { resetTo } from '../../src/store/history/reset.ts';
import { prepareStaging, stagingSchema } from '../../src/store/history/staging.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { redact, type RedactionRequest } from '../../src/store/retention/redact.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { iou } from '../read/reader-attempts.ts';
import { query } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { here, type JsonRecord, there } from '../support/frames.ts';
import { secretEvent, secretExercise, tracesOf } from './traces.ts';
import { identity, schemasOfEachTest } from '../support/schemas.ts';
import { runCommand } from '../support/run-command.ts';

const id = '00c1';

const schemas = schemasOfEachTest();

const create = (offset: number): JsonRecord =>
  frames.transaction(offset, [{ CreatedEvent: secretEvent(id, { offset }) }]);
const exercise = (offset: number, consuming = false): JsonRecord =>
  frames.transaction(offset, [{ ExercisedEvent: secretExercise(id, { offset, consuming, acsDelta: consuming }) }]);
const leave = (offset: number): JsonRecord =>
  frames.reassignment(offset, { JsUnassignedEvent: { value: frames.unassigned({ contractId: id, offset }) } });
const arrive = (offset: number): JsonRecord => {
  const half = frames.assigned({ createdEvent: secretEvent(id, { offset }) });
  return frames.reassignment(offset, { JsAssignmentEvent: half }, there);
};

interface World {
  readonly schema: string;
  readonly database: Database;
  readonly session: () => Promise<StoreSession>;
  /** One batch, in a session of its own unless one is given. */
  readonly write: (from: number, updates: readonly JsonRecord[], session?: StoreSession) => Promise<void>;
  readonly redact: (change?: Partial<RedactionRequest>) => ReturnType<typeof redact>;
  readonly traces: () => Promise<readonly string[]>;
}

/** A stream with these updates from offset 1 on. */
async function world(schema: string, updates: readonly JsonRecord[]): Promise<World> {
  const database = schemas.open(schema);
  await migrate(database);
  const session = (): Promise<StoreSession> => openSession(database, identity);
  const first = await session();
  await first.publishSeed(0, 'genesis');
  const write: World['write'] = async (from, more, given) => {
    const writer = given ?? (await session());
    const batch = writer.newBatch(from);
    for (const update of more) batch.add(decodeUpdate(frames.text(update)));
    await writer.writeBatch(batch, from);
  };
  await write(0, updates, first);
  await storePackage(database, iou);
  expect((await syncTypedViews(database, [iou])).failed).toEqual([]);
  const request = {
    subject: { kind: 'contract', contractId: id },
    reason: 'r',
    active: true,
    exercises: true,
  } as const;
  return {
    schema,
    database,
    session,
    write,
    redact: (change = {}) => redact(database, { ...request, ...change }, new AbortController().signal),
    traces: () => tracesOf(schemas.url, schema, id),
  };
}

it('is found by the search in every table and view that shows contents', async () => {
  const { traces } = await world('fresh', [create(1), exercise(2)]);
  const found = await traces();
  const explore = ['active_contracts', 'contracts', 'events', 'exercises', 'interface_views'];
  const tables = ['contracts', 'interface_views', 'exercises'];
  expect(found).toEqual(expect.arrayContaining([...tables, ...explore.map((name) => `explore.${name}`)]));
  expect(found.filter((name) => name.startsWith('pqs.')).length).toBeGreaterThan(4);
  expect(found.filter((name) => name.startsWith('typed.')).length).toBe(2);
});

describe('redacted while the next batch is being written', () => {
  it('that batch is refused, and written anew without contents', async () => {
    const { write, session, redact: take, traces } = await world('fresh', [create(1)]);
    const running = await session();
    const batch = running.newBatch(1);
    const updates = [leave(2), arrive(3), exercise(4, true)];
    for (const update of updates) batch.add(decodeUpdate(frames.text(update)));
    // So many rows are copied before the batch ahead has committed.
    const filler = Array.from({ length: 300 }, (_, at) => ({
      CreatedEvent: frames.created({ offset: 5, nodeId: at, contractId: `00f${at}` }),
    }));
    batch.add(decodeUpdate(frames.text(frames.transaction(5, filler))));
    let commit = (): void => undefined;
    const ahead = new Promise<void>((resolve) => (commit = resolve));
    const written = running.writeBatch(batch, 1, ahead);
    written.catch(() => undefined);
    await take();
    commit();
    await expect(written).rejects.toMatchObject({ code: 'CHECKPOINT_MOVED' });
    await write(1, updates);
    expect(await traces()).toEqual([]);
    const [row] = await query(
      schemas.url,
      `select (select count(*)::int from fresh.contracts) as contracts, (select count(*)::int from fresh.exercises) as exercises`,
    );
    expect(row).toEqual({ contracts: 2, exercises: 1 });
  });

  it('a batch that commits while the redaction waits is emptied with the rest', async () => {
    const { database, redact: take, session, traces } = await world('fresh', [create(1)]);
    const running = await session();
    const holder = await database.pool.connect();
    await holder.query('begin; select from stream for update');
    const batch = running.newBatch(1);
    for (const update of [leave(2), arrive(3)]) batch.add(decodeUpdate(frames.text(update)));
    // First in the queue for the stream row is the batch, then the redaction.
    const written = running.writeBatch(batch, 1);
    const waits = async (count: number): Promise<void> => {
      for (let waiting = 0; waiting < count;) {
        const [row] = await query(
          schemas.url,
          `select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        waiting = Number(row?.['waiting']);
      }
    };
    await waits(1);
    const taken = take();
    await waits(2);
    await holder.query('commit');
    holder.release();
    await written;
    expect(await taken).toMatchObject({ contracts: 2, interfaceViews: 4, finished: true });
    expect(await traces()).toEqual([]);
  });
});

describe('more of it comes', () => {
  it('is exercised, leaves and arrives in sessions to come', async () => {
    const { write, redact: take, traces } = await world('fresh', [create(1)]);
    await take();
    await write(1, [exercise(2), leave(3), arrive(4), exercise(5, true)]);
    expect(await traces()).toEqual([]);
  });

  it('keeps arguments and results where these were not asked for, until they are', async () => {
    const { write, redact: take, traces } = await world('fresh', [create(1), exercise(2)]);
    await take({ exercises: false });
    await write(2, [exercise(3)]);
    const [row] = await query(schemas.url, 'select count(argument)::int as kept from fresh.exercises');
    expect(row).toEqual({ kept: 2 });
    await take({ exercises: true });
    await write(3, [exercise(4)]);
    expect(await traces()).toEqual([]);
  });

  it('is followed once more after going back', async () => {
    const { database, write, redact: take, traces } = await world('fresh', [create(1), exercise(2)]);
    await take();
    await resetTo(database, 0, 'test');
    await write(0, [create(1), exercise(2), leave(3), arrive(4)]);
    expect(await traces()).toEqual([]);
  });

  it('one exercise alone, which comes once more, and not the one beside it', async () => {
    const both = frames.transaction(2, [
      { ExercisedEvent: secretExercise(id, { offset: 2, nodeId: 0, consuming: false }) },
      { ExercisedEvent: secretExercise('00c2', { offset: 2, nodeId: 1, consuming: false }) },
    ]);
    const { database, write, redact: take } = await world('fresh', [both]);
    await take({ subject: { kind: 'exercise', offset: 2, nodeId: 0 } });
    await resetTo(database, 0, 'test');
    await write(0, [both]);
    expect((await tracesOf(schemas.url, 'fresh', id)).length).toBe(0);
    expect((await tracesOf(schemas.url, 'fresh', '00c2')).length).toBeGreaterThan(2);
  });

  it('late, as an update that was set aside: which is told, and holds contents until it is stored', async () => {
    const { database, schema, write, redact: take, traces } = await world('fresh', [create(1), leave(2)]);
    const late = frames.text(arrive(3));
    await (
      await openSession(database, identity)
    ).quarantine({ offset: 3, code: 'X', found: 'x', frame: Buffer.from(late) }, 2);
    expect(await take()).toMatchObject({ setAside: [3] });
    expect(await traces()).toEqual(['quarantine']);
    await write(3, [exercise(4, true)]);
    const lines: string[] = [];
    await runCommand(
      quarantineCommand,
      ['retry'],
      { DATABASE_URL: schemas.url, POSTGRES_SCHEMA: schema },
      { print: (line) => lines.push(line) },
    );
    expect(lines).toEqual(['3 stored']);
    expect(await traces()).toEqual([]);
  });
});

/** The three ways in which a list of active contracts can name it. */
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

async function gather(database: Database, entry: JsonRecord): Promise<void> {
  const session = await openSession(database, identity, { notify: false });
  await session.beginSeed(9);
  const batch = session.newBatch(9);
  batch.addEntry(decodeActiveContract(frames.text(entry)));
  await session.writeSeed(batch, 0);
  await session.publishSeed(9, 'seed');
}

describe.each(entries)('a list names it as %s', (how, entry) => {
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

  it('in a new seed', async () => {
    const { database, redact: take, traces } = await world('fresh', [create(1)]);
    await take();
    await query(
      schemas.url,
      `truncate ${['stream', 'updates', 'batches', 'contracts', 'live', 'ended', 'contract_parties', 'interface_views', 'active_counts', 'activity_hourly', 'coverage'].map((table) => `fresh.${table}`).join(', ')}`,
    );
    await gather(database, entry);
    expect(await traces()).toEqual([]);
  });

  it('found by a seed, it can be redacted', async () => {
    const database = schemas.open('fresh');
    await gather(database, entry);
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
      leftActive: 1,
    });
    await redact(database, how === 'arriving' ? party : request, new AbortController().signal);
    expect(await tracesOf(schemas.url, 'fresh', id)).toEqual([]);
  });

  it('in a reseed, redacted before it and while it gathers', async () => {
    for (const [when, schema] of [
      ['before', 'fresh'],
      ['while', 'ledger'],
    ] as const) {
      const { database, redact: take, traces } = await world(schema, [create(1)]);
      if (when === 'before') await take();
      const staging = schemas.open(stagingSchema(schema, 'reseed'));
      await prepareStaging(staging, schema, 'reseed', { identity, notBefore: 1 });
      await gather(staging, entry);
      if (when === 'before') expect(await traces(), when).toEqual([]);
      else await take();
      await mergeStaging(database, merge);
      expect(await traces(), when).toEqual([]);
    }
  });
});
