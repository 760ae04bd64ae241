/** Names and offsets that schema pqs refuses, with the words of PQS. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writePqsHistory } from './pqs-history.ts';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  await writePqsHistory(database);
  await database.query('set search_path = pqs');
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

describe('what is refused', () => {
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
  ])('%s', async (sql, message) => {
    await expect(database.query(sql)).rejects.toThrow(message);
  });

  it('not a name that only the packages know', async () => {
    expect(await database.query(`select * from active('names:Names:Unseen')`)).toEqual([]);
    expect(await database.query(`select * from exercises('Names:Unseen:Never')`)).toEqual([]);
  });
});
