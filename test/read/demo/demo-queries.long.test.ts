/**
 * Runs the numbered queries of docs/reference/pqs-functions.md on a month of the demo, with its templates and fields.
 * Expected results are derived from the indexed ledger. Queries of the history are in demo-queries-history.ts.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { interfaces, names } from '../../../packages/ledger-sandbox/src/demo/templates/names.ts';
import { licensingUpgrade } from '../../../packages/ledger-sandbox/src/demo/packages/applications.ts';
import type { Json } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import { parseNumeric } from '../../../packages/ledger-sandbox/src/wire/values.ts';
import { valueAt } from '../../../packages/ledger-sandbox/test/server/sockets.ts';
import { describeGeneratedTypes } from '../../codegen/demo-types.ts';
import { describeHistory } from './demo-queries-history.ts';
import { indexDemo, viewed, type DemoDatabase, type KnownContract, type World } from './demo-history.ts';

const amulet = 'splice-amulet:Splice.Amulet:Amulet';
const token = 'harbor-stablecoin:Harbor.StableCoin:Token';

let demo: DemoDatabase;
let world: World;
beforeAll(async () => {
  demo = await indexDemo();
  ({ world } = demo);
}, 240_000);
afterAll(() => demo[Symbol.asyncDispose]());

describeGeneratedTypes(() => demo);
describeHistory(() => demo);

const rows: DemoDatabase['query'] = (sql, ...values) => demo.query(sql, ...values);
/** The first column of all rows, sorted. */
async function column(sql: string, ...values: unknown[]): Promise<readonly string[]> {
  return (await rows(sql, ...values)).map((row) => String(Object.values(row)[0])).sort();
}
const ids = (contracts: readonly KnownContract[]): readonly string[] =>
  contracts.map(({ created }) => created.contractId).sort();
const units = (amount: unknown): bigint => parseNumeric(String(amount)) ?? 0n;
function first<T>(list: readonly T[]): T {
  const [firstElement] = list;
  if (firstElement === undefined) throw new Error('the demo has none');
  return firstElement;
}
/** Sums by key, in units of 10^-10. */
function sums<T>(
  list: readonly T[],
  key: (element: T) => unknown,
  amount: (element: T) => unknown,
): Map<string, bigint> {
  const sumsByKey = new Map<string, bigint>();
  for (const element of list)
    sumsByKey.set(String(key(element)), (sumsByKey.get(String(key(element))) ?? 0n) + units(amount(element)));
  return sumsByKey;
}
const text = (value: Json, ...path: string[]): string => String(valueAt(value, ...path));

