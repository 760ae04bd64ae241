/** Tests transfers of Amulet by choices of the network, and burnt amounts, with frames of both package versions. */
import { expect, it } from 'vitest';
import * as frames from '../../support/frames.ts';
import { createReadDatabase } from '../read-database.ts';
import { exercisedEvent, dso, foreign, made, summary } from './network-frames.ts';

const { alice, bob } = frames;
const app = 'app::1220aa';
const rules = 'AmuletRules:AmuletRules';

function transfer(
  amounts: Readonly<Record<string, string>>,
  result: frames.Json,
  overrides: object = {},
): frames.JsonRecord {
  const outputs = Object.entries(amounts).map(([receiver, amount]) => ({
    receiver,
    amount,
    receiverFeeRatio: '0.0',
    lock: null,
  }));
  const argument = { transfer: { sender: alice, provider: app, inputs: [], outputs }, expectedDso: dso };
  return exercisedEvent('00rules', rules, 'AmuletRules_Transfer', { by: [alice], argument, result, ...overrides });
}

it('amulet_transfers and amulet_burns return exact amounts, fees and rewards', async () => {
  await using database = await createReadDatabase();
  let offset = 0;
  const update = async (...events: frames.Json[]): Promise<void> => {
    offset += 1;
    await database.write(frames.transaction(offset, events));
  };
  const fees = {
    holdingFees: '0.0000000001',
    outputFees: ['1234567890123456789012345678.0000000001', '0.5'],
    senderChangeFee: '0.0300000000',
  };
  const amounts = {
    inputAmuletAmount: '30',
    senderChangeAmount: '7',
    inputAppRewardAmount: '4',
    inputValidatorFaucetAmount: '2.85',
    inputValidatorRewardAmount: '3.85',
  };
  const round = { number: '9' };
  await update(
    transfer(
      { [bob]: '20.0000000001', [app]: '0.5' },
      { round, summary: summary({ ...fees, ...amounts }), createdAmulets: [] },
    ),
  );
  // This package version has no fees in its results.
  await update(transfer({ [bob]: '1' }, { round, createdAmulets: [] }));
  const balanceChanges = [alice, bob].map((party) => [
    party,
    { changeToInitialAmountAsOfRoundZero: '1', changeToHoldingFeesRate: '0' },
  ]);
  await update(
    exercisedEvent('00approval', 'AmuletRules:TransferPreapproval', 'TransferPreapproval_SendV2', {
      by: [alice],
      argument: {
        context: { externalPartyConfigState: '00config', featuredAppRight: null },
        sender: alice,
        amount: '12.5',
        inputs: [],
        description: 'rent',
      },
      result: { result: { round, summary: summary({ balanceChanges }) }, meta: null },
    }),
  );
  await update(transfer({ [bob]: '5' }, {}, { packageId: foreign, packageName: 'not-splice-amulet' }));
  expect(
    await database.query(
      `select "offset"::int, choice, dso, sender, provider, receivers, amounts::text[], amount, input_amount, change_amount, holding_fees,
              output_fees, change_fee, fees, app_rewards, validator_rewards, faucet_rewards, sv_rewards, amulet_price, round::int
         from explore.amulet_transfers order by 1`,
    ),
  ).toEqual([
    {
      offset: 1,
      choice: 'AmuletRules_Transfer',
      dso,
      sender: alice,
      provider: app,
      receivers: [bob, app],
      amounts: ['20.0000000001', '0.5'],
      amount: '20.5000000001',
      input_amount: '30',
      change_amount: '7',
      holding_fees: '0.0000000001',
      output_fees: '1234567890123456789012345678.5000000001',
      change_fee: '0.0300000000',
      fees: '1234567890123456789012345678.5300000002',
      app_rewards: '4',
      validator_rewards: '3.85',
      faucet_rewards: '2.85',
      sv_rewards: '0.0000000000',
      amulet_price: '0.1000000000',
      round: 9,
    },
    {
      offset: 2,
      choice: 'AmuletRules_Transfer',
      dso,
      sender: alice,
      provider: app,
      receivers: [bob],
      amounts: ['1'],
      amount: '1',
      input_amount: null,
      change_amount: null,
      holding_fees: null,
      output_fees: null,
      change_fee: null,
      fees: null,
      app_rewards: null,
      validator_rewards: null,
      faucet_rewards: null,
      sv_rewards: null,
      amulet_price: null,
      round: 9,
    },
    {
      offset: 3,
      choice: 'TransferPreapproval_SendV2',
      dso: null,
      sender: alice,
      provider: null,
      receivers: [bob],
      amounts: ['12.5'],
      amount: '12.5',
      input_amount: '0.0000000000',
      change_amount: '0.0000000000',
      holding_fees: '0.0000000000',
      output_fees: null,
      change_fee: '0.0000000000',
      fees: '0.0000000000',
      app_rewards: '0.0000000000',
      validator_rewards: '0.0000000000',
      faucet_rewards: '0.0000000000',
      sv_rewards: '0.0000000000',
      amulet_price: '0.1000000000',
      // The holding fees in the result do not belong to this transfer.
      round: null,
    },
  ]);
  await update(
    exercisedEvent('00rules', rules, 'AmuletRules_BuyMemberTraffic', {
      by: [app],
      argument: {
        provider: app,
        memberId: 'PAR::x',
        synchronizerId: frames.here,
        migrationId: '0',
        trafficAmount: '100',
      },
      result: { round, summary: summary({ outputFees: ['0.25'] }), amuletPaid: '60.0000000001' },
    }),
  );
  await update(
    exercisedEvent('00rules', rules, 'AmuletRules_CreateTransferPreapproval', {
      by: [app, bob],
      argument: { provider: app, receiver: bob },
      result: { amuletPaid: '2.5', transferResult: { summary: summary() } },
    }),
  );
  await update(
    made('00dust', 'Amulet:Amulet', { dso, owner: bob, amount: { initialAmount: '0.0000000003' } }),
    made(
      '00lock',
      'Amulet:LockedAmulet',
      { amulet: { dso, owner: alice, amount: { initialAmount: '0.0000000004' } }, lock: {} },
      1,
    ),
  );
  await update(
    exercisedEvent('00dust', 'Amulet:Amulet', 'Amulet_Expire', { consuming: true }),
    exercisedEvent('00lock', 'Amulet:LockedAmulet', 'LockedAmulet_ExpireAmuletV2', { consuming: true, nodeId: 1 }),
  );
  expect(
    await database.query(`select "offset"::int, party, reason, amount from explore.amulet_burns order by 1, 2, 3`),
  ).toEqual([
    { offset: 1, party: alice, reason: 'fees', amount: '1234567890123456789012345678.5300000002' },
    { offset: 5, party: app, reason: 'fees', amount: '0.2500000000' },
    { offset: 5, party: app, reason: 'traffic', amount: '60.0000000001' },
    { offset: 6, party: app, reason: 'preapproval', amount: '2.5' },
    { offset: 8, party: alice, reason: 'expired', amount: '0.0000000004' },
    { offset: 8, party: bob, reason: 'expired', amount: '0.0000000003' },
  ]);
});
