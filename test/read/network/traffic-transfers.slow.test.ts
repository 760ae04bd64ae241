/** Tests traffic that is bought by transfers of the token standard, and transfers that only resemble a purchase. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { grantReader } from '../../../src/store/roles/reader-role.ts';
import * as frames from '../../support/frames.ts';
import { createReadDatabase, type ReadDatabase } from '../read-database.ts';
import { exercisedEvent, dso, foreign, made, summary } from './network-frames.ts';

const traffic = 'DecentralizedSynchronizer:MemberTraffic';
const factory = 'ExternalPartyAmuletRules:ExternalPartyAmuletRules';
const sentinel = 'cip-xxx_traffic-purchase::1220000000000000000000000000000000000000000000000000000000000000abcd';
const member = 'PAR::node::1220ee';
const buyer = 'buyer::1220aa';
const prefix = 'splice.lfdecentralizedtrust.org';

let database: ReadDatabase;
let offset = 0;
beforeEach(async () => {
  offset = 0;
  database = await createReadDatabase();
});
afterEach(() => database[Symbol.asyncDispose]());

async function update(...events: frames.Json[]): Promise<void> {
  offset += 1;
  await database.write(frames.transaction(offset, events));
}

const memo = (bytes: string, migration = '3'): string =>
  `memberId=${member}&synchronizerId=${frames.here}&migrationId=${migration}&trafficAmount=${bytes}`;

interface Transfer {
  readonly receiver?: frames.Json;
  readonly sender?: frames.Json;
  readonly reason?: string;
  readonly output?: frames.JsonRecord;
  readonly burned?: string;
  readonly last?: number;
  readonly nodeId?: number;
  readonly more?: object;
}
const completedResult = (...receiverHoldingCids: string[]): frames.JsonRecord => ({
  tag: 'TransferInstructionResult_Completed',
  value: { receiverHoldingCids },
});

/** A transfer of Amulet by the transfer factory. */
function sent(transfer: Transfer = {}): frames.JsonRecord {
  const { receiver = sentinel, sender = buyer, reason = memo('5000000'), output = completedResult() } = transfer;
  const { burned = '7.5000000000', nodeId = 0, last = nodeId, more: extraFields = {} } = transfer;
  return exercisedEvent('00factory', factory, 'TransferFactory_Transfer', {
    by: [buyer],
    nodeId,
    last,
    argument: {
      expectedAdmin: dso,
      transfer: {
        sender,
        receiver,
        amount: '10.0000000000',
        instrumentId: { admin: dso, id: 'Amulet' },
        inputHoldingCids: ['00h'],
        meta: { values: { [`${prefix}/reason`]: reason } },
      },
      extraArgs: { context: { values: {} }, meta: { values: {} } },
    },
    result: { senderChangeCids: [], output, meta: { values: { [`${prefix}/burned`]: burned } } },
    ...extraFields,
  });
}

function bought(bytes: string, nodeId: number, acsDelta = true): frames.JsonRecord {
  const payload = {
    dso,
    memberId: member,
    synchronizerId: frames.here,
    migrationId: '3',
    totalPurchased: bytes,
    numPurchases: '1',
    amuletSpent: '7.5000000000',
    usdSpent: '0.3',
  };
  return made(`00t${String(offset)}${String(nodeId)}`, traffic, payload, nodeId, { acsDelta });
}

const purchases = (client = database): Promise<readonly object[]> =>
  client.query(
    `select "offset"::int, dso, member_id, synchronizer_id, migration_id::int as migration, purchases::int, bytes::text,
            amulet_burnt, usd_burnt, provider, round
       from explore.traffic_purchases order by 1`,
  );
const row = (index: number, bytes: string, overrides: object = {}): object => ({
  offset: index,
  dso,
  member_id: member,
  synchronizer_id: frames.here,
  migration: 3,
  purchases: 1,
  bytes,
  amulet_burnt: '7.5000000000',
  usd_burnt: '0.3',
  provider: buyer,
  round: null,
  ...overrides,
});

