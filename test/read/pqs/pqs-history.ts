/**
 * A small history with templates that public PQS applications query: registers, licenses, wallets, trades and names.
 */
import { expect } from 'vitest';
import type { ReadDatabase } from '../read-database.ts';
import { alice, bob, created, exercised, transaction, type Json, type JsonRecord } from '../../support/frames.ts';

export const packages = {
  register: 'a1'.repeat(32),
  licensing4: 'b1'.repeat(32),
  licensing5: 'b2'.repeat(32),
  amulet: 'c1'.repeat(32),
  holding: 'd1'.repeat(32),
  allocation: 'd2'.repeat(32),
  finance: 'e1'.repeat(32),
  names: 'f1'.repeat(32),
};
const packageNames: Readonly<Record<string, readonly [name: string, version: string]>> = {
  [packages.register]: ['register', '1.0.0'],
  [packages.licensing4]: ['quickstart-licensing', '0.0.4'],
  [packages.licensing5]: ['quickstart-licensing', '0.0.5'],
  [packages.amulet]: ['splice-amulet', '0.1.9'],
  [packages.holding]: ['splice-api-token-holding-v1', '1.0.0'],
  [packages.allocation]: ['splice-api-token-allocation-v1', '1.0.0'],
  [packages.finance]: ['finance', '2.0.0'],
  [packages.names]: ['names', '1.0.0'],
};
const disclosure = `${packages.finance}:Finance.Disclosure:IDisclosure`;
const holding = `${packages.holding}:Splice.Api.Token.HoldingV1:Holding`;
const allocation = `${packages.allocation}:Splice.Api.Token.AllocationV1:Allocation`;

type Change = JsonRecord & { readonly views?: Readonly<Record<string, JsonRecord>> };

function create(offset: number, name: string, contractId: string, payload: JsonRecord, change: Change = {}): Json {
  const { views = {}, ...otherFields } = change;
  const packageId = name.slice(0, 64);
  const interfaceViews = Object.entries(views as Record<string, JsonRecord>).map(([interfaceId, viewValue]) => ({
    interfaceId,
    viewStatus: { code: 0, message: '', details: [] },
    viewValue,
    implementationPackageId: packageId,
  }));
  const emptyKeyFields = { contractKey: null, contractKeyHash: '', observers: [], representativePackageId: packageId };
  const packageName = packageNames[packageId]?.[0] ?? '';
  const eventFields = { offset, contractId, templateId: name, createArgument: payload, packageName, interfaceViews };
  return { CreatedEvent: created({ ...emptyKeyFields, ...eventFields, createdAt: timeOf(offset), ...otherFields }) };
}

function exercise(offset: number, name: string, contractId: string, choice: string, change: JsonRecord = {}): Json {
  const packageName = packageNames[name.slice(0, 64)]?.[0] ?? '';
  const eventFields = { offset, contractId, templateId: name, packageName, choice, nodeId: 0, lastDescendantNodeId: 0 };
  return { ExercisedEvent: exercised({ ...eventFields, interfaceId: null, implementedInterfaces: [], ...change }) };
}

/** Ledger effective time of an offset: one minute per offset. */
export function timeOf(offset: number): string {
  return `2026-08-14T10:${String(offset).padStart(2, '0')}:00Z`;
}

const token = `${packages.register}:DA.Register:Token`;
const approval = `${packages.register}:DA.Register:IssuerApproval`;
const license4 = `${packages.licensing4}:Licensing.License:License`;
const license5 = `${packages.licensing5}:Licensing.License:License`;
const renewal = `${packages.licensing5}:Licensing.License:LicenseRenewalRequest`;
const trade = `${packages.finance}:Finance.Trade:Trade`;
const dvp = `${packages.finance}:AssetApp:ProposeSimpleDvP`;
const personTemplate = `${packages.names}:Names:Person`;
const nameInterface = `${packages.names}:Names:INameDocument`;

const tokenOf = (issuer: string, holder: string, quantity: string): JsonRecord => ({
  token: { issue: { issuer }, quantity },
  quantity,
  wallet: { holder },
});
const holdingOf = (owner: string, amount: string, lock: JsonRecord = {}): JsonRecord => ({
  owner,
  instrumentId: { admin: 'DSO', id: 'Amulet' },
  amount,
  ...lock,
});
const allocationOf = (executor: string, id: string): JsonRecord => ({
  allocation: { settlement: { executor, settlementRef: { id } }, transferLegId: 'leg0' },
  holdingCids: ['amulet-1'],
});

