/** Functions of `explore` fail if they are called with an unknown party or template. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as frames from '../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  const createdFrame = frames.created({
    offset: 1,
    signatories: [frames.alice],
    observers: [],
    witnessParties: [frames.alice, frames.bob],
  });
  await database.write(frames.transaction(1, [{ CreatedEvent: createdFrame }]));
});
afterAll(() => database[Symbol.asyncDispose]());

const partyQueries = (party: string): readonly string[] => [
  `explore.token_journal('${party}')`,
  `explore.token_changes_of('${party}')`,
  `explore.token_holding_events_of('${party}')`,
  `explore.diff(0, 1, null, '${party}')`,
  `explore.diff_contracts(0, 1, null, '${party}')`,
];

it.each(partyQueries('alice'))('%s fails for an unknown party and lists the nearest parties', async (call) => {
  await expect(database.query(`select * from ${call}`)).rejects.toMatchObject({
    message: 'Unknown party: no event, topology change or command names alice',
    code: '42704',
    hint: expect.stringContaining(frames.alice) as unknown,
  });
});

it.each([...partyQueries(frames.bob), `explore.diff(0, 1, null, null)`])('%s accepts known parties', async (call) => {
  expect(Array.isArray(await database.query(`select * from ${call}`))).toBe(true);
});

it('active_by_key fails for an unknown template, even if no contract has the key', async () => {
  await expect(database.query(`select * from explore.active_by_key('xx', 'Amulte')`)).rejects.toMatchObject({
    message: 'Unknown name: no template Amulte was seen',
    code: '42704',
  });
  expect(await database.query(`select * from explore.active_by_key('xx')`)).toEqual([]);
});
