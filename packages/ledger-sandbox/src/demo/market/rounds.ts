/**
 * Mining rounds. Three are open at a time. When a new one opens, the oldest one advances, and rewards are created and
 * collected.
 */
import { createHash } from 'node:crypto';
import type { Command } from '../../ledger/commands.ts';
import type { JsonObject } from '../../wire/json.ts';
import { textAt } from '../../wire/json.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import type { CreatedEvent } from '../../wire/wire.ts';
import { nameOf } from '../templates/funds.ts';
import { openRoundPayload } from '../templates/round-templates.ts';
import { amountOf, drawDelayMicros } from './chance.ts';
import type { MarketState } from './market-state.ts';
import { names } from '../templates/names.ts';
import { firstRound } from '../prices.ts';
import type { GapSchedule } from './tempo.ts';
import { configPayload, planHeartbeats } from './validators.ts';

const second = 1_000_000;
const tick = 600 * second;
/** Median amounts of the coupons of an application and of a validator, in Amulet. */
const appCoupon = 60;
const validatorCoupon = 25;
const svWeight = '10000';
/** Share of the parties that collect their rewards when a round opens. */
const promptShare = 0.35;
/** Share of the rounds in which a featured application marks activity. */
const markedShare = 0.3;
/**
 * Number of rounds that issue rewards at a time. The next constant is the number of closed rounds.
 */
const maxIssuingRounds = 4;
const maxClosedRounds = 2;

/** One round in this many has rewards that are computed outside the ledger. */
const rewardedEvery = 4;
/** One round in this many has a coupon of the development fund. */
const fundedEvery = 60;
const couponLifetime = { microseconds: String(36 * 3600 * second) };
const day = 24 * 3600 * second;
/** Minimum allowance; the next number is the spread of allowances. In units of 10^-10 Amulet. */
const smallestFund = 80_000_000_000n;
const spread = 420_000_000_000n;
/** Delay before a coupon of the development fund can be collected, and its duration. */
const [fundDelay, fundLasts] = [day, 30 * day];

function create(template: string, argument: JsonObject): Command {
  return { kind: 'create', templateId: `#${template}`, argument };
}

/** Opens the first three rounds. */
export function openRounds(state: MarketState, at: number): boolean {
  const { dso } = state.people;
  const commands = [0, 1, 2].map((index) =>
    create(
      names.openRound,
      openRoundPayload({
        dso,
        number: firstRound + index,
        amuletPrice: state.prices(firstRound + index),
        opensAt: formatTimestamp(at + index * tick),
        targetClosesAt: formatTimestamp(at + (index + 2) * tick),
      }),
    ),
  );
  state.submit([dso], commands, { at });
  return true;
}

/** Opens a round, moves the older ones to their next phase, requests rewards, and schedules the next round. */
export function advance(state: MarketState, gapsAt: GapSchedule, at: number): boolean {
  const { dso } = state.people;
  const { agenda, rounds, summarizing, issuing, closedRounds } = state;
  const number = (rounds.at(-1)?.number ?? firstRound) + 1;
  agenda.add(at + gapsAt(at).roundGap, { what: 'advance-rounds' });
  const [oldestRound, middle, latestRound] = rounds;
  if (oldestRound === undefined || middle === undefined || latestRound === undefined) return openRounds(state, at);
  const contractId = state.single(names.amuletRules);
  const rule = (choice: string, argument: JsonObject): Command => {
    return { kind: 'exercise', contractId, choice: `AmuletRules_${choice}`, argument };
  };
  const [summarizingRound] = summarizing;
  const closingRound = issuing.length < maxIssuingRounds ? undefined : issuing[0];
  const expiredCoupons = expireCoupons(state);
  const commands = [
    rule('AdvanceOpenMiningRounds', {
      amuletPrice: state.prices(number),
      roundToArchiveCid: oldestRound.contractId,
      middleRoundCid: middle.contractId,
      latestRoundCid: latestRound.contractId,
    }),
    ...(summarizingRound === undefined
      ? []
      : [rule('MiningRound_StartIssuing', { miningRoundCid: summarizingRound.contractId, summary })]),
    ...(closingRound === undefined ? [] : [rule('MiningRound_Close', { issuingRoundCid: closingRound.contractId })]),
    ...(expiredCoupons === undefined ? [] : [rule('ClaimExpiredRewards', expiredCoupons)]),
    ...closedRounds
      .slice(0, Math.max(0, closedRounds.length - maxClosedRounds))
      .map((round) => rule('MiningRound_Archive', { closedRoundCid: round.contractId })),
    ...replaceConfig(state, at),
    ...startProcessing(state),
    ...requestRewards(state, oldestRound.number, at),
  ];
  state.submit([dso], commands, { at, workflowId: 'round' });
  agenda.add(at + 3 * second, { what: 'hand-out-rewards', round: number });
  return true;
}

