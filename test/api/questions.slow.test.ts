/** Seven questions that operators of this network ask, as requests and as SQL with the same role. */
import { DatabaseError } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { ApiWorld, type ApiReader } from './api-world.ts';

interface Question {
  readonly name: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** SQL with the columns of the answer that are compared. Numbers are compared by value. */
  readonly sql: string;
  /** Whether a reader of one party sees rows too. */
  readonly isPrivate: boolean;
}

let world: ApiWorld;
let everyone: ApiReader;
let owner = '';
/** Holds tokens too. */
let otherOwner = '';
let provider = '';

beforeAll(async () => {
  world = await ApiWorld.open('demo');
  everyone = await world.reader();
  const balances = await world.sql(
    'select owner from explore.token_balances where locked > 0 group by owner order by sum(holdings) desc, owner limit 2',
  );
  [owner = '', otherOwner = ''] = balances.map((balance) => String(balance['owner']));
  const [purchase] = await world.sql(
    'select provider from explore.traffic_purchases group by 1 order by count(*) desc limit 1',
  );
  provider = String(purchase?.['provider']);
});
afterAll(() => world[Symbol.asyncDispose]());

function questions(holder = owner): readonly Question[] {
  return [
    {
      name: 'every create and archive of a holding of a party',
      path: '/api/holding-events',
      parameters: { party: holder, where: `cause in ('created', 'archived')` },
      sql: `select "offset", node_id, contract_id, cause, instrument_id, amount from explore.token_holding_log('${holder}')
             where cause in ('created', 'archived') order by "offset", node_id, contract_id, cause`,
      isPrivate: true,
    },
    {
      name: 'unlocked holdings of a party by instrument',
      path: '/api/balances',
      parameters: { owner: holder },
      sql: `select instrument_admin, instrument_id, sum(amount) filter (where not is_locked) as unlocked, count(*) as holdings
              from explore.token_holdings where owner = '${holder}' group by owner, provider, account_id, 1, 2
             order by provider nulls first, account_id, 1, 2`,
      isPrivate: true,
    },
    {
      name: 'running total of traffic bought by a validator, and what it cost',
      path: '/api/traffic-totals',
      parameters: { provider },
      sql: `select "offset", bytes, amulet_burnt, sum(bytes) over so_far as bytes_so_far,
                   sum(amulet_burnt) over so_far as amulet_so_far
              from explore.traffic_purchases where provider = '${provider}'
            window so_far as (order by "offset", dso, member_id, synchronizer_id, migration_id)
             order by "offset", dso, member_id, synchronizer_id, migration_id`,
      isPrivate: false,
    },
    {
      name: 'one row per heartbeat of a validator',
      path: '/api/validator-heartbeats',
      parameters: { choice: 'ValidatorLicense_ReportActive' },
      sql: `select "offset", node_id, validator, contract_id, new_contract_id from explore.validator_heartbeats
             where choice = 'ValidatorLicense_ReportActive' order by "offset", node_id`,
      isPrivate: false,
    },
    {
      name: 'every transfer of Amulet with sender, receivers and fees',
      path: '/api/amulet-transfers',
      parameters: {},
      sql: `select "offset", node_id, sender, receivers, holding_fees, output_fees, change_fee, fees
              from explore.amulet_transfers order by "offset", node_id`,
      isPrivate: false,
    },
    {
      name: 'every purchase of traffic: member, bytes, Amulet burnt',
      path: '/api/traffic-purchases',
      parameters: {},
      sql: `select "offset", member_id, bytes, amulet_burnt from explore.traffic_purchases
             order by "offset", dso, member_id, synchronizer_id, migration_id`,
      isPrivate: false,
    },
    {
      name: 'every validator license folded to one row per validator',
      path: '/api/validators',
      parameters: {},
      sql: `select validator, dso, status, licenses, last_round, contract_id from explore.validators
             order by validator collate "C", dso collate "C"`,
      isPrivate: false,
    },
  ];
}

/** Numbers are texts in answers and in the driver, with different zeros at their end. */
function comparable(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
}

function pathOf(path: string, parameters: Readonly<Record<string, string>>): string {
  return `${path}?${new URLSearchParams(parameters).toString()}`;
}

/** @returns number of rows; 0 if both refuse a party that the role does not see */
async function expectEqual({ path, parameters, sql }: Question, reader: ApiReader): Promise<number> {
  const expected = await world.sql(sql, reader.role).catch((error: unknown) => {
    if (error instanceof DatabaseError && error.code === '42704') return undefined;
    throw error;
  });
  if (expected === undefined) {
    expect((await world.get(pathOf(path, parameters), reader)).status).toBe(404);
    return 0;
  }
  const rows = await world.all(path, { ...parameters, limit: '50' }, reader);
  const selected = rows.map((row) =>
    Object.fromEntries(Object.keys(expected[0] ?? {}).map((name) => [name, comparable(row[name])])),
  );
  const plain = expected.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, comparable(value)])),
  );
  if (plain.length > 0) expect(selected).toEqual(plain);
  expect(rows).toHaveLength(plain.length);
  return rows.length;
}

describe('the seven questions', () => {
  it.each([0, 1, 2, 3, 4, 5, 6])('are answered as by SQL with the same role: question %i', async (index) => {
    const question = questions()[index];
    if (question === undefined) throw new Error('no question');
    expect(await expectEqual(question, everyone), question.name).toBeGreaterThan(0);
  });

  it('are answered with the rows of their parties to two readers', needs(limitsSkipReason), async () => {
    const readers = [await world.reader(owner), await world.reader(otherOwner)];
    for (const [index, reader] of readers.entries()) {
      const [own, other] = index === 0 ? [owner, otherOwner] : [otherOwner, owner];
      const ofOther = questions(other);
      for (const [number, question] of questions(own).entries()) {
        const count = await expectEqual(question, reader);
        if (question.isPrivate) expect(count, question.name).toBeGreaterThan(0);
        // Contracts of both parties are visible to each of them, so there may be rows.
        await expectEqual(ofOther[number] ?? question, reader);
      }
    }
    const [{ path, parameters } = { path: '', parameters: {} }] = questions(owner);
    const answers = await Promise.all(readers.map((reader) => world.get(pathOf(path, parameters), reader)));
    expect(answers[0]?.text).not.toBe(answers[1]?.text);
  });

  it('have no rows, not an error, for a template that was not seen yet, if the client accepts that', async () => {
    const template = 'not-yet:Deployed.Later:License';
    const { status, type, text } = await world.get(`/api/contracts?template=${template}`, everyone);
    expect([status, type]).toEqual([404, 'application/problem+json']);
    expect(JSON.parse(text)).toMatchObject({ code: 'NAME_UNKNOWN', nearest: expect.any(Array) as unknown });
    for (const path of ['/api/contracts', '/api/exercises']) {
      const page = await world.page(path, { template, allow_unseen: 'true', where: `template_fqn = 'x'` }, everyone);
      expect(page).toMatchObject({ rows: [], next: null, offset: world.sandbox.ledger.ledgerEnd() });
    }
    // A short name may be a mistake in any part.
    expect((await world.get('/api/contracts?template=License2&allow_unseen=true', everyone)).status).toBe(404);
    const party = 'unknown::1220ab';
    expect((await world.get(`/api/movements?party=${party}`, everyone)).status).toBe(404);
    expect(await world.page('/api/movements', { party, allow_unseen: 'true' }, everyone)).toMatchObject({ rows: [] });
  });
});
