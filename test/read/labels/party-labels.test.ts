/** Labels in SQL: the order of sources, names of the name service and their expiry, and instruments. */
import { expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { dso, exercisedEvent, foreign } from '../network/network-frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import { ansEntry, license } from './ans-frames.ts';

const [ann, ben, cyd, validator] = ['ann::1220a1', 'ben::1220b1', 'cyd::1220c1', 'validator::1220f1'];

async function labels(database: ReadDatabase, from = 'explore.party_labels'): Promise<readonly string[]> {
  const rows = await database.query<{ line: string }>(
    `select concat_ws(' ', split_part(party, '::', 1), label, kind, source, labels) as line from ${from}`,
  );
  // The order of the database depends on its locale.
  return rows.map(({ line }) => line).toSorted();
}

it('party_labels takes the label of a file before an ANS name, and the first source and name in alphabetical order', async () => {
  await using database = await createReadDatabase();
  await database.write(
    frames.transaction(1, [
      license('001', validator),
      ansEntry('00a2', ann, 'zoe.cns', { nodeId: 1 }),
      ansEntry('00a1', ann, 'ann.cns', { nodeId: 2 }),
      ansEntry('00b1', ben, 'ben.cns', { nodeId: 3 }),
    ]),
  );
  await database.query(
    `insert into party_labels (party, source, label) values
       ('${ben}', 'second', 'Ben of second'), ('${ben}', 'First', 'Ben of First'), ('${cyd}', 'second', 'Cyd')`,
  );
  const expected = ['ann ann.cns ans 2', 'ben Ben of First file First 3', 'cyd Cyd file second 1'];
  expect(await labels(database)).toEqual(expected);
  expect(await labels(database, 'explore.party_labels_at(1)')).toEqual(expected);
  const each = await database.query(
    `select explore.party_label('${ann}') as ann, explore.party_label('${ben}') as ben, explore.party_label('x::1220') as x,
            explore.party_label(null) as nothing`,
  );
  expect(each).toEqual([{ ann: 'ann.cns', ben: 'Ben of First', x: null, nothing: null }]);
});

it('an ANS name counts until its expiry, and only while the contract is active', async () => {
  await using database = await createReadDatabase();
  const expiresAt = '2026-08-14T12:00:00.500000Z';
  await database.write(
    frames.transaction(1, [license('001', validator), ansEntry('00a1', ann, 'ann.cns', { expiresAt, nodeId: 1 })], {
      effectiveAt: '2026-08-14T11:00:00Z',
    }),
    frames.transaction(2, [ansEntry('00b1', ben, 'ben.cns')], { effectiveAt: '2026-08-14T12:00:00Z' }),
    frames.transaction(3, [ansEntry('00c1', cyd, 'cyd.cns')], { effectiveAt: '2026-08-14T12:00:00.500000Z' }),
    frames.transaction(4, [exercisedEvent('00b1', 'Ans:AnsEntry', 'AnsEntry_Expire', { consuming: true })], {
      effectiveAt: '2026-08-14T13:00:00Z',
    }),
  );
  const at = async (time: string): Promise<readonly unknown[]> =>
    (await database.query(`select label from explore.ans_labels('${time}') order by 1`)).map((row) => row['label']);
  expect(await at('2026-08-14T12:00:00.499999Z')).toEqual(['ann.cns', 'cyd.cns']);
  expect(await at('2026-08-14T12:00:00.500000Z')).toEqual(['cyd.cns']);
  expect(await at('2100-01-01T00:00:00Z')).toEqual([]);
  const atOffsets = [];
  for (const offset of [1, 2, 3, 4])
    atOffsets.push(await labels(database, `explore.party_labels_at(${String(offset)})`));
  expect(atOffsets).toEqual([
    ['ann ann.cns ans 1'],
    ['ann ann.cns ans 1', 'ben ben.cns ans 1'],
    ['ben ben.cns ans 1', 'cyd cyd.cns ans 1'],
    ['cyd cyd.cns ans 1'],
  ]);
  await expect(labels(database, 'explore.party_labels_at(9)')).rejects.toMatchObject({ code: 'LI003' });
});

it('an entry gives no label if the DSO or the user did not sign it, or if its name or time is not valid', async () => {
  await using database = await createReadDatabase();
  const entries = [
    ansEntry('0001', 'one::12', 'one', { signatories: ['one::12'] }),
    ansEntry('0002', 'two::12', 'two', { signatories: [dso] }),
    ansEntry('0003', 'three::12', 'three', { payload: { dso: ann }, signatories: [ann, 'three::12'] }),
    ansEntry('0004', 'four::12', 'fo\u202eur'),
    ansEntry('0005', 'five::12', 'f\u00efve'),
    ansEntry('0006', 'six::12', 'x'.repeat(101)),
    ansEntry('0007', 'seven::12', 'seven', { expiresAt: '2100-02-30T00:00:00Z' }),
    ansEntry('0008', 'eight::12', 'eight', { expiresAt: 'infinity' }),
    ansEntry('0009', 'nine::12', 'nine', { payload: { name: { text: 'nine' } } }),
    ansEntry('0010', 'ten::12', 'ten', { otherPackage: { packageId: foreign, packageName: 'another-package' } }),
    ansEntry('0011', dso, 'eleven', { signatories: [dso] }),
    ansEntry('0012', 'twelve::12', 'twelve', { expiresAt: '2096-02-29T23:59:59Z' }),
    ansEntry('0013', 'thirteen::12', 'thirteen ok'),
  ];
  await database.write(
    frames.transaction(1, [license('00f1', validator), ...entries.map((entry, at) => withNode(entry, at + 1))]),
  );
  expect(await labels(database)).toEqual(['thirteen thirteen ok ans 1', 'twelve twelve ans 1']);
});

/** The event with another number of its node. */
function withNode(event: frames.JsonRecord, nodeId: number): frames.JsonRecord {
  return { CreatedEvent: { ...(event['CreatedEvent'] as frames.JsonRecord), nodeId } };
}

it('entries count only if exactly one DSO has signed licenses, or the operator names one', async () => {
  await using database = await createReadDatabase();
  await database.write(frames.transaction(1, [ansEntry('00a1', ann, 'ann.cns')]));
  expect(await labels(database)).toEqual([]);
  // A license with the DSO as an unsigned field does not count.
  const unsigned = license('00f0', validator, 0, cyd);
  const event = unsigned['CreatedEvent'] as frames.JsonRecord;
  const payload = { dso: ben, validator, sponsor: validator };
  await database.write(frames.transaction(2, [{ CreatedEvent: { ...event, createArgument: payload } }]));
  expect(await labels(database)).toEqual([]);
  await database.write(frames.transaction(3, [license('00f1', validator)]));
  expect(await labels(database)).toEqual(['ann ann.cns ans 1']);
  await database.write(frames.transaction(4, [license('00f2', validator, 0, ben)]));
  expect(await labels(database)).toEqual([]);
  await database.query(
    `insert into party_labels (party, source, label, is_dso) values ('${dso}', 'file', 'The DSO', true)`,
  );
  expect(await labels(database)).toEqual(['DSO The DSO file file 1', 'ann ann.cns ans 1']);
});

it('instrument_labels takes the first source in alphabetical order', async () => {
  await using database = await createReadDatabase();
  await database.query(
    `insert into instrument_labels (admin, instrument_id, source, name, symbol, decimals) values
       ('${dso}', 'Amulet', 'b', 'Canton Coin', 'CC', 10), ('${dso}', 'Amulet', 'c', 'Other', null, null),
       ('${ann}', 'Amulet', 'c', 'Of Ann', null, 2)`,
  );
  const rows = await database.query('select * from explore.instrument_labels order by name');
  expect(rows).toEqual([
    {
      instrument_admin: dso,
      instrument_id: 'Amulet',
      name: 'Canton Coin',
      symbol: 'CC',
      decimals: 10,
      source: 'b',
      note: null,
    },
    {
      instrument_admin: ann,
      instrument_id: 'Amulet',
      name: 'Of Ann',
      symbol: null,
      decimals: 2,
      source: 'c',
      note: null,
    },
  ]);
  const [one] = await database.query(
    `select explore.instrument_label('${dso}', 'Amulet') as known, explore.instrument_label('${dso}', 'x') as unknown`,
  );
  expect(one).toEqual({ known: 'Canton Coin', unknown: null });
});
