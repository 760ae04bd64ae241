/** A session loads exactly the stored party sets that the previous session had in its cache. */
import { expect, it } from 'vitest';
import type { PartyLists } from '../../../src/model/party-combinations.ts';
import { rememberedBytes, sizeOf } from '../../../src/model/party-combinations.ts';
import { loadDictionary } from '../../../src/store/write/dictionary-store.ts';
import { query } from '../../support/database.ts';
import { schemasOfFile } from '../../support/schemas.ts';

const schemas = schemasOfFile();

/** Party sets that together have the size of the limit: a long list, and a name that fills the remaining bytes. */
function listsAtLimit(): readonly PartyLists[] {
  const longLists: PartyLists = [['ö €'], Array.from({ length: 40_000 }, (_, index) => `p${index}`), []];
  const remainingBytes = rememberedBytes - sizeOf(longLists) - sizeOf([[''], [], []]);
  return [longLists, [['x'.repeat(remainingBytes)], [], []]];
}

const literal = (list: readonly string[]): string =>
  list.length > 3
    ? `array(select 'p' || n from generate_series(0, ${list.length - 1}) n)`
    : `array[${list.map((text) => (text.length > 99 ? `repeat('x', ${text.length})` : `'${text}'`)).join()}]::text[]`;

async function store(schema: string, pk: number, lists: PartyLists): Promise<void> {
  const values = lists.map(literal).join(', ');
  await query(schemas.url, `insert into ${schema}.contract_parties values (${pk}, ${values})`);
}

it('loadDictionary() loads the newest party sets up to exactly the size limit', async () => {
  const [longLists, filling] = listsAtLimit() as [PartyLists, PartyLists];
  const database = await schemas.migrated('exact');
  await store('exact', 1, [['before'], [], []]);
  await store('exact', 2, longLists);
  await store('exact', 3, filling);
  const { contractParties } = await database.withClient(loadDictionary);
  expect([longLists, filling].map((lists) => contractParties.number(...lists))).toEqual([2, 3]);
  expect(contractParties.number(['before'], [], [])).toBe(4);
});

it('loadDictionary() skips a party set that exceeds the size limit by one byte', async () => {
  const [longLists, filling] = listsAtLimit() as [PartyLists, PartyLists];
  const database = await schemas.migrated('beyond');
  await store('beyond', 1, longLists);
  await store('beyond', 2, [[`${filling[0][0] ?? ''}x`], [], []]);
  const { contractParties } = await database.withClient(loadDictionary);
  expect(contractParties.number(...longLists)).toBe(3);
});

it('loadDictionary() loads no party sets if the newest is too large, and keeps the numbering', async () => {
  const database = await schemas.migrated('large');
  await store('large', -1, [['staged'], [], []]);
  await store('large', 1, [['before'], [], []]);
  await store('large', 2, [['x'.repeat(rememberedBytes)], [], []]);
  const { contractParties, eventParties } = await database.withClient(loadDictionary);
  expect(contractParties.number(['before'], [], [])).toBe(3);
  expect(eventParties.number(['before'], [], [])).toBe(1);
});
