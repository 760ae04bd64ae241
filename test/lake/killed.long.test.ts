/**
 * Kills an export after some of its file operations, and runs the next export. `npm run bench:lake` kills after every
 * operation.
 */
import { expect, it } from 'vitest';
import { decodeUpdate } from '../support/wire/decode.ts';
import { isPrefixOf, isIntact, killAfter, stateOf } from '../../bench/lake/kill-export.ts';
import { exportAll } from '../../bench/lake/whole-export.ts';
import type { Database } from '../../src/store/connection/database.ts';
import { prune } from '../../src/store/retention/prune.ts';
import { redact } from '../../src/store/retention/redact.ts';
import { openSession } from '../../src/store/write/session.ts';
import { assertBuilt } from '../e2e/runs/daemon.ts';
import { secretEvent, secretExercise } from '../retention/traces.ts';
import * as frames from '../support/frames.ts';
import { identity, schemasOfFile } from '../support/schemas.ts';
import { lakeDir, type LakeDir } from './lake-world.ts';
import { filesWith } from './small-history.ts';

const schemas = schemasOfFile();
const rowsPerRange = 4;

/** Stores eight updates: creates, and the archives of 00c3 and 00c7. */
async function startHistory(schema: string): Promise<Database> {
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

const exportKilledAt = (to: string, schema: string, operation: number): Promise<boolean> =>
  killAfter(operation, { program: 'dist', to, url: schemas.url, schema, rowsPerRange });

/** Selects `pointCount` operations at equal distances, including the first and the last one. */
function spreadPoints(operations: number, pointCount: number): readonly number[] {
  return Array.from(
    { length: pointCount },
    (_, index) => 1 + Math.round((index * (operations - 1)) / (pointCount - 1)),
  );
}

it('export after a kill writes the same manifest, files and logs as without a kill', async () => {
  assertBuilt();
  const database = await startHistory('killed');
  using completeDir = lakeDir();
  const operations = await exportAll(completeDir.path, database, rowsPerRange);
  expect(operations).toBeGreaterThan(100);
  for (const operation of spreadPoints(operations, 5)) {
    using dir = lakeDir();
    expect(await exportKilledAt(dir.path, 'killed', operation)).toBe(true);
    await exportAll(dir.path, database, rowsPerRange);
    expect(stateOf(dir.path), `killed after operation ${String(operation)}`).toEqual(stateOf(completeDir.path));
  }
}, 180_000);

it('export leaves a valid prefix of the complete export after each kill', async () => {
  const database = await startHistory('left');
  using completeDir = lakeDir();
  await exportAll(completeDir.path, database, rowsPerRange);
  using dir = lakeDir();
  let killCount = 0;
  for (let operation = 16; await exportKilledAt(dir.path, 'left', operation); operation += 16) {
    killCount += 1;
    expect(isPrefixOf(dir.path, completeDir.path), `killed after operation ${String(operation)}`).toBe(true);
  }
  expect(killCount).toBeGreaterThan(4);
  expect(stateOf(dir.path)).toBe(stateOf(completeDir.path));
  expect(isIntact(dir.path)).toBe(true);
});

it.each([
  ['in Postgres', undefined],
  ['only in the export', 6],
])(
  'export after a kill removes redacted contents that are %s',
  async (_, isPruned) => {
    const schema = `killed_anew_${String(isPruned ?? 0)}`;
    const database = await startHistory(schema);
    using first = lakeDir();
    await exportAll(first.path, database, rowsPerRange);
    const copies: { readonly dir: LakeDir; readonly operation: number }[] = [];
    for (const operation of spreadPoints(20, 3)) {
      const dir = lakeDir();
      await exportAll(dir.path, database, rowsPerRange);
      copies.push({ dir, operation });
    }
    const stop = new AbortController().signal;
    if (isPruned !== undefined) await prune(database, { offset: isPruned }, { stop });
    const inLake = isPruned === undefined ? undefined : { contracts: ['00c3'] };
    const request = {
      subject: { kind: 'contract', contractId: '00c3' },
      reason: 'r',
      active: false,
      exercises: true,
    } as const;
    await redact(database, { ...request, ...(inLake !== undefined && { inLake }) }, stop);
    await exportAll(first.path, database, rowsPerRange);
    expect(await filesWith(first.path, 'SECRET-00c3')).toEqual([]);
    for (const { dir, operation } of copies) {
      expect(await exportKilledAt(dir.path, schema, operation)).toBe(true);
      await exportAll(dir.path, database, rowsPerRange);
      expect(stateOf(dir.path), `killed after operation ${String(operation)}`).toEqual(stateOf(first.path));
      dir[Symbol.dispose]();
    }
  },
  180_000,
);