/** The events of each offset, beginning at offset 1. */
const history: readonly (readonly Json[])[] = [
  [create(1, token, 'token-1', tokenOf('foo', 'h1', '50.5'))],
  [create(2, token, 'token-2', tokenOf('foo', 'h2', '20.25'))],
  [create(3, token, 'token-3', tokenOf('bar', 'h1', '100.0'))],
  [create(4, approval, 'approval-1', { issuer: 'foo', status: 'Approved' })],
  [
    create(5, license4, 'license-1', { user: bob, admin: alice, licenseNum: '1' }, { observers: [bob] }),
    create(5, license4, 'license-2', { user: 'Carol', admin: alice, licenseNum: '2' }, { nodeId: 1 }),
  ],
  [create(6, license5, 'license-3', { user: bob, admin: 'Dave', licenseNum: '3', tier: 'gold' })],
  [create(7, renewal, 'renewal-1', { licenseNum: '1', requestId: 'r1', user: bob })],
  [
    create(
      8,
      `${packages.amulet}:Splice.AmuletAllocation:AmuletAllocation`,
      'allocation-1',
      { x: '1' },
      {
        views: { [allocation]: allocationOf('venue', 'r1') },
      },
    ),
  ],
  [
    create(
      9,
      `${packages.amulet}:Splice.Amulet:Amulet`,
      'amulet-1',
      { owner: alice },
      {
        views: { [holding]: holdingOf(alice, '10.5000000000'), [disclosure]: { observers: [bob] } },
      },
    ),
  ],
  [
    create(
      10,
      `${packages.amulet}:Splice.Amulet:LockedAmulet`,
      'locked-1',
      { owner: alice },
      {
        views: { [holding]: holdingOf(alice, '4.2500000000', { lock: { holders: ['DSO'] } }) },
      },
    ),
  ],
  [exercise(11, token, 'token-2', 'Archive', { choiceArgument: {}, exerciseResult: {} })],
  [
    create(
      12,
      trade,
      'trade-1',
      { status: 'Open', terms: { salePrice: '10.00' } },
      {
        contractKey: { id: 'k1' },
        contractKeyHash: 'AAEC',
      },
    ),
    create(12, trade, 'trade-2', { status: 'Open', terms: { salePrice: '2.5' } }, { nodeId: 1 }),
    create(12, trade, 'trade-3', { status: 'Settled', terms: { salePrice: '7' } }, { nodeId: 2 }),
  ],
  [create(13, dvp, 'dvp-1', { price: '1' }, { observers: [bob] })],
  [exercise(14, dvp, 'dvp-1', 'Accept', { choiceArgument: { toBeAllocated: 'amulet-1' }, actingParties: [bob] })],
  [create(15, personTemplate, 'name-1', { user_id: 'u1', name: 'Ann' })],
  [
    exercise(16, personTemplate, 'name-1', 'INameDocumentNameChange', {
      interfaceId: nameInterface,
      choiceArgument: { newName: 'Anna' },
      lastDescendantNodeId: 1,
    }),
    create(16, personTemplate, 'name-2', { user_id: 'u1', name: 'Anna' }, { nodeId: 1 }),
  ],
  [
    create(17, `${packages.amulet}:Splice.DecentralizedSynchronizer:MemberTraffic`, 'traffic-1', {
      member: 'PAR::p1',
      totalPurchased: '1000',
    }),
    create(
      17,
      `${packages.amulet}:Splice.DecentralizedSynchronizer:MemberTraffic`,
      'traffic-2',
      {
        member: 'PAR::p1',
        totalPurchased: '234',
      },
      { nodeId: 1 },
    ),
  ],
  [create(18, `${packages.finance}:Finance.Price:Price`, 'price-1', { instrumentId: 'Bond', price: '99', ts: '1' })],
  [create(19, `${packages.finance}:Finance.Price:Price`, 'price-2', { instrumentId: 'Bond', price: '101', ts: '2' })],
  [create(20, `${packages.names}:Names:Token`, 'other-token', { quantity: '1' })],
];

/** Writes the history and the package models. */
export async function writePqsHistory(database: ReadDatabase): Promise<void> {
  for (const [index, events] of history.entries()) {
    const offset = index + 1;
    await database.write(transaction(offset, [...events], { effectiveAt: timeOf(offset), recordTime: timeOf(offset) }));
  }
  for (const [id, [name, version]] of Object.entries(packageNames)) {
    const model = name === 'names' ? { templates: [unseenChoice], interfaces: [] } : { templates: [], interfaces: [] };
    await database.query(`insert into packages values ($1, $2, $3, '2.1', $4)`, [id, name, version, model]);
  }
  await database.query(
    `insert into omitted_fields select template_pk, '{"nulls": {"lock": null, "meta": null}}' from templates where entity_name = 'Holding'`,
  );
}

const unseenChoice = { moduleName: 'Names', entityName: 'Unseen', choices: [{ name: 'Never' }], implements: [] };

type Row = Readonly<Record<string, unknown>>;

/**
 * Rows of a query on schema `pqs`. Checks that the search path `pqs_multisync, pqs` returns the same rows, because no
 * contract here is on two synchronizers. Procedure calls run once.
 */
export async function queryBothPaths(database: ReadDatabase, sql: string, values: unknown[]): Promise<readonly Row[]> {
  await database.query('set search_path = pqs');
  const rows = await database.query<Row>(sql, values);
  if (/^\s*call\b/.test(sql)) return rows;
  await database.query('set search_path = pqs_multisync, pqs');
  const otherPathRows = await database.query<Row>(sql, values);
  // If all columns are selected, pqs_multisync returns more columns. Its reassignment counter is 0 before a create.
  const commonRows = rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([column]) => column !== 'reassignment_counter')),
  );
  expect(otherPathRows, 'on the search path pqs_multisync, pqs').toMatchObject(commonRows);
  return rows;
}
