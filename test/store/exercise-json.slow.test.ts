/**
 * Arguments and results are stored as jsonb or as json. Tests the setting, the returned values and the rejected values.
 */
import { describe, expect, it } from 'vitest';
import { migrateCommand } from '../../src/cli/follow/migrate.ts';
import { decodeUpdate } from '../../src/ledger/frames/decode.ts';
import type { Database } from '../../src/store/connection/database.ts';
import { assertExerciseJson, storedExerciseJson } from '../../src/store/schema/exercise-json.ts';
import { migrate, printMigrations } from '../../src/store/schema/migrations.ts';
import { storeLate } from '../../src/store/write/late-update.ts';
import { openSession } from '../../src/store/write/session.ts';
import * as frames from '../support/frames.ts';
import { runCommand } from '../support/run-command.ts';
import { identity, schemasOfFile } from '../support/schemas.ts';

const schemas = schemasOfFile();
const types = ['jsonb', 'json'] as const;
const readStoredJson = (database: Database): Promise<string | undefined> => database.withClient(storedExerciseJson);

async function fillSchema(schema: string, exerciseJson?: 'jsonb' | 'json'): Promise<Database> {
  const database = schemas.open(schema);
  await migrate(database, { exerciseJson });
  return database;
}

/** A frame with one exercise that contains the text unchanged. */
function exercise(offset: number, argument: string): string {
  const event = frames.exercised({ offset, choiceArgument: 'ARGUMENT', exerciseResult: 'RESULT' });
  const text = frames.text(frames.transaction(offset, [{ ExercisedEvent: event }]));
  return text.replace('"ARGUMENT"', () => argument).replace('"RESULT"', () => argument);
}

describe('exercise JSON type', () => {
  it.each(types)('equals the type set when the schema was created: %s', async (type) => {
    expect(await readStoredJson(await fillSchema(`made_${type}`, type))).toBe(type);
  });

  it('is jsonb by default, and undefined without tables', async () => {
    expect(await readStoredJson(schemas.open('not_there'))).toBeUndefined();
    expect(await readStoredJson(await fillSchema('unsaid'))).toBe('jsonb');
  });

  it.each(types)('equals the type of the printed SQL: %s', async (type) => {
    const schema = `printed_${type}`;
    await schemas.open('public').pool.query(await printMigrations(schema, { exerciseJson: type }));
    expect(await readStoredJson(schemas.open(schema))).toBe(type);
  });

  it('does not change, and another INDEXER_EXERCISE_JSON is rejected with a remedy', async () => {
    const database = await fillSchema('kept', 'json');
    await expect(assertExerciseJson(database, 'json')).resolves.toBeUndefined();
    await expect(assertExerciseJson(database, undefined)).resolves.toBeUndefined();
    await expect(assertExerciseJson(database, 'jsonb')).rejects.toMatchObject({
      code: 'SCHEMA_EXERCISE_JSON',
      retry: 'fatal',
      exitCode: 78,
      message: expect.stringContaining('as json, and INDEXER_EXERCISE_JSON is jsonb') as unknown,
      remedy: expect.stringContaining('ledger-indexer rebuild') as unknown,
    });
    await migrate(database, { exerciseJson: 'jsonb' });
    expect(await readStoredJson(database)).toBe('json');
  });

  it('is set by the migrate command, which later rejects another type', async () => {
    const run = (type: string): Promise<unknown> => {
      const env = { DATABASE_URL: schemas.url, POSTGRES_SCHEMA: 'by_command', INDEXER_EXERCISE_JSON: type };
      return runCommand(migrateCommand, [], env);
    };
    await run('json');
    expect(await readStoredJson(schemas.open('by_command'))).toBe('json');
    await expect(run('jsonb')).rejects.toMatchObject({ code: 'SCHEMA_EXERCISE_JSON' });
  });
});

/** Texts that jsonb prints differently or rejects. */
const texts = [
  String.raw`{"longer":1,"a":"x\u0041","a":1.50,"n":1e3}`,
  String.raw`{"a":"x\u0000y"}`,
  String.raw`{"a":"\ud800"}`,
  '{"$escaped":"me"}',
  `${'['.repeat(600)}${']'.repeat(600)}`,
  '"text"',
  'null',
];

describe('exercise argument', () => {
  async function filled(type: 'jsonb' | 'json'): Promise<Database> {
    const database = await fillSchema(`filled_${type}`, type);
    const session = await openSession(database, identity);
    await session.publishSeed(0, 'genesis');
    for (const [from, text] of texts.entries()) {
      const batch = session.newBatch(from);
      batch.add(decodeUpdate(exercise(from + 1, text)));
      await session.writeBatch(batch, from);
    }
    const last = texts.length;
    const quarantinedUpdate = { offset: last + 1, code: 'X', problem: 'x', frame: Buffer.from('') };
    await session.quarantine(quarantinedUpdate, last);
    await storeLate(database, decodeUpdate(exercise(last + 1, texts[0] ?? '')));
    return database;
  }

  const readExercises = async (database: Database, from: string): Promise<readonly unknown[]> => {
    const select = `select "offset", argument::text, result::text from ${from} order by "offset"`;
    return database.withClient(async (client) => (await client.query<Record<string, unknown>>(select)).rows);
  };

  it('is the same in the views of both types, and unchanged in a json table', async () => {
    const [parsedTables, jsonTables] = [await filled('jsonb'), await filled('json')];
    const rows = await readExercises(parsedTables, 'filled_jsonb_explore.exercises');
    expect(rows).toHaveLength(texts.length + 1);
    expect(rows[0]).toMatchObject({ argument: '{"a": 1.50, "n": 1000, "longer": 1}' });
    for (const view of ['explore.exercises', 'explore.events']) {
      expect(await readExercises(jsonTables, `filled_json_${view}`), view).toEqual(rows);
    }
    const pqsExercises = '(select e.exercised_at_offset as "offset", e.* from filled_json_pqs.exercises() e) e';
    expect(await readExercises(jsonTables, pqsExercises)).toEqual(rows);
    expect(await readExercises(jsonTables, 'decoded_exercises')).toEqual(rows);
    expect((await readExercises(jsonTables, 'exercises'))[0]).toMatchObject({ argument: texts[0], result: texts[0] });
  });

  it('is rejected on write (jsonb) or read (json views) if a number exceeds numeric', async () => {
    const write = async (database: Database): Promise<unknown> => {
      const session = await openSession(database, identity);
      await session.publishSeed(0, 'genesis');
      const batch = session.newBatch(0);
      batch.add(decodeUpdate(exercise(1, '{"n":1e200000}')));
      return session.writeBatch(batch, 0);
    };
    await expect(write(await fillSchema('huge_jsonb', 'jsonb'))).rejects.toMatchObject({ code: 'STORE_DATA_REFUSED' });
    const jsonTables = await fillSchema('huge_json', 'json');
    await write(jsonTables);
    await expect(readExercises(jsonTables, 'decoded_exercises')).rejects.toMatchObject({ code: 'STORE_DATA_REFUSED' });
    expect(await readExercises(jsonTables, 'exercises')).toMatchObject([{ argument: '{"n":1e200000}' }]);
  });
});