/** Replaces the contract that transfers use instead of a round, if its price is old. */
function replaceConfig(state: MarketState, at: number): readonly Command[] {
  const contractId = state.single(names.externalPartyConfig);
  const config = state.payload(contractId);
  if (config === undefined || textAt(config, 'amuletPrice') === state.roundPrice()) return [];
  if (Date.parse(textAt(config, 'targetArchiveAfter')) * 1000 > at) return [];
  return [
    { kind: 'exercise', contractId, choice: 'Archive', argument: {} },
    create(names.externalPartyConfig, configPayload(state, at)),
  ];
}

/** The activity of a round, which the demo does not count. */
const summary: JsonObject = {
  totalValidatorRewardCoupons: formatNumeric(0n),
  totalFeaturedAppRewardCoupons: formatNumeric(0n),
  totalUnfeaturedAppRewardCoupons: formatNumeric(0n),
  totalSvRewardWeight: '0',
  optTotalValidatorFaucetCoupons: '0',
};

/** Templates of coupons that have an amount of Amulet of their own, which no round determines. */
const amuletCoupons: ReadonlySet<string> = new Set([names.rewardCoupon, names.developmentCoupon]);

/** Uncollected coupons of the round that closed last; undefined if there are none. */
function expireCoupons(state: MarketState): JsonObject | undefined {
  const closedRound = state.closedRounds.at(-1);
  if (closedRound === undefined) return undefined;
  const remainingCoupons: CreatedEvent[] = [];
  for (const [party, coupons] of state.coupons) {
    const activeCoupons = coupons.filter(({ contractId }) => state.payload(contractId) !== undefined);
    const dueCoupons = activeCoupons.filter(
      (coupon) =>
        !amuletCoupons.has(nameOf(coupon)) &&
        Number(textAt(coupon.createArgument, 'round', 'number')) <= closedRound.number,
    );
    remainingCoupons.push(...dueCoupons);
    state.coupons.set(
      party,
      activeCoupons.filter((coupon) => !dueCoupons.includes(coupon)),
    );
  }
  if (remainingCoupons.length === 0) return undefined;
  const couponsOf = (template: string): string[] =>
    remainingCoupons.filter((coupon) => nameOf(coupon) === template).map(({ contractId }) => contractId);
  return {
    closedRoundCid: closedRound.contractId,
    validatorRewardCouponCids: couponsOf(names.validatorRewardCoupon),
    appCouponCids: couponsOf(names.appRewardCoupon),
    svRewardCouponCids: couponsOf(names.svRewardCoupon),
    optValidatorLivenessActivityRecordCids: couponsOf(names.livenessRecord),
  };
}

/**
 * Creates coupons for every application and validator, and for activity markers. Some parties then collect coupons of
 * older rounds.
 */
export function distributeRewards(state: MarketState, number: number, at: number): boolean {
  const { people, random, agenda, markers } = state;
  const round = { number: String(number) };
  const [sv = ''] = people.validators;
  const appCoupons = people.apps.map((provider, index) => {
    const amount = formatNumeric(amountOf(random, appCoupon));
    return create(names.appRewardCoupon, { dso: people.dso, provider, featured: index < 2, amount, round });
  });
  const validatorCoupons = people.validators.map((user) => {
    const amount = formatNumeric(amountOf(random, validatorCoupon));
    return create(names.validatorRewardCoupon, { dso: people.dso, user, amount, round });
  });
  const svCoupon = create(names.svRewardCoupon, { dso: people.dso, sv, beneficiary: sv, round, weight: svWeight });
  const convert: Command = {
    kind: 'exercise',
    contractId: state.single(names.amuletRules),
    choice: 'AmuletRules_ConvertFeaturedAppActivityMarkers',
    argument: { markerCids: [...markers], openMiningRoundCid: state.rounds.at(-1)?.contractId ?? '', observers: null },
  };
  const commands = [
    ...appCoupons,
    ...validatorCoupons,
    svCoupon,
    ...(markers.length === 0 ? [] : [convert]),
    ...processBatches(state),
    ...fund(state, number, at),
  ];
  state.submit([people.dso], commands, { at, workflowId: 'rewards' });
  for (const party of [...people.apps, ...people.validators]) {
    if (!random.chance(promptShare)) continue;
    agenda.add(at + drawDelayMicros(random, 15), { what: 'collect-rewards', party });
  }
  for (const party of people.featured) {
    if (random.chance(markedShare)) agenda.add(at + drawDelayMicros(random, 60), { what: 'mark-activity', party });
  }
  planHeartbeats(state, at);
  return true;
}

