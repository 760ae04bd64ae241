/** A contract that is redacted while further events of it arrive: its frames, and a stream that stores them. */
import { expect } from 'vitest';
import { decodeUpdate } from '../support/wire/decode.ts';
import { type Database } from '../../src/store/connection/database.ts';
import { migrate } from '../../src/store/schema/migrations.ts';
import { redact, type RedactionRequest } from '../../src/store/retention/redact.ts';
import { openSession, type StoreSession } from '../../src/store/write/session.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { iou } from '../read/reader-attempts.ts';
import * as frames from '../support/frames.ts';
import { type JsonRecord, there } from '../support/frames.ts';
import { identity, type Schemas } from '../support/schemas.ts';
import { secretEvent, secretExercise, tracesOf } from './traces.ts';

export const id = '00c1';

export const create = (offset: number): JsonRecord =>
  frames.transaction(offset, [{ CreatedEvent: secretEvent(id, { offset }) }]);
export const exercise = (offset: number, consuming = false): JsonRecord =>
  frames.transaction(offset, [{ ExercisedEvent: secretExercise(id, { offset, consuming, acsDelta: consuming }) }]);
export const unassignAt = (offset: number): JsonRecord =>
  frames.reassignment(offset, { JsUnassignedEvent: { value: frames.unassigned({ contractId: id, offset }) } });
export const arrive = (offset: number): JsonRecord => {
  const assignedEvent = frames.assigned({ createdEvent: secretEvent(id, { offset }) });
  return frames.reassignment(offset, { JsAssignmentEvent: assignedEvent }, there);
};

export interface World {
  readonly schema: string;
  readonly database: Database;
  readonly session: () => Promise<StoreSession>;
  /** Writes one batch, in the given session or in a new one. */
  readonly write: (from: number, updates: readonly JsonRecord[], session?: StoreSession) => Promise<void>;
  readonly redact: (change?: Partial<RedactionRequest>) => ReturnType<typeof redact>;
  readonly traces: () => Promise<readonly string[]>;
}

/** A stream with these updates, beginning at offset 1. */
export async function redactionWorld(schemas: Schemas, schema: string, updates: readonly JsonRecord[]): Promise<World> {
  const database = schemas.open(schema);
  await migrate(database);
  const session = (): Promise<StoreSession> => openSession(database, identity);
  const first = await session();
  await first.publishSeed(0, 'genesis');
  const write: World['write'] = async (from, updateFrames, currentSession) => {
    const writer = currentSession ?? (await session());
    const batch = writer.newBatch(from);
    for (const update of updateFrames) batch.add(decodeUpdate(frames.text(update)));
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
