/** A role that is limited to parties sees of a table of active contracts what it sees of contracts. */
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { grantReader } from '../../src/store/readers/reader-role.ts';
import { query } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { first, openCase, wholeTemplate, type MaterializedCase } from './materialized-case.ts';

const role = `limited_${randomBytes(4).toString('hex')}`;
const password = 'geheim';
const server = process.env['TEST_POSTGRES_URL'] ?? '';
/** Roles limited to parties need Postgres 15. */
const [version] = await query(server, 'show server_version_num');
const canLimit = Number(version?.['server_version_num']) >= 150_000;

afterAll(async () => {
  if (canLimit) await query(server, `drop role if exists ${role}`);
});

function owned(offset: number, party: string): frames.JsonRecord {
  const contract = { offset, contractId: `of ${party}`, templateId: `${first}:Main:A`, interfaceViews: [] };
  return frames.transaction(offset, [
    { CreatedEvent: frames.created({ ...contract, signatories: [party], observers: [], witnessParties: [party] }) },
  ]);
}

async function seen({ history }: MaterializedCase, relation: string): Promise<readonly string[]> {
  const url = new URL(history.url);
  url.username = role;
  url.password = password;
  const client = new Client({ connectionString: url.href });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string }>(`select contract_id as id from typed.${relation} order by 1`);
    return rows.map(({ id }) => id);
  } finally {
    await client.end();
  }
}

const parties = [frames.alice, 'Eve::1220ee', frames.bob];
const limit = (test: MaterializedCase, ...of: readonly string[]): Promise<void> =>
  grantReader(test.database, { role, parties: of, password });

async function sees(test: MaterializedCase, ...of: readonly string[]): Promise<void> {
  const wanted = of.map((party) => `of ${party}`);
  expect(await seen(test, 'iou__a')).toEqual(wanted);
  expect(await seen(test, 'iou__a__active')).toEqual(wanted);
}

async function written(): Promise<MaterializedCase> {
  const test = await openCase();
  await test.history.write(...parties.map((party, index) => owned(index + 1, party)));
  return test;
}

describe.skipIf(!canLimit)('a role limited to parties', () => {
  it('sees only its own when the table is made after it, and when the view reads contracts again', async () => {
    await using test = await written();
    await test.sync([]);
    await limit(test, frames.alice);
    await test.sync(wholeTemplate);
    await test.fill();
    expect(await test.difference()).toMatchObject({ readsTable: true, rows: 3, differing: [] });
    await sees(test, frames.alice);
    await test.history.query('begin; truncate contracts, lifetimes; commit');
    await test.history
      .query(`insert into contracts (contract_id, "offset", node_id, origin, synchronizer_pk, template_pk,
                                signatories, observers, witness_parties)
                              values ('of Eve', 9, 0, 'create', 1, 1, '{Eve::1220ee}', '{}', '{Eve::1220ee}');
                              insert into lifetimes values ('of Eve', 1, 9, 1, null)`);
    expect((await test.difference()).rows).toBe(1);
    expect(await seen(test, 'iou__a')).toEqual([]);
  });

  it('sees only its own when it is made after the table, and what it is given later', async () => {
    await using test = await written();
    await test.sync(wholeTemplate);
    await test.fill();
    await limit(test, frames.alice);
    await sees(test, frames.alice);
    await limit(test, frames.alice, frames.bob);
    await sees(test, frames.alice, frames.bob);
    await test.history.write(owned(4, 'Zoe::1220ff'));
    await sees(test, frames.alice, frames.bob);
    await expect(seen(test, `iou__a where ledger.iou__a__active_fill(0, 9) > 0`)).rejects.toMatchObject({
      code: '42501',
    });
  });
});
