/** Heartbeats of validators, and activity markers of featured applications. */
import { asText, textAt } from '../../wire/json.ts';
import type { JsonObject } from '../../wire/json.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { drawDelayMicros } from './chance.ts';
import type { MarketState } from './market-state.ts';
import { names } from '../templates/names.ts';

const second = 1_000_000;
/** Share of the rounds in which a validator reports that it is active. */
const presentShare = 0.4;
/** Share of the heartbeats that report a newer version. */
const upgradeShare = 0.03;
/** Minimum time between two reports of a validator that is not rewarded for them, in microseconds. */
const reportEvery = 3600 * second;

/**
 * Duration of the contract that replaces a round; the next number is the minimum traffic that a transfer may buy with
 * it.
 */
const configLifetime = 48 * 3600 * second;
const minTraffic = '200000';

/**
 * Creates licenses of validators with the rights to their own coupons, rights of featured applications, and the
 * contract that transfers of the token standard use instead of a round.
 */
export function license(state: MarketState, at: number): boolean {
  const { dso, validators, featured } = state.people;
  const commands = [
    ...validators.map((validator) => ({
      templateId: `#${names.validatorLicense}`,
      argument: { validator, sponsor: validator, dso },
    })),
    ...validators.map((validator) => ({
      templateId: `#${names.validatorRight}`,
      argument: { dso, user: validator, validator },
    })),
    ...featured.map((provider) => ({ templateId: `#${names.featuredAppRight}`, argument: { dso, provider } })),
    {
      templateId: `#${names.externalPartyConfig}`,
      argument: configPayload(state, at),
    },
  ];
  state.submit(
    [dso, ...validators],
    commands.map((command) => ({ kind: 'create', ...command })),
    { at },
  );
  return true;
}

/** The contract that transfers use instead of a round, with the price of the newest round. */
export function configPayload(state: MarketState, at: number): JsonObject {
  return {
    dso: state.people.dso,
    holdingFeesOpenRoundNumber: { number: '0' },
    amuletPrice: state.roundPrice(),
    targetArchiveAfter: formatTimestamp(at + configLifetime),
    trafficPrice: formatNumeric(150_000_000n),
    minTrafficTopupAmount: minTraffic,
  };
}

/** Selects the validators that will be active in this round. */
export function planHeartbeats(state: MarketState, at: number): void {
  const { people, random, agenda } = state;
  for (const party of people.validators) {
    if (random.chance(presentShare)) agenda.add(at + drawDelayMicros(random, 90), { what: 'be-there', party });
  }
}

/** A validator records a heartbeat. The last validator, which gets no reward for it, only reports that it is active. */
export function recordLiveness(state: MarketState, validator: string, at: number): boolean {
  const { people, random } = state;
  const license = state.single(names.validatorLicense, validator);
  const payload = state.payload(license);
  const round = state.rounds.at(-1);
  if (payload === undefined || round === undefined) return false;
  const options = { at, workflowId: 'validator' };
  if (random.chance(upgradeShare)) {
    const version = `0.5.${String(random.between(1, 19))}`;
    const argument = { version, contactPoint: `ops@${validator.split('::')[0] ?? ''}.example` };
    state.exercise(validator, license, 'ValidatorLicense_UpdateMetadata', argument, options);
    return true;
  }
  if (validator === people.validators.at(-1)) {
    const last = Date.parse(asText(payload['lastActiveAt']));
    if (last * 1000 > at - reportEvery) return false;
    state.exercise(validator, license, 'ValidatorLicense_ReportActive', {}, options);
    return true;
  }
  if (Number(textAt(payload, 'faucetState', 'lastReceivedFor', 'number')) >= round.number) return false;
  const argument = { openRoundCid: round.contractId };
  state.exercise(validator, license, 'ValidatorLicense_RecordValidatorLivenessActivity', argument, options);
  return true;
}

/** A featured application marks activity, and sometimes shares the reward with a user. */
export function markActivity(state: MarketState, provider: string, at: number): boolean {
  const { people, random } = state;
  const right = state.single(names.featuredAppRight, provider);
  if (state.payload(right) === undefined) return false;
  const shares = random.chance(0.3)
    ? [
        { beneficiary: provider, weight: formatNumeric(7_500_000_000n) },
        { beneficiary: people.user(random), weight: formatNumeric(2_500_000_000n) },
      ]
    : [{ beneficiary: provider, weight: formatNumeric(10_000_000_000n) }];
  const choice = 'FeaturedAppRight_CreateActivityMarker';
  state.exercise(provider, right, choice, { beneficiaries: shares }, { at, workflowId: 'activity' });
  return true;
}
