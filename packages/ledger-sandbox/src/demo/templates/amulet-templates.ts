/** The rules of Amulet: transfers, whose inputs may include coupons, mints, and purchases of traffic. */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asList, asObject, asText, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { ChoiceContext, Template } from '../../contracts/model.ts';
import { formatNumeric, parseNumeric } from '../../wire/values.ts';
import { consume, payOut, positive } from './funds.ts';
import type { Output } from './funds.ts';
import { priceOf } from './holding-templates.ts';
import { amulet } from './instruments.ts';
import { kindMeta } from './metadata.ts';
import { names } from './names.ts';
import { addRewards, collect, issuances, zeroRewards } from './reward-templates.ts';
import type { Rewards } from './reward-templates.ts';
import { accountingChoices } from './reward-accounting.ts';
import { dso, dsoTemplate, roundChoices } from './round-templates.ts';
import { trafficCost, trafficOf } from './traffic.ts';

function outputOf(value: Json): Output {
  const lock = asObject(asObject(value)?.['lock']);
  const output = { receiver: textAt(value, 'receiver'), amount: textAt(value, 'amount') };
  if (lock === undefined) return output;
  const holders = asList(lock['holders']).map((holder) => asText(holder));
  return { ...output, lock: { holders, expiresAt: asText(lock['expiresAt']), context: asText(lock['optContext']) } };
}

/** Sum of the inputs, in units of 10^-10. */
interface ConsumedInputs {
  /** Part of the sum from Amulets. */
  readonly amulets: bigint;
  readonly rewards: Rewards;
  readonly sum: bigint;
  readonly round: string;
  /** Price of an Amulet in USD. */
  readonly amuletPrice: string;
}

/** Archives Amulets and coupons. The value of a coupon is the issuance of its round, which is minted here. */
function takeInputs(context: ChoiceContext, sender: string): ConsumedInputs {
  const { argument } = context;
  const inputs = asList(asObject(argument['transfer'])?.['inputs'] ?? argument['inputs']);
  const amulets = inputs
    .filter((input) => textAt(input, 'tag') === 'InputAmulet')
    .map((input) => textAt(input, 'value'));
  const spentHoldings = consume(context, amulets, sender);
  const issuing = issuances(context, argument['context']);
  let rewards = zeroRewards;
  let round = Math.max(Number(spentHoldings.round), issuing.openRound);
  for (const input of inputs.filter((amuletInput) => textAt(amuletInput, 'tag') !== 'InputAmulet')) {
    rewards = addRewards(rewards, collect(context, textAt(input, 'value'), sender, issuing));
    round = Math.max(round, issuing.openRound);
  }
  const sum = spentHoldings.sum + rewards.app + rewards.validator + rewards.sv + rewards.development;
  const amuletPrice = priceOf(context, textAt(argument['context'], 'openMiningRound'));
  return { amulets: spentHoldings.sum, rewards, sum, round: String(round), amuletPrice };
}

/** The summary of a transfer that charges no fees. */
function summaryOf(inputs: ConsumedInputs, outputs: readonly Output[], sender: string, change: bigint): JsonObject {
  const { app, validator, sv, liveness, development } = inputs.rewards;
  const changes = new Map([[sender, change - inputs.amulets]]);
  for (const { receiver, amount } of outputs) {
    changes.set(receiver, (changes.get(receiver) ?? 0n) + (parseNumeric(amount) ?? 0n));
  }
  return {
    inputAppRewardAmount: formatNumeric(app),
    inputValidatorRewardAmount: formatNumeric(validator),
    inputSvRewardAmount: formatNumeric(sv),
    inputAmuletAmount: formatNumeric(inputs.amulets),
    balanceChanges: [...changes].map(([party, units]) => [
      party,
      { changeToInitialAmountAsOfRoundZero: formatNumeric(units), changeToHoldingFeesRate: formatNumeric(0n) },
    ]),
    holdingFees: formatNumeric(0n),
    outputFees: outputs.map(() => formatNumeric(0n)),
    senderChangeFee: formatNumeric(0n),
    senderChangeAmount: formatNumeric(change),
    amuletPrice: inputs.amuletPrice,
    inputValidatorFaucetAmount: formatNumeric(liveness),
    inputUnclaimedActivityRecordAmount: formatNumeric(0n),
    inputDevelopmentFundAmount: formatNumeric(development),
  };
}

