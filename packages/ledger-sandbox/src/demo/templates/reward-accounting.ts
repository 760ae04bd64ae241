/**
 * Rewards that are computed outside the ledger. A contract requests the rewards of a closed round. Batches of the
 * result are processed and become coupons. Names are those of daml/splice-amulet in canton-network/splice
 * (Splice/Amulet/RewardAccountingV2.daml).
 */
import { asList, asObject, asText, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { ChoiceContext, Template } from '../../contracts/model.ts';
import { withoutTrailingNones } from '../../contracts/release-fields.ts';
import { assertionFailed } from '../../wire/daml-failure.ts';
import { formatTimestamp } from '../../wire/values.ts';
import { eventLogChoice } from '../registry/holdings-change.ts';
import { emptyMetadata } from './metadata.ts';
import { interfacesV2, names } from './names.ts';
import { dso, dsoTemplate } from './round-templates.ts';

const kindIsOptional = {
  optionals: ['kind'],
  normalize: (payload: JsonObject): JsonObject => withoutTrailingNones(payload, ['kind']),
};

/** Fields that all contracts of one calculation share. */
function commonFields({
  dso: admin = '',
  round = null,
  roundClosedAt = '',
  dryRun = false,
  ...otherFields
}: JsonObject): JsonObject {
  const { rewardCouponTimeToLive = null, kind = null } = otherFields;
  return { dso: admin, round, roundClosedAt, dryRun, rewardCouponTimeToLive, kind };
}

function startProcessing({ argument, create, exercise, fetch }: ChoiceContext): Json {
  const cid = asText(argument['calculateRewardsCid']);
  const { createArgument, signatories } = fetch(cid);
  exercise(cid, 'Archive', {}, signatories);
  create(names.processRewards, { ...commonFields(createArgument), batchHash: argument['rootHash'] ?? null });
  return {};
}

function processBatch({ argument, contract, create, time }: ChoiceContext): Json {
  const commonFieldsOf = commonFields(contract.createArgument);
  const batch = asObject(argument['batch']);
  if (asText(batch?.['tag']) === 'BatchOfBatches') {
    for (const batchHash of asList(batch?.['value'])) create(names.processRewards, { ...commonFieldsOf, batchHash });
    return {};
  }
  const lifetime = Number(textAt(commonFieldsOf, 'rewardCouponTimeToLive', 'microseconds'));
  const expiresAt = formatTimestamp(Date.parse(time) * 1000 + lifetime);
  for (const allowance of asList(batch?.['value'])) {
    const { dso: admin = '', round = null, kind = null } = commonFieldsOf;
    const { provider = '', amount = '' } = asObject(allowance) ?? {};
    const coupon = {
      dso: admin,
      provider,
      round,
      amount,
      expiresAt,
      providerIsObserver: true,
      beneficiary: null,
      kind,
    };
    create(names.rewardCoupon, coupon);
  }
  return {};
}

/** Choices of the rules of Amulet for these rewards. */
export const accountingChoices: Template['choices'] = {
  AmuletRules_StartProcessingRewardsV2: { consuming: false, controllers: dso, run: startProcessing },
};

/** Refuses a coupon of the development fund before its time. */
export function requireMintable({ time }: ChoiceContext, coupon: JsonObject): void {
  const mintAfter = asText(coupon['mintAfter']);
  if (mintAfter !== '' && Date.parse(mintAfter) > Date.parse(time))
    throw assertionFailed(`the coupon is minted after ${mintAfter}`);
}

/** The templates of these rewards, and of the contract that replaces a round if parties sign long before. */
export function accountingTemplates(): Template[] {
  const observers = (...fields: readonly string[]) => ({
    observers: (payload: JsonObject) => [
      ...new Set(fields.map((field) => asText(payload[field])).filter((party) => party !== '')),
    ],
  });
  const view = (payload: JsonObject): JsonObject => ({ admin: asText(payload['dso']), meta: emptyMetadata });
  const optional = (...fields: string[]) => ({
    optionals: fields,
    normalize: (payload: JsonObject) => withoutTrailingNones(payload, fields),
  });
  return [
    dsoTemplate(names.calculateRewards, {}, kindIsOptional),
    dsoTemplate(
      names.processRewards,
      { ProcessRewardsV2_ProcessBatch: { consuming: true, controllers: dso, run: processBatch } },
      kindIsOptional,
    ),
    dsoTemplate(
      names.rewardCoupon,
      {},
      { ...observers('provider', 'beneficiary'), ...optional('beneficiary', 'kind') },
    ),
    dsoTemplate(names.developmentCoupon, {}, { ...observers('beneficiary', 'fundManager'), ...optional('mintAfter') }),
    dsoTemplate(
      names.externalPartyConfig,
      { EventLog_HoldingsChange: eventLogChoice },
      { ...optional('trafficPrice', 'minTrafficTopupAmount'), interfaces: [{ name: interfacesV2.eventLog, view }] },
    ),
  ];
}
