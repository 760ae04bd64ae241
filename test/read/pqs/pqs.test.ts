/**
 * Runs the unchanged queries of public PQS applications on both search paths. The numbers refer to
 * docs/reference/pqs-functions.md.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alice, bob } from '../../support/frames.ts';
import { queryBothPaths, packages, writePqsHistory } from './pqs-history.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';

let database: ReadDatabase;
beforeAll(async () => {
  database = await createReadDatabase();
  await writePqsHistory(database);
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

const license = 'quickstart-licensing:Licensing.License:License';
const holding = 'splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding';
const allocation = 'splice-api-token-allocation-v1:Splice.Api.Token.AllocationV1:Allocation';

async function rows(sql: string, ...values: unknown[]): Promise<readonly Record<string, unknown>[]> {
  return await queryBothPaths(database, sql, values);
}
/** The first column of every row. */
async function column(sql: string, ...values: unknown[]): Promise<readonly unknown[]> {
  return (await rows(sql, ...values)).map((row) => Object.values(row)[0]);
}

describe('PQS queries', () => {
  it('return all contracts of a template (#1)', async () => {
    expect(await rows(`select contract_id, payload from active($1) order by 1`, license)).toEqual([
      { contract_id: 'license-1', payload: { user: bob, admin: alice, licenseNum: '1' } },
      { contract_id: 'license-2', payload: { user: 'Carol', admin: alice, licenseNum: '2' } },
      { contract_id: 'license-3', payload: { user: bob, admin: 'Dave', licenseNum: '3', tier: 'gold' } },
    ]);
  });

  it('filter by a payload field (#2)', async () => {
    expect(await column(`select contract_id from active($1) where payload->>'user' = $2`, license, 'Carol')).toEqual([
      'license-2',
    ]);
  });

  it('return a contract by its id (#3)', async () => {
    const sql = `select contract_id, payload from active($1) where contract_id = $2`;
    expect(await rows(sql, license, 'license-2')).toMatchObject([{ contract_id: 'license-2' }]);
    expect(await rows(sql, license, 'token-1')).toEqual([]);
  });

  it('join licenses with renewals and interface views of allocations (#4)', async () => {
    const sql = `select license.contract_id, renewal.contract_id as renewal, allocation.contract_id as allocation
      from active($1) license
      left join active($2) renewal on license.payload->>'licenseNum' = renewal.payload->>'licenseNum'
      left join active($3) allocation
        on renewal.payload->>'requestId' = allocation.payload->'allocation'->'settlement'->'settlementRef'->>'id'
      order by license.contract_id`;
    expect(
      await rows(sql, license, 'quickstart-licensing:Licensing.License:LicenseRenewalRequest', allocation),
    ).toEqual([
      { contract_id: 'license-1', renewal: 'renewal-1', allocation: 'allocation-1' },
      { contract_id: 'license-2', renewal: null, allocation: null },
      { contract_id: 'license-3', renewal: null, allocation: null },
    ]);
  });

  it('return all contracts, including interface views (#5)', async () => {
    const activeRows = await rows('select * from active() order by contract_id');
    expect(activeRows.map((row) => row['contract_id'])).toEqual(
      ['allocation-1', 'allocation-1', 'amulet-1', 'amulet-1', 'amulet-1', 'approval-1', 'license-1', 'license-2']
        .concat(['license-3', 'locked-1', 'locked-1', 'name-2', 'other-token', 'price-1', 'price-2', 'renewal-1'])
        .concat(['token-1', 'token-3', 'trade-1', 'trade-2', 'trade-3', 'traffic-1', 'traffic-2']),
    );
    expect(Object.keys(activeRows[0] ?? {}).slice(0, 7)).toEqual(
      [
        'template_fqn',
        'payload_type',
        'create_event_pk',
        'create_event_id',
        'created_at_ix',
        'created_at_offset',
      ].concat(['archive_event_pk']),
    );
    const [amulet] = await rows(`select *, create_event_id::text as event from active('Amulet')`);
    expect(amulet).toMatchObject({
      template_fqn: 'splice-amulet:Splice.Amulet:Amulet',
      payload_type: 'template',
      event: '(9,0)',
      created_at_ix: '9',
      created_at_offset: '9',
      archive_event_id: null,
      archived_at_offset: null,
      life_ix: '[9,)',
      created_effective_at: new Date('2026-08-14T10:09:00Z'),
      package_name: 'splice-amulet',
      package_version: '0.1.9',
      package_id: packages.amulet,
      creation_package_id: packages.amulet,
      signatories: [alice],
      witnesses: [alice],
      divulged_only: false,
      update_id: '12200009',
      record_time: new Date('2026-08-14T10:09:00Z'),
      synchronizer_id: 'here::1220cc',
    });
  });

  it.each(['register:DA.Register:IssuerApproval', 'DA.Register:IssuerApproval', 'IssuerApproval'])(
    'accept the template name %s (#6)',
    async (name) => {
      expect(await column(`select contract_id from active($1)`, name)).toEqual(['approval-1']);
    },
  );

  it('filter by nested paths and numbers (#7)', async () => {
    const sql = `select contract_id from active('register:DA.Register:Token')
      where payload->'token'->'issue'->>'issuer' = 'foo' and (payload->'token'->>'quantity')::decimal > 42`;
    expect(await column(sql)).toEqual(['token-1']);
  });

  it('sum amounts by holder (#8)', async () => {
    const sql = `select payload->'wallet'->>'holder' as holder, sum((payload->'token'->>'quantity')::decimal) as sum
      from active('DA.Register:Token') group by 1 order by 1`;
    expect(await rows(sql)).toEqual([{ holder: 'h1', sum: '150.5' }]);
  });

  it('join contracts of two templates at an earlier offset (#9)', async () => {
    const sql = `select ip.contract_id from active('IssuerApproval', $1) ia join active('DA.Register:Token', $1) ip
      on ip.payload->'token'->'issue'->>'issuer' = ia.payload->>'issuer' order by 1`;
    expect(await column(sql, 10)).toEqual(['token-1', 'token-2']);
    expect(await column(sql, 11)).toEqual(['token-1']);
    expect(await column(sql, 3)).toEqual([]);
  });

  it('sum locked and free balances from views with explicit nulls (#10)', async () => {
    const sql = `select holding.payload->'instrumentId'->>'id' as instrument,
      sum(case when jsonb_typeof(holding.payload->'lock') = 'null' then (holding.payload->>'amount')::decimal else 0 end) as free,
      sum(case when jsonb_typeof(holding.payload->'lock') <> 'null' then (holding.payload->>'amount')::decimal else 0 end) as locked
      from active($1) holding where holding.payload->>'owner' = $2 group by 1`;
    expect(await rows(sql, holding, alice)).toEqual([
      { instrument: 'Amulet', free: '10.5000000000', locked: '4.2500000000' },
    ]);
  });

  it('join two interface views of one contract (#11)', async () => {
    const sql = `select holding.contract_id from active($1) holding
      inner join active($2) disclosure on holding.contract_id = disclosure.contract_id
      where $3 = any(holding.signatories) and holding.witnesses && $4 and disclosure.payload->'observers' ? $5`;
    expect(await column(sql, holding, 'Finance.Disclosure:IDisclosure', alice, [alice, 'x'], bob)).toEqual([
      'amulet-1',
    ]);
  });

  it('count and sum contracts by status (#12)', async () => {
    const sql = `select payload->>'status' as status, count(*), sum((payload->'terms'->>'salePrice')::numeric) as sum
      from active($1) group by 1 order by 1`;
    expect(await rows(sql, 'Finance.Trade:Trade')).toEqual([
      { status: 'Open', count: '2', sum: '12.50' },
      { status: 'Settled', count: '1', sum: '7' },
    ]);
  });

  it('return a contract of one package version (#13)', async () => {
    const sql = `select contract_id, package_version from active($1) where package_id = $2 order by created_effective_at limit 1`;
    expect(await rows(sql, license, packages.licensing5)).toEqual([
      { contract_id: 'license-3', package_version: '0.0.5' },
    ]);
  });

  it('filter by stakeholder and by contract key (#14)', async () => {
    const sql = `select a.contract_id from active($1) a where stakeholders(a.*) @> array[$2]::text[]`;
    expect(await column(sql, license, bob)).toEqual(['license-1']);
    expect(await column(`${sql} and contract_key = $3::jsonb`, 'Trade', alice, '{"id": "k1"}')).toEqual(['trade-1']);
  });

  it('return contracts of a user or an admin, with the creation time (#15)', async () => {
    const sql = `select contract_id, payload, created_effective_at from active($1)
      where payload->>'user' = $2 or payload->>'admin' = $2 order by created_effective_at`;
    expect(await rows(sql, license, 'Dave')).toMatchObject([
      { contract_id: 'license-3', created_effective_at: new Date('2026-08-14T10:06:00Z') },
    ]);
  });

  it('return open allocations of a venue (#16)', async () => {
    const sql = `select contract_id from active('${allocation}')
      where payload->'allocation'->'settlement'->>'executor' = $1 and archived_at_offset is null`;
    expect(await column(sql, 'venue')).toEqual(['allocation-1']);
  });

  it('filter by JSON containment, with # before the template name (#17)', async () => {
    const sql = `select contract_id from active('#finance:Finance.Trade:Trade') where payload @> '{"status": "Open"}' order by 1`;
    expect(await column(sql)).toEqual(['trade-1', 'trade-2']);
  });

  it('filter by JSON path and signatory, as the Rust client does (#18)', async () => {
    const sql = `select * from active($1) where payload #> $2 = $3 and $4 = any(signatories) limit $5`;
    expect(await rows(sql, 'Trade', ['terms', 'salePrice'], '"2.5"', alice, 5)).toMatchObject([
      { contract_id: 'trade-2' },
    ]);
  });

  it('check whether a contract exists (#21)', async () => {
    const sql = `select 1 as one from active($1) where contract_id = $2 limit 1`;
    expect(await rows(sql, license, 'license-1')).toEqual([{ one: 1 }]);
    expect(await rows(sql, license, 'none')).toEqual([]);
  });

  it('return the created event blob for disclosure (#23)', async () => {
    const sql = `select contract_id, payload::text, metadata from active('IssuerApproval') where payload->>'issuer' = $1`;
    expect(await rows(sql, 'foo')).toEqual([
      {
        contract_id: 'approval-1',
        payload: '{"issuer": "foo", "status": "Approved"}',
        metadata: Buffer.from([0, 0, 0]),
      },
    ]);
  });

  it('return counts and the newest offset for the page of an explorer (#35)', async () => {
    const sql = `select count(*), max(created_at_offset), max(created_effective_at) as at from active()`;
    expect(await rows(sql)).toEqual([{ count: '23', max: '20', at: new Date('2026-08-14T10:20:00Z') }]);
    expect(await column('select count(*) from transactions')).toEqual(['20']);
  });

  it('return the traffic bought by a member (#40)', async () => {
    const sql = `select sum((payload->>'totalPurchased')::bigint) from active('MemberTraffic') where payload->>'member' = $1`;
    expect(await column(sql, 'PAR::p1')).toEqual(['1234']);
  });

  it('return the latest price as of an offset (#41)', async () => {
    const sql = `select distinct on (payload->>'instrumentId') payload->>'price' as price from active('Price', $1)
      order by payload->>'instrumentId', payload->>'ts' desc`;
    expect(await column(sql, 20)).toEqual(['101']);
    expect(await column(sql, 18)).toEqual(['99']);
  });
});