function transfer(context: ChoiceContext): Json {
  const transferInput = asObject(context.argument['transfer']) ?? {};
  const sender = asText(transferInput['sender']);
  const [admin = ''] = dso(context.contract.createArgument);
  const outputs = asList(transferInput['outputs']).map(outputOf);
  const inputs = takeInputs(context, sender);
  const { made: newHoldings, change } = payOut(context, amulet, { admin, sender, outputs }, inputs);
  const tag = (index: number): string =>
    outputs[index]?.lock === undefined ? 'TransferResultAmulet' : 'TransferResultLockedAmulet';
  const remainder = outputs.reduce((unspent, { amount }) => unspent - positive(amount), inputs.sum);
  const isMint = inputs.sum > inputs.amulets;
  return {
    round: { number: inputs.round },
    summary: summaryOf(inputs, outputs, sender, remainder),
    createdAmulets: newHoldings.map((value, index) => ({ tag: tag(index), value })),
    senderChangeAmulet: change ?? null,
    meta: kindMeta(isMint ? 'mint' : 'transfer', sender),
  };
}

function mint(context: ChoiceContext): Json {
  const { contract, argument, create, fetch } = context;
  const [admin = ''] = dso(contract.createArgument);
  const openRound = asText(argument['openRound']);
  const round = textAt(fetch(openRound).createArgument, 'round', 'number');
  const amuletPrice = priceOf(context, openRound);
  const amount = formatNumeric(positive(asText(argument['amount'])));
  const owner = asText(argument['receiver']);
  const newHolding = create(amulet.holding, amulet.free({ admin, owner, amount, round }));
  return { amuletSum: { amulet: newHolding, amuletPrice, round: { number: round } } };
}

function buyTraffic(context: ChoiceContext): Json {
  const { argument, contract, create } = context;
  const [admin = ''] = dso(contract.createArgument);
  const sender = asText(argument['provider']);
  const inputs = takeInputs(context, sender);
  const trafficAmount = BigInt(asText(argument['trafficAmount']));
  const cost = trafficCost(trafficAmount, inputs.amuletPrice);
  if (inputs.sum < cost) throw assertionFailed(`the traffic costs ${formatNumeric(cost)}`);
  const remainder = inputs.sum - cost;
  const outputs = remainder > 0n ? [{ receiver: sender, amount: formatNumeric(remainder) }] : [];
  const { made: newHoldings } = payOut(context, amulet, { admin, sender, outputs }, { ...inputs, sum: remainder });
  const { memberId, synchronizerId, migrationId } = argument;
  const member = {
    memberId: asText(memberId),
    synchronizerId: asText(synchronizerId),
    migrationId: asText(migrationId),
  };
  const traffic = trafficOf(admin, { ...member, bytes: trafficAmount }, inputs.amuletPrice);
  const purchasedTraffic = create(names.memberTraffic, traffic);
  return {
    round: { number: inputs.round },
    summary: summaryOf(inputs, [], sender, remainder),
    amuletPaid: formatNumeric(cost),
    purchasedTraffic,
    senderChangeAmulet: newHoldings[0] ?? null,
    meta: kindMeta('burn', sender, 'traffic purchase'),
  };
}

const rules = dsoTemplate(names.amuletRules, {
  AmuletRules_Transfer: {
    consuming: false,
    controllers: (_, argument) => [textAt(argument, 'transfer', 'sender')],
    run: transfer,
  },
  AmuletRules_Mint: { consuming: false, controllers: dso, run: mint },
  AmuletRules_BuyMemberTraffic: {
    consuming: false,
    controllers: (_, argument) => [asText(argument['provider'])],
    run: buyTraffic,
  },
  ...roundChoices,
  ...accountingChoices,
});

/** The templates of Amulet. */
export function amuletTemplates(): Template[] {
  return [rules, dsoTemplate(names.memberTraffic, {})];
}
