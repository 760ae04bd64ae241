/** A migration that is killed at one of its statements leaves the schema of a complete step, and can be repeated. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MigrationKills, type SchemaState } from './kills.ts';
import { createNewerBuild, type NewerBuild } from './newer-build.ts';
import { restoreRecording, type RestoredDatabase } from './recording.ts';

/** Every statement of the migration is tried, and this share of those that re-create the views and functions. */
const stride = 191;
/** More than the statements of the migration, and less than those that follow. */
const migrationStatements = 12;

let newer: NewerBuild;
let restored: RestoredDatabase;
beforeAll(async () => {
  newer = createNewerBuild();
  restored = await restoreRecording();
});
afterAll(async () => {
  await restored[Symbol.asyncDispose]();
  newer[Symbol.dispose]();
});

describe('a migration whose session is ended at a statement', () => {
  it('leaves a complete step, and is finished by the next attempt', async () => {
    const kills = await MigrationKills.over(restored.url, newer);
    const { states, statements } = await kills.undisturbed();
    expect(statements).toBeGreaterThan(500);
    const points = Array.from({ length: statements }, (_, index) => index + 1).filter(
      (point) => point <= migrationStatements || point % stride === 0 || point === statements,
    );
    const seen = new Set(states.map(keyOf));
    const steps = new Set<string>();
    for (const point of points) {
      const { isKilled, afterKill, afterRetry } = await kills.killAt(point);
      expect(isKilled, `statement ${point}`).toBe(true);
      expect(afterRetry, `statement ${point}`).toEqual(states.at(-1));
      if (!seen.has(keyOf(afterKill))) steps.add(keyOf(afterKill));
    }
    // After the first transaction the tables are migrated, and after the second one also the views, without comments.
    expect(steps.size).toBe(2);
  });
});

const keyOf = ({ objects, rows }: SchemaState): string => `${objects} ${rows}`;
