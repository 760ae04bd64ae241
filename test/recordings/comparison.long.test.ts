/**
 * Tests that the comparison of recordings can fail. It must report every changed, missing and additional value in the
 * database.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compare } from './comparison.ts';
import { expectationOf, type Expectation } from './expectation.ts';
import { JsonNumber, JsonObject } from './json.ts';
import { columnsOf, parties, plantedChanges, relationOfTable, tables, withPlantedChange } from './planted.ts';
import { readRecording, type Recording } from './recording.ts';
import { prepareRun, type Run } from './run.ts';

const historyCases = [
  { name: 'core', shape: 'LEDGER_EFFECTS', without: ['archives', 'reassignments'] },
  { name: 'two-synchronizers', shape: 'ACS_DELTA', without: ['exercises', 'choices'] },
] as const;
const dictionaries = ['synchronizers', 'templates', 'choices'];

describe.each(historyCases)('comparison with recording $name', ({ name, shape, without: omittedParts }) => {
  let recording: Recording;
  let run: Run;
  let expectation: Expectation;
  beforeAll(async () => {
    recording = readRecording(name);
    run = await prepareRun({ recording, shape, ledgerEnd: recording.end });
    await using daemon = run.start();
    await run.reaches(daemon, recording.end);
    expectation = expectationOf(recording, shape, undefined, [recording.end]);
    expect((await compare(run.client, expectation)).differences).toEqual([]);
  });
  afterAll(async () => {
    await run[Symbol.asyncDispose]();
  });

  const filled = Object.keys(tables).filter((table) => !(omittedParts as readonly string[]).includes(table));
  const differencesOf = async (statement: string, table?: string): Promise<readonly string[]> =>
    withPlantedChange(run.client, statement, async () => (await compare(run.client, expectation, table)).differences);

  it.each(filled)('detects every changed value in table %s', async (table) => {
    const columns = await columnsOf(run.client, table);
    expect(columns.length).toBeGreaterThan(0);
    for (const column of columns) {
      // The number of a dictionary entry is visible where it is used.
      const isDerivedTable = table in relationOfTable || (dictionaries.includes(table) && column.name.endsWith('_pk'));
      const onlyTable = isDerivedTable ? undefined : table;
      expect(
        await differencesOf(plantedChanges.value(table, column), onlyTable),
        `${table}.${column.name}`,
      ).not.toEqual([]);
    }
  });

  it.each(filled)('detects a missing row in table %s', async (table) => {
    const relation = relationOfTable[table] ?? table;
    expect((await differencesOf(plantedChanges.lostRow(table), relation)).join()).toContain(`${relation}: a lost row`);
  });

  it.each(filled)('detects an additional row in table %s', async (table) => {
    const relation = relationOfTable[table] ?? table;
    expect((await differencesOf(plantedChanges.rowTooMany(table), relation)).join()).toContain(
      `${relation}: a row too many`,
    );
  });

  it.each(parties)('detects every changed party list and a missing row in table %s', async (table) => {
    const includesExercises = (omittedParts as readonly string[]).includes('exercises') ? 'acting_parties' : '';
    for (const column of await columnsOf(run.client, table)) {
      // Numbers are visible in the rows that refer to them. Only exercises have acting parties.
      if (column.type !== 'ARRAY' || column.name === includesExercises) continue;
      expect(await differencesOf(plantedChanges.value(table, column)), `${table}.${column.name}`).not.toEqual([]);
    }
    expect(await differencesOf(plantedChanges.lostRow(table))).not.toEqual([]);
  });

  it('detects a missing contract in explore.contracts and explore.events', async () => {
    const differences = (await differencesOf(plantedChanges.lostRow('contracts'))).join('\n');
    for (const view of ['contracts', 'events']) expect(differences).toContain(`explore.${view}: a lost row`);
  });

  it('detects a changed digit, surrogate pair or space in a payload', async () => {
    for (const [from, to] of [
      ['1234567890123456789012345678.0123456789', '1234567890123456789012345678.0123456788'],
      ['9007199254740993', '9007199254740992'],
      ...(name === 'core' ? [['\u{1d11e}', '\u{1d11f}'] as const] : []),
      ['"x", ""', '"x", " "'],
    ] as const) {
      const holder = `payload::text like '%' || '${from}' || '%'`;
      const statement = `update ledger.contracts set payload = replace(payload::text, '${from}', '${to}')::jsonb
        where ctid = (select min(ctid) from ledger.contracts where ${holder})`;
      expect((await differencesOf(statement, 'contracts')).length, from).toBe(1);
    }
  });

  it('detects an unknown field in a frame', () => {
    const frames = recording.updates[shape].map((frame, index) => {
      const fields = new Map([...frame.value.fields, ['unheard', new JsonNumber('1')]] as const);
      return index === 5 ? { ...frame, value: new JsonObject(fields) } : frame;
    });
    const updates = { ...recording.updates, [shape]: frames } as Recording['updates'];
    const { unplaced: unplacedPaths } = expectationOf({ ...recording, updates }, shape, undefined, []);
    expect(unplacedPaths).toEqual([expect.stringContaining('.unheard')]);
  });
});
