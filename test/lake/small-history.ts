/**
 * Nine updates, exported in ranges of three offsets. Each content is a unique text, so tests can search the files for
 * it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { Database } from '../../src/store/connection/database.ts';
import { openSession } from '../../src/store/write/session.ts';
import { secretEvent, secretExercise } from '../retention/traces.ts';
import * as frames from '../support/frames.ts';
import type { JsonRecord } from '../support/frames.ts';
import { identity, type Schemas } from '../support/schemas.ts';
import { decodeUpdate } from '../support/wire/decode.ts';
import { exportTo, filesIn } from './lake-world.ts';

export const create = (offset: number, id: string): JsonRecord =>
  frames.transaction(offset, [{ CreatedEvent: secretEvent(id, { offset }) }]);
export const archive = (offset: number, id: string): JsonRecord =>
  frames.transaction(offset, [{ ExercisedEvent: secretExercise(id, { offset }) }]);

export async function startHistory(
  schemas: Schemas,
  schema: string,
  updates: readonly JsonRecord[],
): Promise<Database> {
  const database = await schemas.migrated(schema);
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  await write(database, 0, updates);
  return database;
}

/** Stores the updates in a new session, one batch per update. */
export async function write(database: Database, previousOffset: number, updates: readonly JsonRecord[]): Promise<void> {
  const session = await openSession(database, identity);
  for (const [index, update] of updates.entries()) {
    const batch = session.newBatch(previousOffset + index);
    batch.add(decodeUpdate(frames.text(update)));
    await session.writeBatch(batch, previousOffset + index);
  }
}

/** Exports in ranges of three offsets. */
export async function exportInRanges(
  path: string,
  url: string,
  schema: string,
  end: number,
): Promise<Record<string, unknown>> {
  let result: Record<string, unknown> = {};
  for (let untilOffset = 3; untilOffset < end + 3; untilOffset += 3) {
    result = await exportTo(path, url, schema, '--until', String(Math.min(untilOffset, end)));
  }
  return result;
}

/** Names of the files that contain a text, either in their bytes or in the decoded values of a Parquet file. */
export async function filesWith(path: string, text: string): Promise<readonly string[]> {
  const foundNames: string[] = [];
  for (const name of filesIn(path)) {
    const bytes = readFileSync(join(path, name));
    const values = name.endsWith('.parquet') ? await valuesOf(bytes) : bytes.toString('latin1');
    if (values.includes(text) || bytes.includes(text)) foundNames.push(name);
  }
  return foundNames;
}

async function valuesOf(bytes: Buffer): Promise<string> {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const rows = await parquetReadObjects({ file, compressors: { ...compressors, GZIP: (input) => gunzipSync(input) } });
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

export const updates = (): readonly JsonRecord[] => [
  create(1, '00c1'),
  create(2, '00c2'),
  archive(3, '00c1'),
  create(4, '00c4'),
  archive(5, '00c2'),
  create(6, '00c6'),
  create(7, '00c7'),
  archive(8, '00c7'),
  create(9, '00c9'),
];
