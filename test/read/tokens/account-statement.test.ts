/**
 * Tests the kinds of changes, the prices of Amulet and the values in US dollars in account statements, with frames of
 * splice-amulet whose kinds, prices and amounts are chosen here.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fillAll } from '../../projections/projected.ts';
import * as frames from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import { dso, exercisedEvent, foreign, gone, made, summary } from '../network/network-frames.ts';

const { alice, bob } = frames;
const rules = 'AmuletRules:AmuletRules';
const rewardInput = { tag: 'InputAppRewardCoupon', value: '00coupon' };
const trafficReceiver = 'cip-xxx_traffic-purchase::1220ab';
const memo = 'memberId=PAR::a::1220ab&synchronizerId=s::1220ab&migrationId=0&trafficAmount=5';

let database: ReadDatabase;
let offset = 0;

/** Writes one update, which becomes effective this many minutes after noon. Resolves to its offset. */
async function update(minute: number, ...events: frames.Json[]): Promise<number> {
  offset += 1;
  const at = new Date(Date.parse('2026-08-14T12:00:00Z') + minute * 60_000).toISOString();
  await database.write(frames.transaction(offset, events, { effectiveAt: at, recordTime: at }));
  return offset;
}

function amulet(
  contractId: string,
  owner: string,
  amount: string,
  nodeId: number,
  round = '0',
  lock: frames.Json = null,
) {
  const { CreatedEvent: event } = made(
    contractId,
    'Amulet:Amulet',
    { dso, owner, amount: { initialAmount: amount, createdAt: { number: round }, ratePerRound: { rate: '0.0' } } },
    nodeId,
    { signatories: [dso, owner] },
  ) as { CreatedEvent: frames.JsonRecord };
  const interfaceId = `${'cd'.repeat(32)}:Splice.Api.Token.HoldingV1:Holding`;
  const viewValue = { owner, amount, instrumentId: { admin: dso, id: 'Amulet' }, lock, meta: { values: {} } };
  const viewStatus = { code: 0, message: '', details: [] };
  return { CreatedEvent: { ...event, interfaceViews: [{ interfaceId, viewStatus, viewValue }] } };
}

function round(number: number, price: string, opensAt: string, nodeId = 0): frames.JsonRecord {
  const payload = { dso, round: { number: String(number) }, amuletPrice: price, opensAt };
  return made(`00round${String(number)}`, 'Round:OpenMiningRound', payload, nodeId);
}

const spent = (contractId: string, nodeId: number): frames.JsonRecord => gone(contractId, 'Amulet:Amulet', nodeId);

function transfer(
  receiver: string,
  last: number,
  {
    price,
    inputs = [],
    nodeId = 0,
  }: { readonly price?: string; readonly inputs?: frames.Json[]; readonly nodeId?: number },
): frames.JsonRecord {
  return exercisedEvent('00rules', rules, 'AmuletRules_Transfer', {
    by: [alice],
    nodeId,
    last,
    argument: {
      transfer: { sender: alice, provider: alice, inputs, outputs: [{ receiver, amount: '1' }] },
      expectedDso: dso,
    },
    result: price === undefined ? {} : { round: { number: '2' }, summary: summary({ amuletPrice: price }) },
  });
}

/** Rows of the statement of Alice at an offset: kind, other owners, net, price, its source, and US dollars. */
async function lines(at: number): Promise<unknown[]> {
  const rows = await database.query(
    `select kind, other_owners, trim_scale(net)::text as net, trim_scale(amulet_price)::text as price, price_source,
            trim_scale(usd)::text as usd
       from explore.account_statement($1, $2, $3) where kind not in ('opening', 'closing')`,
    [alice, at - 1, at],
  );
  return rows.map((row) => Object.values(row));
}

