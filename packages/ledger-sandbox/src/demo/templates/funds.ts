/** Movement of holdings inside a choice: inputs are archived, and outputs and the change are created. */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asObject, asText, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import { entityOf } from '../../contracts/model.ts';
import type { ChoiceContext } from '../../contracts/model.ts';
import { formatNumeric, parseNumeric } from '../../wire/values.ts';
import type { CreatedEvent } from '../../wire/wire.ts';
import { amulet, instrumentOf } from './instruments.ts';
import type { HoldingFacts, InstrumentV1, NewLock } from './instruments.ts';
import { contextValue } from './metadata.ts';

/** One output of a movement. */
export interface Output {
  readonly receiver: string;
  /** Text of a Numeric 10. */
  readonly amount: string;
  readonly lock?: NewLock;
}

/** Description of a movement. */
export interface Movement {
  readonly admin: string;
  readonly sender: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly Output[];
  /** The context in which Amulet finds its rules. Without it, the factory does the work itself. */
  readonly extraArgs: Json | undefined;
}

/** Created contracts, in the order of the outputs. */
export interface MovedFunds {
  readonly made: readonly string[];
  readonly change: string | undefined;
}

/** `package:Module:Entity` of a created event. */
export function nameOf(createdEvent: Pick<CreatedEvent, 'packageName' | 'templateId'>): string {
  return `${createdEvent.packageName}:${entityOf(createdEvent.templateId)}`;
}

/** Contents of a holding's payload. Throws if the contract is not a holding. */
export function holdingFacts(created: CreatedEvent): HoldingFacts {
  const instrument = instrumentOf(nameOf(created), created.createArgument);
  if (instrument === undefined) throw assertionFailed(`${nameOf(created)} is not a holding`);
  return instrument.read(created.createArgument);
}

/** Units of a Numeric 10. Throws a refusal unless it is positive. */
export function positive(amount: string): bigint {
  const units = parseNumeric(amount) ?? 0n;
  if (units <= 0n) throw assertionFailed('the amount must be positive');
  return units;
}

/** Archives inputs. Returns their sum and the latest of their rounds. */
export function consume(
  context: ChoiceContext,
  inputs: readonly string[],
  sender: string,
): { readonly sum: bigint; readonly round: string } {
  let sum = 0n;
  let round = 0;
  for (const input of inputs) {
    const holding = context.fetch(input);
    const facts = holdingFacts(holding);
    sum += parseNumeric(facts.amount) ?? 0n;
    round = Math.max(round, Number(facts.round));
    context.exercise(input, 'Archive', {}, holding.signatories);
    if (facts.owner !== sender) throw assertionFailed(`the holding ${input.slice(0, 10)} is not the sender's`);
  }
  return { sum, round: String(round) };
}

/** Creates the outputs and the change from a sum. Throws if the sum is too small. */
export function payOut(
  context: ChoiceContext,
  instrument: InstrumentV1,
  { admin, sender, outputs }: Pick<Movement, 'admin' | 'sender' | 'outputs'>,
  { sum, round }: { readonly sum: bigint; readonly round: string },
): MovedFunds {
  const neededSum = outputs.reduce((total, { amount }) => total + positive(amount), 0n);
  if (sum < neededSum) {
    throw assertionFailed(`the inputs hold ${formatNumeric(sum)}, the transfer needs ${formatNumeric(neededSum)}`);
  }
  const create = ({ receiver: owner, amount, lock }: Output): string => {
    const holding = { admin, owner, amount: formatNumeric(positive(amount)), round };
    return lock === undefined
      ? context.create(instrument.holding, instrument.free(holding))
      : context.create(instrument.lockedHolding, instrument.locked(holding, lock));
  };
  const newHoldings = outputs.map(create);
  const change = sum > neededSum ? create({ receiver: sender, amount: formatNumeric(sum - neededSum) }) : undefined;
  return { made: newHoldings, change };
}

/** Moves funds of an instrument within a choice of its factory, its instruction or its allocation. */
export function moveFunds(context: ChoiceContext, instrument: InstrumentV1, movement: Movement): MovedFunds {
  const rules = asText(contextValue(movement.extraArgs, 'amulet-rules'));
  if (instrument === amulet && rules !== '') return moveByRules(context, rules, movement);
  return payOut(context, instrument, movement, consume(context, movement.inputs, movement.sender));
}

function moveByRules(context: ChoiceContext, rules: string, movement: Movement): MovedFunds {
  const { admin: expectedDso, sender, inputs, outputs, extraArgs } = movement;
  const openMiningRound = asText(contextValue(extraArgs, 'open-round'));
  const transfer = {
    sender,
    provider: sender,
    inputs: inputs.map((value) => ({ tag: 'InputAmulet', value })),
    outputs: outputs.map(({ receiver, amount, lock }) => ({
      receiver,
      receiverFeeRatio: formatNumeric(0n),
      amount: formatNumeric(positive(amount)),
      ...(lock === undefined ? {} : { lock: timeLock(lock) }),
    })),
  };
  const argument = {
    transfer,
    context: { openMiningRound, issuingMiningRounds: [], validatorRights: [] },
    expectedDso,
  };
  const result = context.exercise(rules, 'AmuletRules_Transfer', argument, [sender]);
  const createdHoldings = asObject(result)?.['createdAmulets'];
  const change = textAt(result, 'senderChangeAmulet');
  return {
    made: Array.isArray(createdHoldings)
      ? (createdHoldings as Json[]).map((amuletId) => textAt(amuletId, 'value'))
      : [],
    change: change === '' ? undefined : change,
  };
}

function timeLock({ holders, expiresAt, context }: NewLock): JsonObject {
  return { holders: [...holders], expiresAt, optContext: context };
}

/**
 * Ends the lock of a locked holding and returns the free holding. If only an archive can end the lock, it returns the
 * locked holding.
 */
export function unlock(
  context: ChoiceContext,
  instrument: InstrumentV1,
  lockedHolding: string,
  extraArgs: Json | undefined,
): string {
  if (instrument !== amulet) return lockedHolding;
  const holding = context.fetch(lockedHolding);
  const openRoundCid = asText(contextValue(extraArgs, 'open-round'));
  const result = context.exercise(lockedHolding, 'LockedAmulet_Unlock', { openRoundCid }, holding.signatories);
  return textAt(result, 'amuletSum', 'amulet');
}
