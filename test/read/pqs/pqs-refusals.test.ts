/** Schemas pqs and pqs_multisync reject some names and offsets, with the messages of PQS. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writePqsHistory } from './pqs-history.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  await writePqsHistory(database);
  await database.query('set search_path = pqs');
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

describe('schema pqs', () => {
  it.each([
    [`select * from active('Nobody')`, 'Identifier not found: Nobody'],
    [`select * from exercises('Nobody:Go')`, 'Identifier not found: Nobody:Go'],
    [`select * from active('Token')`, 'Ambiguous identifier: Token'],
    [`select * from active('Trade', 21)`, 'Offset 21 is after the latest known offset 20'],
    [`select * from active('Trade', -1)`, 'Offset -1 is before the oldest known offset 0'],
    [`select * from creates('Trade', 0, 99)`, 'Offset 99 is after the latest known offset 20'],
    [`select validate_offset_exists(21)`, 'Illegal offset 21 is beyond upper bounds of contiguous history'],
    [`select validate_offset_exists(-1)`, 'Illegal offset -1 is outside lower bounds of contiguous history'],
    [`select set_latest(21)`, 'Illegal offset 21 is beyond upper bounds of contiguous history'],
  ])('rejects an invalid name or offset: %s', async (sql, message) => {
    await expect(database.query(sql)).rejects.toThrow(message);
  });

  it('returns no rows for a name that only packages define', async () => {
    expect(await database.query(`select * from active('names:Names:Unseen')`)).toEqual([]);
    expect(await database.query(`select * from exercises('Names:Unseen:Never')`)).toEqual([]);
  });
});

/** Calls of all functions that take offsets, with an offset outside of the history. @param extraSql further arguments */
async function callsOutside(readDatabase: ReadDatabase, extraSql = ''): Promise<readonly string[]> {
  const calls = await readDatabase.query<{ call: string }>(
    `select format('%s.%I(%I => 99%s)', p.pronamespace::regnamespace, p.proname, a.name, $1::text) as call
       from pg_proc p cross join unnest(p.proargnames, p.proargmodes) a (name, mode)
      where p.pronamespace in ('pqs'::regnamespace, 'pqs_multisync'::regnamespace) and p.proretset and p.proname not like '\\_%'
        and a.name like '%offset' and coalesce(a.mode, 'i') = 'i' and ($1 = '' or 'qname' = any (p.proargnames))
      order by 1`,
    [extraSql],
  );
  return calls.map(({ call }) => call);
}

/** Calls that are not rejected because of their offset. */
async function acceptedCalls(readDatabase: ReadDatabase, calls: readonly string[]): Promise<readonly string[]> {
  const resultLines: string[] = [];
  for (const call of calls) {
    const result = await readDatabase.query(`select * from ${call}`).catch((error: unknown) => String(error));
    if (typeof result !== 'string') resultLines.push(`${call}: ${result.length} rows`);
    else if (!/Offset 99 is after|Illegal offset 99/.test(result)) resultLines.push(`${call}: ${result}`);
  }
  return resultLines;
}

describe('functions of pqs and pqs_multisync', () => {
  it('reject an offset beyond the history, even in an empty database', async () => {
    await using empty = await createReadDatabase();
    const calls = await callsOutside(empty);
    expect(calls.length).toBeGreaterThan(22);
    // Tests both plans, because a full table scan evaluates its conditions only if there is a row.
    for (const scans of ['on', 'off']) {
      await empty.query(`set enable_indexscan = ${scans}`);
      await empty.query(`set enable_bitmapscan = ${scans}`);
      expect(await acceptedCalls(empty, calls)).toEqual([]);
    }
  });

  it('reject an offset beyond the history, even for a name without rows', async () => {
    const calls = await callsOutside(database, `, qname => 'names:Names:Unseen'`);
    expect(calls.length).toBeGreaterThan(8);
    const choiceCalls = calls.filter((call) => call.includes('exercises'));
    const asChoice = choiceCalls.map((call) => call.replace('Unseen', 'Unseen:Never'));
    expect(
      await acceptedCalls(database, [...calls.filter((call) => !choiceCalls.includes(call)), ...asChoice]),
    ).toEqual([]);
  });
});