it('traffic_purchases includes purchases by transfer, in both versions of the token standard', async () => {
  await update(sent({ last: 1 }), bought('5000000', 1));
  const account = (owner: string): frames.JsonRecord => ({ owner, provider: null, id: '' });
  await update(sent({ last: 1, receiver: account(sentinel), sender: account(buyer) }), bought('5000000', 1));
  // The number of the CIP is not assigned yet, and the keys of a memo have any order. The buyer sees the contract as a
  // witness.
  const reorderedMemo = memo('6000000').split('&').toReversed().join('&');
  const receiver = sentinel.replace('xxx', '0131');
  await update(sent({ last: 1, receiver, reason: reorderedMemo }), bought('6000000', 1, false));
  // A transfer and the choice in one update, for one member, are one row.
  await update(
    sent({ last: 1 }),
    bought('5000000', 1),
    exercisedEvent('00rules', 'AmuletRules:AmuletRules', 'AmuletRules_BuyMemberTraffic', {
      by: [buyer],
      nodeId: 2,
      last: 3,
      argument: {
        provider: buyer,
        memberId: member,
        synchronizerId: frames.here,
        migrationId: '3',
        trafficAmount: '1',
        expectedDso: dso,
      },
      result: { round: { number: '7' }, summary: summary(), amuletPaid: '7.5' },
    }),
    bought('1', 3),
  );
  expect(await purchases()).toEqual([
    row(1, '5000000'),
    row(2, '5000000'),
    row(3, '6000000'),
    row(4, '5000001', { purchases: 2, amulet_burnt: '15.0000000000', usd_burnt: '0.6', round: '7' }),
  ]);
  const burns = await database.query(
    `select "offset"::int, party, reason, amount from explore.amulet_burns where reason = 'traffic' order by 1`,
  );
  expect(burns).toEqual(
    ['7.5000000000', '7.5000000000', '7.5000000000', '15.0000000000'].map((amount, index) => ({
      offset: index + 1,
      party: buyer,
      reason: 'traffic',
      amount,
    })),
  );
});

it('traffic_purchases returns a purchase to a role that can read only its transfer', async () => {
  await update(sent({ last: 1 }), bought('5000000', 1));
  await update(sent({ receiver: 'somebody::1220ff', output: completedResult('00x') }));
  const owner = openDatabase({
    url: database.url,
    schema: 'ledger',
    statementTimeoutMs: 60_000,
    applicationName: 'test',
  });
  await grantReader(owner, { role: 'buyer_only', password: undefined, parties: [buyer] });
  await owner.close();
  await database.query('set role buyer_only');
  expect(await purchases()).toEqual([row(1, '5000000', { usd_burnt: null })]);
  await database.query('reset role');
  await database.query('drop owned by buyer_only; drop role buyer_only');
});

it('traffic_purchases returns no provider for transfers that only resemble a purchase', async () => {
  // A party with a similar name. The transfer to it is pending or creates a holding.
  const usedMemo = 'cip-1_traffic-purchase::1220abcd';
  const pending = { tag: 'TransferInstructionResult_Pending', value: { transferInstructionCid: '00i' } };
  await update(sent({ receiver: usedMemo, output: pending }), bought('1', 1));
  await update(sent({ receiver: usedMemo, output: completedResult('00h') }), bought('2', 1));
  // An unrelated memo, and a memo with a word in place of a number. The traffic contract still counts.
  await update(sent({ reason: 'rent 4711' }), bought('3', 1));
  await update(sent({ reason: memo('many') }), bought('4', 1));
  // A transfer by the factory of a package with another name.
  const foreignFields = { packageId: foreign, packageName: 'not-splice-amulet' };
  await update(sent({ more: foreignFields }), bought('5', 1));
  expect(await purchases()).toEqual(
    ['1', '2', '3', '4', '5'].map((bytes, index) => row(index + 1, bytes, { provider: null })),
  );
});

it.each([
  [memo('5000000'), 5_000_000],
  [`trafficAmount=1&migrationId=0&memberId=m&synchronizerId=s`, 1],
  [memo('+5'), 5],
  [memo('-5'), undefined],
  [memo('5.5'), undefined],
  [memo('99999999999999999999'), undefined],
  [memo('5', 'x'), undefined],
  ['memberId=m&synchronizerId=s&migrationId=0', undefined],
  ['memberId=&synchronizerId=s&migrationId=0&trafficAmount=1', undefined],
  ['xmemberId=m&synchronizerId=s&migrationId=0&trafficAmount=1', undefined],
  ['', undefined],
])('explore.traffic_memo parses the memo "%s", or returns no row if it is invalid', async (text, bytes) => {
  const rows = await database.query<{ bytes: number }>(`select bytes::int from explore.traffic_memo($1)`, [text]);
  expect(rows.map((expectedRow) => expectedRow.bytes)).toEqual(bytes === undefined ? [] : [bytes]);
});
