/** An export whose process is killed after an operation on its files, and the one after it. `npm run bench:lake` kills after each of all. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { decodeUpdate } from '../support/wire/decode.ts';
import { exportAll } from '../../bench/lake/whole-export.ts';
import type { Database } from '../../src/store/connection/database.ts';
import { redact } from '../../src/store/retention/redact.ts';
import { openSession } from '../../src/store/write/session.ts';
import { assertBuilt } from '../e2e/runs/daemon.ts';
import { secretEvent, secretExercise } from '../retention/traces.ts';
import * as frames from '../support/frames.ts';
import { identity, schemasOfFile } from '../support/schemas.ts';
import { filesIn, lakeDir } from './lake-world.ts';

const schemas = schemasOfFile();
const program = fileURLToPath(new URL('killed-export.mjs', import.meta.url));
const rowsPerRange = 4;

/** Eight updates: creates, and archives of each second one. */
async function begun(schema: string): Promise<Database> {
  const database = await schemas.migrated(schema);
  const session = await openSession(database, identity);
  await session.publishSeed(0, 'genesis');
  for (let offset = 1; offset <= 8; offset += 1) {
    const events =
      offset % 4 === 0
        ? [{ ExercisedEvent: secretExercise(`00c${String(offset - 1)}`, { offset }) }]
        : [{ CreatedEvent: secretEvent(`00c${String(offset)}`, { offset }) }];
    const batch = session.newBatch(offset - 1);
    batch.add(decodeUpdate(frames.text(frames.transaction(offset, events))));
    await session.writeBatch(batch, offset - 1);
  }
  return database;
}

function killedAfter(path: string, schema: string, operation: number): void {
  const args = [program, path, schemas.url, schema, String(rowsPerRange), String(operation)];
  expect(spawnSync(process.execPath, args, { encoding: 'utf8' })).toMatchObject({ signal: 'SIGKILL' });
}

const stateOf = (path: string): unknown => [readFileSync(join(path, 'manifest.json'), 'utf8'), filesIn(path)];

/** So many of them, evenly, the first and the last among them. */
function spread(operations: number, points: number): readonly number[] {
  return Array.from({ length: points }, (_, at) => 1 + Math.round((at * (operations - 1)) / (points - 1)));
}

it('goes on to the manifest, the files and the logs of one that was never killed', async () => {
  assertBuilt();
  const database = await begun('killed');
  using whole = lakeDir();
  const operations = await exportAll(whole.path, database, rowsPerRange);
  expect(operations).toBeGreaterThan(100);
  for (const operation of spread(operations, 12)) {
    using dir = lakeDir();
    killedAfter(dir.path, 'killed', operation);
    await exportAll(dir.path, database, rowsPerRange);
    expect(stateOf(dir.path), `killed after operation ${String(operation)}`).toEqual(stateOf(whole.path));
  }
}, 180_000);

it('finishes what it had begun to write anew, and leaves nothing of what was redacted', async () => {
  const database = await begun('killed_anew');
  using first = lakeDir();
  await exportAll(first.path, database, rowsPerRange);
  const subject = { kind: 'contract', contractId: '00c3' } as const;
  const copies = await Promise.all(
    spread(24, 5).map(async (operation) => {
      const dir = lakeDir();
      await exportAll(dir.path, database, rowsPerRange);
      return { dir, operation };
    }),
  );
  await redact(database, { subject, reason: 'r', active: false, exercises: true }, new AbortController().signal);
  await exportAll(first.path, database, rowsPerRange);
  for (const { dir, operation } of copies) {
    killedAfter(dir.path, 'killed_anew', operation);
    await exportAll(dir.path, database, rowsPerRange);
    expect(stateOf(dir.path), `killed after operation ${String(operation)}`).toEqual(stateOf(first.path));
    dir[Symbol.dispose]();
  }
}, 180_000);
