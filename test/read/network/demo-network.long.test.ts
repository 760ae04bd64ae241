/**
 * Runs the documented statements about the network on a month of the demo. Their rows must equal values that are
 * computed from the updates of the ledger. Seven statements answer questions from public channels.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameOf } from '../../../packages/ledger-sandbox/src/demo/templates/funds.ts';
import { instrumentOf } from '../../../packages/ledger-sandbox/src/demo/templates/instruments.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../../packages/ledger-sandbox/src/server/sandbox.ts';
import { asList } from '../../../packages/ledger-sandbox/src/wire/json.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../../support/database.ts';
import { createMigratedDatabase } from '../../support/migrated-database.ts';
import { playDemo } from '../../support/demo-play.ts';
import { documentedQuery } from '../../docs/documented.ts';
import {
  coupons,
  decimal,
  NetworkModel,
  purchases,
  textOf,
  units,
  type Coupon,
  type ModelContract,
} from './demo-model.ts';

const seed = 23;

let sandbox: Sandbox;
let database: TestDatabase;
let model: NetworkModel;
beforeAll(async () => {
  sandbox = await startSandbox({ seed, limits: { checkpointIntervalMs: 50 } });
  playDemo(sandbox.ledger, seed);
  model = new NetworkModel(sandbox.ledger);
  database = await createMigratedDatabase(['ledger']);
  await using indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    INDEXER_START: 'genesis',
    LEDGER_INTERFACES: 'tokens',
  });
  await indexer.reaches(sandbox.ledger.ledgerEnd(), 120_000);
}, 240_000);
afterAll(async () => {
  await sandbox.close();
  await database.drop();
});

type Row = Readonly<Record<string, unknown>>;
const rows = (sql: string): Promise<readonly Row[]> => query(database.url, sql);
const sum = (list: readonly bigint[]): bigint => list.reduce((total, amount) => total + amount, 0n);

describe('documented network queries', () => {
  it('return created and ended holdings of a party (question 1)', async () => {
    const result = await rows(documentedQuery('Every create and archive of a holding of a party'));
    const [first] = await rows(`select owner from explore.token_balances order by owner limit 1`);
    const party = String(first?.['owner']);
    const holdingOwners = new Map<string, string>();
    const expected: string[] = [];
    for (const { offset, events } of model.transactions) {
      for (const event of events) {
        if ('CreatedEvent' in event) {
          const created = event.CreatedEvent;
          const facts = instrumentOf(nameOf(created), created.createArgument)?.read(created.createArgument);
          if (facts?.owner !== party) continue;
          holdingOwners.set(created.contractId, facts.amount);
          expected.push(`${String(offset)} created ${facts.amount} ${created.contractId}`);
        } else if ('ExercisedEvent' in event && event.ExercisedEvent.consuming) {
          const { contractId } = event.ExercisedEvent;
          const amount = holdingOwners.get(contractId);
          if (amount !== undefined) expected.push(`${String(offset)} archived -${amount} ${contractId}`);
        }
      }
    }
    const lines = result.map((row) =>
      [row['offset'], row['cause'], row['amount'], row['contract_id']].map(String).join(' '),
    );
    expect(lines).toEqual(expected);
    expect(expected.length).toBeGreaterThan(20);
  });

  it('return unlocked holdings of a party by instrument (question 2)', async () => {
    const [first] = await rows(`select owner from explore.token_balances order by owner limit 1`);
    const expected = new Map<string, bigint[]>();
    for (const { activation, as: entryKind } of sandbox.ledger.activeAt(sandbox.ledger.ledgerEnd())) {
      const instrument = instrumentOf(nameOf(activation.created), activation.created.createArgument);
      if (entryKind !== 'JsActiveContract' || instrument === undefined) continue;
      const { owner, amount, lock } = instrument.read(activation.created.createArgument);
      if (owner !== first?.['owner'] || lock !== null) continue;
      expected.set(instrument.id, [...(expected.get(instrument.id) ?? []), units(amount)]);
    }
    const result = await rows(documentedQuery('Unlocked holdings of a party'));
    expect(result.map((row) => [row['instrument_id'], Number(row['holdings']), units(String(row['amount']))])).toEqual(
      [...expected].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, amounts]) => [id, amounts.length, sum(amounts)]),
    );
    expect(expected.size).toBeGreaterThan(1);
  });

  it('return traffic bought by a validator as a running total (3), and every purchase (6)', async () => {
    const expected = purchases(model).map(({ transaction, memberId, bytes, amulet, usd, provider }) => ({
      offset: String(transaction.offset),
      effective_at: new Date(transaction.effectiveAt),
      member_id: memberId,
      bytes,
      amulet_burnt: amulet,
      usd_burnt: usd,
      provider,
    }));
    for (const isByTransfer of [true, false])
      expect(purchases(model).filter((purchase) => purchase.byTransfer === isByTransfer).length).toBeGreaterThan(5);
    const merged = model.done('AmuletRules_MergeMemberTrafficContracts');
    expect(merged.length).toBeGreaterThan(0);
    expect(expected.length).toBeGreaterThan(10);
    expect(await rows(documentedQuery('Every purchase of traffic.'))).toEqual(expected);
    const [provider = ''] = expected.map((row) => row.provider).sort();
    const providerRows = expected.filter((row) => row.provider === provider);
    const result = await rows(documentedQuery('Traffic bought by a validator'));
    const totals = result.map((row) => [
      row['offset'],
      String(row['bytes_so_far']),
      units(String(row['amulet_so_far'])),
    ]);
    expect(totals).toEqual(
      providerRows.map(({ offset }, index) => {
        const rowsSoFar = providerRows.slice(0, index + 1);
        const bytes = sum(rowsSoFar.map((row) => BigInt(row.bytes)));
        const amulet = sum(rowsSoFar.map((row) => units(row.amulet_burnt)));
        return [offset, String(bytes), amulet];
      }),
    );
  });

  it('return every heartbeat of a validator (question 4)', async () => {
    const expected = model.done('ValidatorLicense_ReportActive').map(({ exercise, transaction }) => ({
      offset: String(transaction.offset),
      validator: exercise.actingParties[0],
      contract_id: exercise.contractId,
      new_contract_id: textOf(exercise.exerciseResult, 'licenseCid'),
    }));
    const result = await rows(documentedQuery('Every heartbeat of a validator.'));
    expect(result).toMatchObject(expected);
    expect(result).toHaveLength(expected.length);
    expect(expected.length).toBeGreaterThan(50);
  });

  it('return every transfer of Amulet (question 5)', async () => {
    const expected = model.done('AmuletRules_Transfer').map(({ exercise, transaction }) => {
      const { choiceArgument: argument, exerciseResult } = exercise;
      const outputs = asList((argument as { transfer: { outputs: never } }).transfer.outputs);
      return {
        offset: String(transaction.offset),
        node_id: exercise.nodeId,
        sender: textOf(argument, 'transfer', 'sender'),
        receivers: outputs.map((output) => textOf(output, 'receiver')),
        amounts: outputs.map((output) => units(textOf(output, 'amount'))),
        fees: units(textOf(exerciseResult, 'summary', 'holdingFees')),
      };
    });
    const result = await rows(documentedQuery('Every transfer of Amulet'));
    const transfers = result.map((row) => ({
      offset: row['offset'],
      node_id: row['node_id'],
      sender: row['sender'],
      receivers: row['receivers'],
      amounts: (row['amounts'] as readonly unknown[]).map((amount) => units(String(amount))),
      fees: units(String(row['fees'])),
    }));
    expect(transfers).toEqual(expected);
    expect(expected.length).toBeGreaterThan(1000);
    const otherRows = await rows(
      `select t."offset", t.kind from explore.token_transfers t
        where t.instrument_id = 'Amulet' and t.kind = 'transfer'
          and not exists (select from explore.amulet_transfers a where a."offset" = t."offset")`,
    );
    expect(otherRows).toEqual([]);
  });

  it('return every validator once (question 7)', async () => {
    const expected = new Map<string, { newest: ModelContract; count: number; first: string }>();
    for (const license of model.made('ValidatorLicense')) {
      const validator = textOf(license.payload, 'validator');
      const previous = expected.get(validator);
      const first = previous?.first ?? license.created.createdAt;
      expected.set(validator, { newest: license, count: (previous?.count ?? 0) + 1, first });
    }
    const result = await rows(documentedQuery('Every validator once,'));
    expect(result).toEqual(
      [...expected]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([validator, { newest, count, first }]) => {
          const faucet = newest.payload['faucetState'] ?? null;
          const metadata = newest.payload['metadata'] ?? null;
          const number = (...path: string[]): string | null => (faucet === null ? null : textOf(faucet, ...path));
          return {
            validator,
            status: 'active',
            last_active_at: new Date(textOf(newest.payload, 'lastActiveAt')),
            first_round: number('firstReceivedFor', 'number'),
            last_round: number('lastReceivedFor', 'number'),
            missed_rounds: number('numCouponsMissed'),
            version: metadata === null ? null : textOf(metadata, 'version'),
            contact_point: metadata === null ? null : textOf(metadata, 'contactPoint'),
            licenses: String(count),
            first_created_at: new Date(first),
          };
        }),
    );
    expect(result).toHaveLength(3);
    expect(Math.max(...[...expected.values()].map(({ count }) => count))).toBeGreaterThan(20);
  });
});

describe('reward views', () => {
  it('return the exact rewards of the ledger by party, app, round and kind', async () => {
    const expected = new Map<string, string>();
    const groups = new Map<string, Coupon[]>();
    for (const coupon of coupons(model)) {
      const key = [coupon.party, coupon.provider, coupon.round, coupon.kind, coupon.rewards].join(' ');
      groups.set(key, [...(groups.get(key) ?? []), coupon]);
    }
    for (const [key, group] of groups) {
      const withStatus = (status: string): readonly Coupon[] => group.filter((coupon) => coupon.status === status);
      const worth = (list: readonly Coupon[]): string =>
        group.some((coupon) => coupon.worth === undefined)
          ? ''
          : decimal(sum(list.map((coupon) => coupon.worth ?? 0n)));
      const [collected, expired, active] = [withStatus('collected'), withStatus('expired'), withStatus('active')];
      const counts = [group.length, collected.length, expired.length, active.length];
      expected.set(key, [...counts, worth(group), worth(collected), worth(expired)].join(' '));
    }
    const result = await rows(
      `select concat_ws(' ', party, coalesce(provider, ''), coalesce(round::text, ''), kind, coalesce(reward_kind, '')) as key,
              concat_ws(' ', coupons, collected, expired, active, coalesce(round(worth, 10)::text, ''),
                        coalesce(round(worth_collected, 10)::text, ''), coalesce(round(worth_expired, 10)::text, '')) as said
         from explore.rewards`,
    );
    expect(new Map(result.map((row) => [row['key'], row['said']]))).toEqual(expected);
    expect(expected.size).toBeGreaterThan(1000);
    for (const rewards of ['app', 'validator'])
      expect(coupons(model).filter((coupon) => coupon.rewards === rewards).length, rewards).toBeGreaterThan(50);
    for (const status of ['active', 'collected', 'expired'])
      expect(coupons(model).filter((coupon) => coupon.status === status).length, status).toBeGreaterThan(20);
  });

  it('return collected coupons with the amounts that transfers minted', async () => {
    const mintedByRound = new Map<string, bigint>();
    for (const { exercise } of model.done('AmuletRules_Transfer')) {
      const sender = textOf(exercise.choiceArgument, 'transfer', 'sender');
      const amountOf = (kind: string): bigint =>
        units(textOf(exercise.exerciseResult, 'summary', `input${kind}RewardAmount`));
      const fund = units(textOf(exercise.exerciseResult, 'summary', 'inputDevelopmentFundAmount'));
      const couponCount = amountOf('App') + amountOf('Validator') + amountOf('Sv') + fund;
      if (couponCount > 0n) mintedByRound.set(sender, (mintedByRound.get(sender) ?? 0n) + couponCount);
    }
    const result = await rows(
      `select collected_by, sum(worth) as worth from explore.reward_coupons where status = 'collected' group by collected_by`,
    );
    expect(new Map(result.map((row) => [row['collected_by'], units(String(row['worth']))]))).toEqual(mintedByRound);
    const mintedRows = await rows(
      `select sender, sum(app_rewards + validator_rewards + sv_rewards + development_rewards) as minted from explore.amulet_transfers
        group by sender having sum(app_rewards + validator_rewards + sv_rewards + development_rewards) > 0`,
    );
    expect(new Map(mintedRows.map((row) => [row['sender'], units(String(row['minted']))]))).toEqual(mintedByRound);
    expect(mintedByRound.size).toBe(7);
  });

  it('return expired coupons with the amount of unclaimed rewards', async () => {
    const [expiredRow] = await rows(`select sum(worth) as worth from explore.reward_coupons where status = 'expired'`);
    const [unclaimedRow] = await rows(`select sum(amount) as amount from explore.unclaimed_rewards where is_active`);
    const unclaimedSum = sum(model.made('UnclaimedReward').map(({ payload }) => units(payload['amount'])));
    expect(units(String(unclaimedRow?.['amount']))).toBe(unclaimedSum);
    expect(units(String(expiredRow?.['worth']))).toBe(unclaimedSum);
  });

  it('return the featured apps and their activity markers with weights', async () => {
    const markers = model.made('FeaturedAppActivityMarker');
    const [markerRow] = await rows(
      `select count(*)::int as markers, sum(weight) as weight, count(*) filter (where is_active)::int as active,
              (select count(*)::int from explore.featured_apps where is_active) as apps
         from explore.app_activity_markers`,
    );
    expect(markerRow).toMatchObject({
      markers: markers.length,
      active: markers.filter(({ ended }) => ended === undefined).length,
      apps: model.made('FeaturedAppRight').length,
    });
    expect(units(String(markerRow?.['weight']))).toBe(sum(markers.map(({ payload }) => units(payload['weight']))));
    expect(markers.length).toBeGreaterThan(50);
  });
});

it('mining_rounds returns the rounds of the ledger with their phases', async () => {
  const phases = ['Open', 'Summarizing', 'Issuing', 'Closed'];
  const expected = new Map<string, string>();
  for (const phase of phases) {
    for (const { payload, ended } of model.made(`${phase}MiningRound`)) {
      const status = ended === undefined ? phase.toLowerCase() : 'archived';
      expected.set(textOf(payload, 'round', 'number'), status);
    }
  }
  const result = await rows(`select round::text, status from explore.mining_rounds`);
  expect(new Map(result.map((row) => [row['round'], row['status']]))).toEqual(expected);
  expect(new Set(expected.values()).size).toBe(5);
});

it('reward_rounds returns the progress of each round of the ledger', async () => {
  const expected = new Map<string, string>();
  const keyOf = ({ payload }: ModelContract): string =>
    [textOf(payload, 'round', 'number'), payload['kind'] === 'RewardKind_Validator' ? 'validator' : 'app'].join(' ');
  const batches = model.made('ProcessRewardsV2');
  for (const calculation of model.made('CalculateRewardsV2')) {
    const key = keyOf(calculation);
    const ownBatches = batches.filter((batch) => keyOf(batch) === key);
    const remainingMarkers = ownBatches.filter(({ ended }) => ended === undefined).length;
    const status = calculation.ended === undefined ? 'calculating' : remainingMarkers > 0 ? 'processing' : 'processed';
    const endDates = ownBatches.map(({ ended }) => ended?.transaction.effectiveAt ?? '').sort();
    const last = status === 'processed' ? new Date(endDates.at(-1) ?? '').toISOString() : '';
    expected.set(key, [status, ownBatches.length, remainingMarkers, last].join(' '));
  }
  const result = await rows(
    `select concat_ws(' ', round, reward_kind) as key, concat_ws(' ', status, batches, batches_left) as said, processed_at
       from explore.reward_rounds where not is_dry_run`,
  );
  const states = result.map(({ key, said: state, processed_at }) => [
    key,
    `${String(state)} ${processed_at instanceof Date ? processed_at.toISOString() : ''}`,
  ]);
  expect(new Map(states as [string, string][])).toEqual(expected);
  expect(expected.size).toBeGreaterThan(50);
  const roundRows = await rows(
    `select concat_ws(' ', round, 'app') as key, app_rewards_status as status from explore.mining_rounds
      where app_rewards_status is not null`,
  );
  expect(roundRows.length).toBe(expected.size / 2);
  for (const { key, status } of roundRows) expect(expected.get(String(key))?.split(' ')[0]).toBe(status);
});

describe('traffic views', () => {
  it('return the bytes that members bought, and the remaining bytes of this participant', async () => {
    const boughtByMember = new Map<string, bigint>();
    for (const { memberId, bytes } of purchases(model))
      boughtByMember.set(memberId, (boughtByMember.get(memberId) ?? 0n) + BigInt(bytes));
    const ownMember = `PAR::${sandbox.ledger.participantId}`;
    const synchronizer = sandbox.ledger.synchronizers[0].id;
    const paidAmounts = model.transactions
      .filter(({ synchronizerId }) => synchronizerId === synchronizer)
      .reduce((total, { paidTrafficCost }) => total + BigInt(paidTrafficCost ?? 0), 0n);
    const result = await rows(documentedQuery('How much traffic is left at most,'));
    const boughtBytes = new Map(result.map((row) => [row['member_id'], BigInt(String(row['bytes_bought']))]));
    expect(boughtBytes).toEqual(boughtByMember);
    const ownRow = result.find((row) => row['member_id'] === ownMember);
    const ownBytes = (column: string): bigint => BigInt(String(ownRow?.[column]));
    expect(ownBytes('bytes_left_at_most')).toBe(
      (boughtByMember.get(ownMember) ?? 0n) - ownBytes('bytes_paid') - ownBytes('bytes_rejected'),
    );
    // Unassigns and assigns also cost traffic, but they are not transactions.
    expect(ownBytes('bytes_paid')).toBeGreaterThanOrEqual(paidAmounts);
    expect(result.filter((row) => row['bytes_paid'] !== null)).toHaveLength(1);
  });

  it('return costs with correct sums per hour, workflow and choice', async () => {
    const expected = new Map<string, number>();
    for (const { workflowId, recordTime, paidTrafficCost, events } of model.transactions) {
      const [root] = events;
      if (paidTrafficCost === null || root === undefined) continue;
      const choice = 'ExercisedEvent' in root ? root.ExercisedEvent.choice : '';
      const key = [recordTime.slice(0, 13), workflowId, choice].join(' ');
      expected.set(key, (expected.get(key) ?? 0) + paidTrafficCost);
    }
    const result = await rows(
      `select concat_ws(' ', to_char(date_trunc('hour', record_time) at time zone 'UTC', 'YYYY-MM-DD"T"HH24'),
                        coalesce(workflow_id, ''), coalesce(choice, '')) as key, sum(bytes)::int as bytes
         from explore.traffic_costs c
        where exists (select from explore.updates u where u."offset" = c."offset" and u.kind = 'transaction')
        group by 1`,
    );
    expect(new Map(result.map((row) => [row['key'], row['bytes']]))).toEqual(expected);
    expect(expected.size).toBeGreaterThan(500);
  });
});

it('amulet_burns returns the prices of traffic purchases and the amounts of expired dust', async () => {
  const paidAmounts = purchases(model).map(({ amulet }) => units(amulet));
  const dustHoldings = model
    .made('Amulet')
    .filter(({ ended }) => ended?.by.choice === 'Amulet_Expire')
    .map(({ payload }) => units(textOf(payload, 'amount', 'initialAmount')));
  const result = await rows(
    `select reason, sum(amount) as amount, count(*)::int as times from explore.amulet_burns group by reason`,
  );
  expect(new Map(result.map((row) => [row['reason'], units(String(row['amount']))]))).toEqual(
    new Map([
      ...(dustHoldings.length > 0 ? [['expired', sum(dustHoldings)] as const] : []),
      ['traffic', sum(paidAmounts)] as const,
    ]),
  );
});
