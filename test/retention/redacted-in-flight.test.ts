/**
 * A contract is redacted while further events of it arrive. No table or view may contain its contents, neither in the
 * schema nor in the staged contracts of a reseed.
 */
import { describe, expect, it } from 'vitest';
import { quarantineCommand } from '../../src/cli/maintain/quarantine.ts';
import { resetTo } from '../../src/store/history/reset.ts';
import { openSession } from '../../src/store/write/session.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { query } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { type JsonRecord } from '../support/frames.ts';
import { runCommand } from '../support/run-command.ts';
import { identity, schemasOfEachTest } from '../support/schemas.ts';
import { arrive, create, exercise, id, unassignAt, redactionWorld, type World } from './redaction-world.ts';
import { secretExercise, tracesOf } from './traces.ts';

const schemas = schemasOfEachTest();
const world = (schema: string, updates: readonly JsonRecord[]): Promise<World> =>
  redactionWorld(schemas, schema, updates);

it('tracesOf() finds every table and view with contents of a contract', async () => {
  const { traces } = await world('fresh', [create(1), exercise(2)]);
  const tracesFound = await traces();
  const explore = ['active_contracts', 'contracts', 'events', 'exercises', 'interface_views'];
  const tables = ['contracts', 'interface_views', 'exercises'];
  expect(tracesFound).toEqual(expect.arrayContaining([...tables, ...explore.map((name) => `explore.${name}`)]));
  expect(tracesFound.filter((name) => name.startsWith('pqs.')).length).toBeGreaterThan(4);
  expect(tracesFound.filter((name) => name.startsWith('typed.')).length).toBe(2);
});

describe('redact() during a batch', () => {
  it('fences the writer of the batch, and a retry stores no contents', async () => {
    const { write, session, redact: redactContract, traces } = await world('fresh', [create(1)]);
    const runningSession = await session();
    const batch = runningSession.newBatch(1);
    const updates = [unassignAt(2), arrive(3), exercise(4, true)];
    for (const update of updates) batch.add(decodeUpdate(frames.text(update)));
    // So many rows that they are copied before the previous batch has committed.
    const filler = Array.from({ length: 300 }, (_, index) => ({
      CreatedEvent: frames.created({ offset: 5, nodeId: index, contractId: `00f${index}` }),
    }));
    batch.add(decodeUpdate(frames.text(frames.transaction(5, filler))));
    let commit = (): void => undefined;
    const whenCommitted = new Promise<void>((resolve) => (commit = resolve));
    const whenWritten = runningSession.writeBatch(batch, 1, whenCommitted);
    whenWritten.catch(() => undefined);
    await redactContract();
    commit();
    await expect(whenWritten).rejects.toMatchObject({ code: 'WRITER_FENCED' });
    await write(1, updates);
    expect(await traces()).toEqual([]);
    const [row] = await query(
      schemas.url,
      `select (select count(*)::int from fresh.contracts) as contracts, (select count(*)::int from fresh.exercises) as exercises`,
    );
    expect(row).toEqual({ contracts: 2, exercises: 1 });
  });

  it('also removes contents of the batch if the batch commits first', async () => {
    const { database, redact: redactContract, session, traces } = await world('fresh', [create(1)]);
    const runningSession = await session();
    const holder = await database.pool.connect();
    await holder.query('begin; select from stream for update');
    const batch = runningSession.newBatch(1);
    for (const update of [unassignAt(2), arrive(3)]) batch.add(decodeUpdate(frames.text(update)));
    // The batch is first in the queue for the stream row, and the redaction is second.
    const whenWritten = runningSession.writeBatch(batch, 1);
    const waitForWaiting = async (count: number): Promise<void> => {
      for (let waitingCount = 0; waitingCount < count;) {
        const [row] = await query(
          schemas.url,
          `select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        waitingCount = Number(row?.['waiting']);
      }
    };
    await waitForWaiting(1);
    const whenRedacted = redactContract();
    await waitForWaiting(2);
    await holder.query('commit');
    holder.release();
    await whenWritten;
    expect(await whenRedacted).toMatchObject({ contracts: 2, interfaceViews: 4, finished: true });
    expect(await traces()).toEqual([]);
  });
});

describe('later events of a redacted contract', () => {
  it('are stored without contents in later sessions', async () => {
    const { write, redact: redactContract, traces } = await world('fresh', [create(1)]);
    await redactContract();
    await write(1, [exercise(2), unassignAt(3), arrive(4), exercise(5, true)]);
    expect(await traces()).toEqual([]);
  });

  it('keep arguments and results until exercises are redacted', async () => {
    const { write, redact: redactContract, traces } = await world('fresh', [create(1), exercise(2)]);
    await redactContract({ exercises: false });
    await write(2, [exercise(3)]);
    const [row] = await query(schemas.url, 'select count(argument)::int as kept from fresh.exercises');
    expect(row).toEqual({ kept: 2 });
    await redactContract({ exercises: true });
    await write(3, [exercise(4)]);
    expect(await traces()).toEqual([]);
  });

  it('are stored without contents after a reset', async () => {
    const { database, write, redact: redactContract, traces } = await world('fresh', [create(1), exercise(2)]);
    await redactContract();
    await resetTo(database, 0, 'test');
    await write(0, [create(1), exercise(2), unassignAt(3), arrive(4)]);
    expect(await traces()).toEqual([]);
  });

  it('lack only the contents of the redacted exercise after a reset', async () => {
    const transaction = frames.transaction(2, [
      { ExercisedEvent: secretExercise(id, { offset: 2, nodeId: 0, consuming: false }) },
      { ExercisedEvent: secretExercise('00c2', { offset: 2, nodeId: 1, consuming: false }) },
    ]);
    const { database, write, redact: redactContract } = await world('fresh', [transaction]);
    await redactContract({ subject: { kind: 'exercise', offset: 2, nodeId: 0 } });
    await resetTo(database, 0, 'test');
    await write(0, [transaction]);
    expect((await tracesOf(schemas.url, 'fresh', id)).length).toBe(0);
    expect((await tracesOf(schemas.url, 'fresh', '00c2')).length).toBeGreaterThan(2);
  });

  it('keep contents in a quarantined update until the update is stored', async () => {
    const {
      database,
      schema,
      write,
      redact: redactContract,
      traces,
    } = await world('fresh', [create(1), unassignAt(2)]);
    const lateFrame = frames.text(arrive(3));
    await (
      await openSession(database, identity)
    ).quarantine({ offset: 3, code: 'X', problem: 'x', frame: Buffer.from(lateFrame) }, 2);
    expect(await redactContract()).toMatchObject({ quarantined: [3] });
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