/** Requests the rewards of a round that closes. Rewards of apps have no kind. */
function requestRewards({ people: { dso } }: MarketState, round: number, at: number): readonly Command[] {
  if (round % rewardedEvery !== 0) return [];
  const commonFields = {
    dso,
    round: { number: String(round) },
    roundClosedAt: formatTimestamp(at),
    rewardCouponTimeToLive: couponLifetime,
    dryRun: false,
  };
  return [null, 'RewardKind_Validator'].map((kind) => ({
    kind: 'create',
    templateId: `#${names.calculateRewards}`,
    argument: { ...commonFields, kind },
  }));
}

/** Processes the request once the super validators agree on a result. */
function startProcessing(state: MarketState): readonly Command[] {
  return [...state.calculations].map((calculateRewardsCid) => ({
    kind: 'exercise',
    contractId: state.single(names.amuletRules),
    choice: 'AmuletRules_StartProcessingRewardsV2',
    argument: { calculateRewardsCid, rootHash: hashOf(state.payload(calculateRewardsCid), 'root') },
  }));
}

/** Processes existing batches: a root becomes two batches, and a batch becomes coupons. */
function processBatches(state: MarketState): readonly Command[] {
  return [...state.rewardBatches].map((contractId) => ({
    kind: 'exercise',
    contractId,
    choice: 'ProcessRewardsV2_ProcessBatch',
    argument: { batch: batchOf(state, state.payload(contractId)) },
  }));
}

const sides = ['left', 'right'] as const;

function batchOf({ people }: MarketState, payload: JsonObject | undefined): JsonObject {
  const hash = textAt(payload, 'batchHash', 'value');
  const side = sides.findIndex((each) => hashOf(payload, each).value === hash);
  if (side === -1) return { tag: 'BatchOfBatches', value: sides.map((each) => hashOf(payload, each)) };
  const kind = textAt(payload, 'kind');
  const providers = kind === 'RewardKind_Validator' ? people.validators : people.featured;
  const value = providers
    .filter((_, index) => index % sides.length === side)
    .map((provider) => ({ provider, amount: allowance(provider, payload) }));
  return { tag: 'BatchOfMintingAllowances', value };
}

/** Reward of a provider for a round; the same in every call. */
function allowance(provider: string, payload: JsonObject | undefined): string {
  const digest = BigInt(`0x${hashOf(payload, provider).value.slice(0, 15)}`);
  return formatNumeric(smallestFund + (digest % spread));
}

/** The hash of a part of the result, for a round and a kind. */
function hashOf(payload: JsonObject | undefined, side: string): { readonly value: string } {
  const text = `${textAt(payload, 'round', 'number')} ${textAt(payload, 'kind')} ${side}`;
  return { value: createHash('sha256').update(text).digest('hex') };
}

/** The development fund sometimes grants a coupon, which cannot be collected at once. */
function fund({ people }: MarketState, round: number, at: number): readonly Command[] {
  if (round % fundedEvery !== 0) return [];
  const { dso, licensor: beneficiary, venue: fundManager } = people;
  const argument = {
    dso,
    beneficiary,
    fundManager,
    amount: formatNumeric(25_000n * 10n ** 10n),
    expiresAt: formatTimestamp(at + fundLasts),
    reason: `grant ${String(round)}`,
    mintAfter: formatTimestamp(at + fundDelay),
  };
  return [{ kind: 'create', templateId: `#${names.developmentCoupon}`, argument }];
}