beforeAll(async () => {
  database = await createReadDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

describe('account_statement', () => {
  it('has no price before the first round opens', async () => {
    const at = await update(0, amulet('00a0', alice, '100', 0));
    expect(await lines(at)).toEqual([['received', null, '100', null, null, null]]);
  });

  it('uses the newest round that is open, although a later one exists', async () => {
    await update(1, round(1, '0.1', '2026-08-14T12:01:00Z'), round(2, '0.25', '2026-08-14T12:10:00Z', 1));
    const early = await update(5, spent('00a0', 0), amulet('00a1', alice, '60', 1), amulet('00b1', bob, '40', 2));
    expect(await lines(early)).toEqual([['sent', [bob], '-40', '0.1', 'open round', '-4']]);
    const later = await update(10, spent('00b1', 0), amulet('00a2', alice, '40', 1));
    expect(await lines(later)).toEqual([['received', [bob], '40', '0.25', 'open round', '10']]);
  });

  it('prefers the round that created the Amulet, if this round is open', async () => {
    const at = await update(
      11,
      spent('00a2', 0),
      amulet('00a3', alice, '30', 1, '1'),
      amulet('00b2', bob, '10', 2, '1'),
    );
    expect(await lines(at)).toEqual([['sent', [bob], '-10', '0.1', 'holding', '-1']]);
  });

  it('prefers the price that the choice reports, and rounds the value like the ledger', async () => {
    const at = await update(
      12,
      transfer(bob, 3, { price: '0.3333333333' }),
      spent('00a3', 1),
      amulet('00a4', alice, '28.5', 2, '1'),
      amulet('00b3', bob, '1.5', 3, '1'),
    );
    expect(await lines(at)).toEqual([['sent', [bob], '-1.5', '0.3333333333', 'choice', '-0.5']]);
  });

  it('uses the configuration that a transfer of the token standard names', async () => {
    await update(
      13,
      made('00config', 'ExternalPartyConfigState:ExternalPartyConfigState', { dso, amuletPrice: '0.7' }),
    );
    const context = { values: { 'external-party-config-state': { tag: 'AV_ContractId', value: '00config' } } };
    const transferArgument = {
      sender: alice,
      receiver: trafficReceiver,
      instrumentId: { admin: dso, id: 'Amulet' },
      amount: '3',
      meta: { values: { 'splice.lfdecentralizedtrust.org/reason': memo } },
    };
    const at = await update(
      14,
      exercisedEvent('00rules', 'ExternalPartyAmuletRules:ExternalPartyAmuletRules', 'TransferFactory_Transfer', {
        by: [alice],
        last: 2,
        argument: { expectedAdmin: dso, transfer: transferArgument, extraArgs: { context } },
      }),
      spent('00a4', 1),
      amulet('00a5', alice, '25.5', 2),
    );
    expect(await lines(at)).toEqual([['traffic', null, '-3', '0.7', 'configuration', '-2.1']]);
  });

  it('names a purchase of traffic, collected rewards and fees by their choices', async () => {
    const bought = await update(
      15,
      exercisedEvent('00rules', rules, 'AmuletRules_BuyMemberTraffic', {
        by: [alice],
        last: 2,
        argument: { provider: alice, expectedDso: dso },
        result: { amuletPaid: '5.5' },
      }),
      spent('00a5', 1),
      amulet('00a6', alice, '20', 2),
    );
    expect(await lines(bought)).toEqual([['traffic', null, '-5.5', '0.25', 'open round', '-1.375']]);
    const collected = await update(16, transfer(alice, 1, { inputs: [rewardInput] }), amulet('00a7', alice, '4', 1));
    expect(await lines(collected)).toEqual([['reward', null, '4', '0.25', 'open round', '1']]);
    const approved = await update(
      17,
      exercisedEvent('00rules', rules, 'AmuletRules_CreateTransferPreapproval', {
        by: [alice],
        last: 2,
        argument: { provider: alice, expectedDso: dso },
      }),
      spent('00a7', 1),
      amulet('00a8', alice, '3', 2),
    );
    expect(await lines(approved)).toEqual([['fee', null, '-1', '0.25', 'open round', '-0.25']]);
  });

  it('ignores such a choice of the same name with another DSO, or of another package', async () => {
    const mine = { by: [alice], last: 2, argument: { provider: alice, expectedDso: 'Mallory::1220ee' } };
    const other = await update(
      18,
      exercisedEvent('00rules', rules, 'AmuletRules_BuyMemberTraffic', mine),
      spent('00a8', 1),
      amulet('00a9', alice, '2', 2),
    );
    expect(await lines(other)).toEqual([['burn', null, '-1', '0.25', 'open round', '-0.25']]);
    const unrelated = await update(
      18,
      exercisedEvent('00rules', rules, 'AmuletRules_BuyMemberTraffic', {
        ...mine,
        argument: { provider: alice },
        packageId: foreign,
        packageName: 'mallory',
        result: { summary: { amuletPrice: '99' } },
      }),
      spent('00a9', 1),
      amulet('00aa', alice, '1', 2),
    );
    expect(await lines(unrelated)).toEqual([['burn', null, '-1', '0.25', 'open round', '-0.25']]);
  });

  it('names a burn or mint by the kind of transaction, or if all its consequences are visible, and otherwise not', async () => {
    const kindOf = (kind: string): frames.JsonRecord => ({
      meta: { values: { 'splice.lfdecentralizedtrust.org/tx-kind': kind } },
    });
    const inner = { by: [dso], nodeId: 5, last: 7 };
    const expired = await update(
      19,
      exercisedEvent('00x', rules, 'AmuletRules_Any', { ...inner, result: kindOf('expire-dust') }),
      spent('00aa', 6),
    );
    expect(await lines(expired)).toEqual([['burn', null, '-1', '0.25', 'open round', '-0.25']]);
    const minted = await update(
      19,
      exercisedEvent('00x', rules, 'AmuletRules_Any', { ...inner, result: kindOf('mint') }),
      amulet('00ab', alice, '8', 6),
    );
    expect(await lines(minted)).toEqual([['mint', null, '8', '0.25', 'open round', '2']]);
    // The first visible choice is not the first of the update, so the receiver may be invisible.
    const unproven = await update(
      19,
      exercisedEvent('00x', rules, 'AmuletRules_Any', inner),
      spent('00ab', 6),
      amulet('00ac', alice, '6', 7),
    );
    expect(await lines(unproven)).toEqual([['sent', null, '-2', '0.25', 'open round', '-0.5']]);
    // The receiver is visible, so the kind that the choice reports is wrong.
    const lied = await update(
      19,
      exercisedEvent('00x', rules, 'AmuletRules_Any', { last: 3, result: kindOf('burn') }),
      spent('00ac', 1),
      amulet('00ad', alice, '5', 2),
      amulet('00b9', bob, '1', 3),
    );
    expect(await lines(lied)).toEqual([['sent', [bob], '-1', '0.25', 'open round', '-0.25']]);
  });

  it('prefers the price of a transfer to that of a choice before it', async () => {
    const sum = { amuletSum: { amulet: '00af', amuletPrice: '0.2', round: { number: '1' } } };
    const at = await update(
      19,
      exercisedEvent('00locked', 'Amulet:LockedAmulet', 'LockedAmulet_Unlock', { by: [alice], result: sum }),
      transfer(bob, 4, { price: '0.4', nodeId: 1 }),
      spent('00ad', 2),
      amulet('00af', alice, '4', 3),
      amulet('00bc', bob, '1', 4),
    );
    expect(await lines(at)).toEqual([['sent', [bob], '-1', '0.4', 'choice', '-0.4']]);
  });

  it('has no price after the last round ended', async () => {
    await update(
      20,
      exercisedEvent('00round1', 'Round:OpenMiningRound', 'Archive', { consuming: true }),
      exercisedEvent('00round2', 'Round:OpenMiningRound', 'Archive', { consuming: true, nodeId: 1 }),
    );
    const at = await update(21, spent('00af', 0), amulet('00ae', alice, '3', 1), amulet('00ba', bob, '1', 2));
    expect(await lines(at)).toEqual([['sent', [bob], '-1', null, null, null]]);
  });

  it('begins and ends with the balances and their values at the prices of then', async () => {
    const rows = await database.query(
      `select kind, "offset"::integer, net::text, trim_scale(balance)::text as balance, trim_scale(usd)::text as usd
         from explore.account_statement($1, 3, 6) where kind in ('opening', 'closing')`,
      [alice],
    );
    expect(rows).toEqual([
      { kind: 'opening', offset: 3, net: '60', balance: '60', usd: '6' },
      { kind: 'closing', offset: 6, net: '0', balance: '88.5', usd: '29.499999997' },
    ]);
  });

  it('has the same rows if the transfers are stored', async () => {
    const computed = await database.query('select * from explore.account_statement($1)', [alice]);
    expect(await fillAll(database.url, 10)).toBeGreaterThan(0);
    expect(await database.query('select count(*)::integer as rows from ledger.projected_amulet_transfers')).toEqual([
      { rows: 3 },
    ]);
    expect(await database.query('select * from explore.account_statement($1)', [alice])).toEqual(computed);
  });
});