describe('PQS queries on the demo', () => {
  it('return all contracts of a template (#1)', async () => {
    const resultRows = await rows(`select contract_id, payload from active($1)`, names.license);
    const payloads = new Map(resultRows.map((row) => [row['contract_id'], row['payload']]));
    expect(payloads).toEqual(
      new Map(world.active(names.license).map((license) => [license.created.contractId, license.payload])),
    );
    expect(payloads.size).toBeGreaterThan(20);
  });

  it('filter by payload field (#2) and id (#3), and check existence (#21)', async () => {
    const { payload, created } = first(world.active(names.license));
    const expected = world.active(names.license).filter((license) => license.payload['user'] === payload['user']);
    const sql = `select contract_id, payload from active($1) where payload->>'user' = $2`;
    expect(await column(sql, names.license, payload['user'])).toEqual(ids(expected));
    const byIdSql = `select contract_id, payload from active($1) where contract_id = $2`;
    expect(await rows(byIdSql, names.license, created.contractId)).toEqual([
      { contract_id: created.contractId, payload },
    ]);
    expect(await rows(byIdSql, names.install, created.contractId)).toEqual([]);
    const existsSql = `select 1 as one from active($1) where contract_id = $2 limit 1`;
    expect(await rows(existsSql, names.license, created.contractId)).toEqual([{ one: 1 }]);
  });

  it('join licenses with renewals and interface views of allocations (#4)', async () => {
    const sql = `select license.contract_id || coalesce(renewal.contract_id, '') || coalesce(allocation.contract_id, '')
      FROM active($1) license
      LEFT JOIN active($2) renewal ON license.payload->>'licenseNum' = renewal.payload->>'licenseNum'
      LEFT JOIN active($3) allocation
        ON renewal.payload->>'requestId' = allocation.payload->'allocation'->'settlement'->'settlementRef'->>'id'
      ORDER BY license.contract_id`;
    const renewals = world.active(names.renewalRequest);
    expect(renewals.length).toBeGreaterThan(0);
    const expected = world.active(names.license).flatMap((license) => {
      const matchingRenewals = renewals.filter(
        ({ payload }) => payload['licenseNum'] === license.payload['licenseNum'],
      );
      if (matchingRenewals.length === 0) return [license.created.contractId];
      return matchingRenewals.flatMap(({ created, payload }) => {
        const paidAllocations = world
          .views(interfaces.allocation)
          .filter(
            ({ view }) => valueAt(view, 'allocation', 'settlement', 'settlementRef', 'id') === payload['requestId'],
          );
        const contractIds = license.created.contractId + created.contractId;
        return paidAllocations.length === 0
          ? [contractIds]
          : paidAllocations.map(({ contractId }) => contractIds + contractId);
      });
    });
    expect(await column(sql, names.license, names.renewalRequest, interfaces.allocation)).toEqual(expected.sort());
  });

  it('return all contracts, including interface views (#5)', async () => {
    const expected = [
      ...ids(world.active('')),
      ...viewed.flatMap((name) => world.views(name).map((view) => view.contractId)),
    ];
    expect(await column(`select contract_id from (select * from active()) a`)).toEqual(expected.sort());
    const missingRows = await rows(`select template_fqn from active() where payload is null`);
    expect(missingRows).toEqual([]);
  });

  it('accept each of the three spellings of a template name (#6)', async () => {
    const expected = ids(world.active(names.license));
    for (const name of [names.license, 'Licensing.License:License', 'License']) {
      expect(await column(`select contract_id from active($1)`, name)).toEqual(expected);
    }
  });

  it('filter by nested paths (#7) and by a range of amounts (#34)', async () => {
    const amounts = world
      .active(amulet)
      .map((holding) => units(valueAt(holding.payload, 'amount', 'initialAmount')))
      .sort((a, b) => (a < b ? -1 : 1));
    const limit = amounts[Math.floor(amounts.length / 2)] ?? 0n;
    const { payload } = first(world.active(amulet));
    const round = text(payload, 'amount', 'createdAt', 'number');
    const expected = world
      .active(amulet)
      .filter(
        (holding) =>
          valueAt(holding.payload, 'amount', 'createdAt', 'number') === round &&
          units(valueAt(holding.payload, 'amount', 'initialAmount')) > limit / 100n,
      );
    const sql = `select contract_id from active('${amulet}')
      where payload->'amount'->'createdAt'->>'number' = $1 and (payload->'amount'->>'initialAmount')::decimal > $2::decimal / 1e12`;
    expect(await column(sql, round, String(limit))).toEqual(ids(expected));
    const rangeSql = `select contract_id from creates('${token}') where (payload->>'amount')::decimal between 15 and 350`;
    const createsInRange = world
      .creates(token)
      .filter(
        (holding) =>
          units(holding.payload['amount']) >= 15n * 10n ** 10n && units(holding.payload['amount']) <= 350n * 10n ** 10n,
      );
    expect(createsInRange.length).toBeGreaterThan(0);
    expect(await column(rangeSql)).toEqual(ids(createsInRange));
  });

  it('sum amounts by owner (#8), and by status (#12)', async () => {
    const sql = `select payload->>'owner' as owner, sum((payload->'amount'->>'initialAmount')::decimal) as sum
      from active('Splice.Amulet:Amulet') group by 1`;
    const rowsByOwner = new Map((await rows(sql)).map((row) => [row['owner'], units(row['sum'])]));
    const amountByOwner = sums(
      world.active(amulet),
      ({ payload }) => payload['owner'],
      ({ payload }) => valueAt(payload, 'amount', 'initialAmount'),
    );
    expect(rowsByOwner).toEqual(amountByOwner);
    const portfolio = `SELECT payload->>'featured' as status, COUNT(*), SUM((payload->>'amount')::numeric) FROM active($1) GROUP BY 1`;
    const coupons = world.active(names.appRewardCoupon);
    const couponsByStatus = sums(
      coupons,
      ({ payload }) => payload['featured'],
      ({ payload }) => payload['amount'],
    );
    const statusRows = await rows(portfolio, names.appRewardCoupon);
    expect(new Map(statusRows.map((row) => [row['status'], units(row['sum'])]))).toEqual(couponsByStatus);
    expect(statusRows.reduce((sum, row) => sum + Number(row['count']), 0)).toBe(coupons.length);
    expect(coupons.length).toBeGreaterThan(0);
  });

  it('join contracts of two templates at an earlier offset (#9)', async () => {
    const sql = `select ia.contract_id from active('AmuletTransferInstruction', $1) ia join active('LockedAmulet', $1) ip
      on ia.payload->>'lockedAmulet' = ip.contract_id`;
    const offset = Math.floor(world.end / 2);
    const lockedIds = new Set(ids(world.active(names.lockedAmulet, offset)));
    const expected = world
      .active('splice-amulet:Splice.AmuletTransferInstruction:AmuletTransferInstruction', offset)
      .filter(({ payload }) => lockedIds.has(text(payload, 'lockedAmulet')));
    expect(await column(sql, offset)).toEqual(ids(expected));
    expect(await column(sql, 1)).toEqual([]);
  });

  it('sum locked and free balances by instrument (#10)', async () => {
    const sql = `select holding.payload->'instrumentId'->>'id' as instrument,
      sum(CASE WHEN jsonb_typeof(holding.payload->'lock')='null' THEN (holding.payload->>'amount')::DECIMAL ELSE 0 END) as free,
      sum(CASE WHEN jsonb_typeof(holding.payload->'lock')<>'null' THEN (holding.payload->>'amount')::DECIMAL ELSE 0 END) as locked
      from active($1) holding group by 1`;
    const views = world.views(interfaces.holding).map(({ view }) => view);
    const amountsByOwner = (isFree: boolean): Map<string, bigint> =>
      sums(
        views,
        (view) => valueAt(view, 'instrumentId', 'id'),
        (view) => ((view['lock'] === null) === isFree ? view['amount'] : '0'),
      );
    const resultRows = await rows(sql, interfaces.holding);
    expect(new Map(resultRows.map((row) => [row['instrument'], units(row['free'])]))).toEqual(amountsByOwner(true));
    expect(new Map(resultRows.map((row) => [row['instrument'], units(row['locked'])]))).toEqual(amountsByOwner(false));
    expect(resultRows).toHaveLength(5);
  });

  it('join two interface views of one contract (#11)', async () => {
    const sql = `select holding.contract_id from active($1) holding
      INNER JOIN active($2) disclosure ON holding.contract_id = disclosure.contract_id
      where $3 = ANY(holding.signatories) and holding.witnesses && $4`;
    const { created } = first(world.active('harbor-stablecoin:Harbor.StableCoin:TokenRules'));
    const [admin = ''] = created.signatories;
    const columnValues = await column(sql, interfaces.transferFactory, interfaces.allocationFactory, admin, [
      admin,
      'nobody',
    ]);
    expect(columnValues).toEqual([created.contractId]);
  });

  it('return a contract of one package version (#13)', async () => {
    const sql = `select contract_id, package_version, payload->>'seats' as seats FROM active($1)
      WHERE package_id = $2 ORDER BY created_effective_at LIMIT 1`;
    const upgradedLicenses = world
      .active(names.license)
      .filter(({ created }) => created.templateId.startsWith(licensingUpgrade.id));
    const resultRow = first(await rows(sql, names.license, licensingUpgrade.id));
    expect(resultRow).toMatchObject({ package_version: '0.0.5', seats: '25' });
    expect(ids(upgradedLicenses)).toContain(resultRow['contract_id']);
  });

  it('filter by stakeholder and by contract key (#14)', async () => {
    const { created } = first(world.active(names.license));
    const [party = ''] = created.signatories;
    const sql = `select a.contract_id from active($1) a where stakeholders(a.*) @> array[$2]::text[]`;
    const expected = world.active(names.license).filter((license) => license.created.signatories.includes(party));
    expect(await column(sql, names.license, party)).toEqual(ids(expected));
    const account = first(world.active('sandbox-test:Keyed:Account')).created;
    const [bank = ''] = account.signatories;
    const key = JSON.stringify(account.contractKey);
    expect(await column(`${sql} and contract_key = $3::jsonb`, 'Account', bank, key)).toEqual([account.contractId]);
  });

  it('return contracts of a user or provider, with the creation time (#15)', async () => {
    const sql = `SELECT contract_id, payload, created_effective_at FROM active($1)
      WHERE payload->>'user' = $2 OR payload->>'provider' = $2`;
    const { payload } = first(world.active(names.install));
    const resultRows = await rows(sql, names.install, payload['provider']);
    expect(resultRows.map((row) => String(row['contract_id'])).sort()).toEqual(ids(world.active(names.install)));
    const times = new Map(world.active(names.install).map(({ created }) => [created.contractId, created.createdAt]));
    for (const row of resultRows) {
      expect(row['created_effective_at']).toEqual(new Date(times.get(String(row['contract_id'])) ?? ''));
    }
  });

  it('return open allocations of a venue (#16)', async () => {
    const { view } = first(world.views(interfaces.allocation));
    const executor = valueAt(view, 'allocation', 'settlement', 'executor');
    const expected = world
      .views(interfaces.allocation)
      .filter((allocation) => valueAt(allocation.view, 'allocation', 'settlement', 'executor') === executor);
    const sql = `select contract_id from active('splice-api-token-allocation-v1:Splice.Api.Token.AllocationV1:Allocation')
      WHERE payload->'allocation'->'settlement'->>'executor' = $1 AND archived_at_offset IS NULL`;
    expect(await column(sql, executor)).toEqual(expected.map(({ contractId }) => contractId).sort());
  });

  it('filter by JSON containment (#17), and by JSON path and signatory (#18)', async () => {
    const featuredCoupons = world.active(names.appRewardCoupon).filter(({ payload }) => payload['featured'] === true);
    const sql = `select contract_id from active('#${names.appRewardCoupon}') where payload @> '{"featured": true}'`;
    expect(await column(sql)).toEqual(ids(featuredCoupons));
    const rust = `SELECT * FROM active($1) WHERE payload #> $2 = $3 AND $4 = ANY(signatories) LIMIT $5`;
    const { payload } = first(world.active(token));
    const resultRows = await rows(rust, token, ['details', 'label'], '"EURX"', payload['owner'], 2);
    expect(resultRows.length).toBeGreaterThan(0);
    for (const row of resultRows) expect(valueAt(row['payload'], 'owner')).toBe(payload['owner']);
  });

  it('return the created event blob for disclosure (#23)', async () => {
    const sql = `select contract_id, payload::text, metadata from active($1) where payload->>'provider' = $2`;
    const { payload } = first(world.active(names.install));
    const resultRows = await rows(sql, names.install, payload['provider']);
    for (const row of resultRows) expect((row['metadata'] as Buffer).length).toBeGreaterThan(0);
    expect(resultRows).toHaveLength(world.active(names.install).length);
  });

  it('return counts and the newest offset for the page of an explorer (#35)', async () => {
    const sql = `select count(*), max(created_at_offset), max(created_effective_at) as at from active() where payload_type = 'template'`;
    const activeContracts = world.active('');
    expect(await rows(sql)).toMatchObject([
      {
        count: String(activeContracts.length),
        max: String(Math.max(...activeContracts.map(({ created }) => created.offset))),
      },
    ]);
    expect(await column('select count(*) from transactions')).toEqual([String(world.updates)]);
  });

  it('return the traffic bought by a member (#40), and the latest price (#41)', async () => {
    const bought = world.active(names.memberTraffic);
    const member = text(first(bought).payload, 'memberId');
    const sql = `select sum((payload->>'totalPurchased')::bigint) from active('MemberTraffic') where payload->>'memberId' = $1`;
    const total = bought
      .filter(({ payload }) => payload['memberId'] === member)
      .reduce((sum, { payload }) => sum + BigInt(text(payload, 'totalPurchased')), 0n);
    expect(await column(sql, member)).toEqual([String(total)]);
    const latestSql = `SELECT DISTINCT ON (payload->>'dso') payload->>'amuletPrice' FROM active('OpenMiningRound')
      ORDER BY payload->>'dso', payload->>'opensAt' DESC`;
    const rounds = world
      .active(names.openRound)
      .toSorted((a, b) => text(b.payload, 'opensAt').localeCompare(text(a.payload, 'opensAt')));
    expect(await column(latestSql)).toEqual([text(first(rounds).payload, 'amuletPrice')]);
  });
});
