/**
 * Allocations of Amulet by version 2 of the token standard. Some are locks of CIP-0105, which metadata marks: an
 * aggregate lock has no end, and an unlock turns it, or a part of it, into a lock whose amount vests over a year.
 */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asList, asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { formatNumeric, formatTimestamp, parseNumeric } from '../../wire/values.ts';
import { ownerOf } from '../registry/accounts.ts';
import { microsOf, never, replaceAmulets } from './amulet-changes.ts';
import { positive } from './funds.ts';
import type { Output } from './funds.ts';
import { amulet } from './instruments.ts';
import type { NewLock } from './instruments.ts';
import { emptyMetadata, kindMeta } from './metadata.ts';
import { interfacesV2, names } from './names.ts';
import { product, rounded } from './round-templates.ts';
import { requireFree } from './transfer-templates.ts';

/** Metadata keys of CIP-0105. */
const key = {
  type: 'cip-105/type',
  schedule: 'cip-105/vestingSchedule',
  start: 'cip-105/vestingLock.startDate',
  end: 'cip-105/vestingLock.endDate',
  initial: 'cip-105/vestingLock.initialAmount',
  unlockers: 'cip-105/unlockControllerSets',
  withdrawers: 'cip-105/withdrawControllerSets',
  amount: 'cip-105/withdraw-amount',
} as const;
/** Duration of vesting: 365.25 days, in microseconds. */
const vestingMicros = 31_557_600_000_000;

/** Metadata of an allocation that is an aggregate lock. */
export const aggregateLockMeta: JsonObject = { values: { [key.type]: 'aggregateLock', [key.schedule]: 'SV' } };

/** Metadata of an allocation whose amount vests. Times are API timestamps, the amount is a Numeric 10. */
export function vestingLockMeta(start: string, end: string, initialAmount: string): JsonObject {
  const dates = { [key.start]: start, [key.end]: end };
  return { values: { [key.type]: 'vestingLock', ...dates, [key.initial]: initialAmount } };
}

/** Metadata that names the parties that have to unlock together, and the parties that may withdraw alone. */
export function controllersMeta(unlockers: readonly string[], withdrawers: readonly string[]): JsonObject {
  return { values: { [key.unlockers]: unlockers.join(','), [key.withdrawers]: withdrawers.join(';') } };
}

/** Metadata of a request to unlock a part. */
export function withdrawAmountMeta(amount: string): JsonObject {
  return { values: { [key.amount]: amount } };
}

/** The payload of AmuletAllocationV2. */
interface AmuletAllocation {
  readonly dso: string;
  readonly settlement: JsonObject;
  readonly allocation: JsonObject;
  readonly expiresAt: string;
  readonly numIterations: number;
  readonly createdAt: string;
  readonly meta: Json;
}

function read(payload: JsonObject): AmuletAllocation & { readonly lockedAmulet: string } {
  return {
    dso: asText(payload['dso']),
    settlement: asObject(payload['settlement']) ?? {},
    allocation: asObject(payload['allocation']) ?? {},
    expiresAt: asText(payload['expiresAt']),
    numIterations: Number(payload['numIterations']),
    createdAt: asText(payload['createdAt']),
    meta: payload['meta'] ?? emptyMetadata,
    lockedAmulet: asText(payload['lockedAmulet']),
  };
}

/** Creates an allocation of a locked Amulet; an empty text if it locks nothing. */
function create(context: ChoiceContext, content: AmuletAllocation, lockedAmulet: string): string {
  return context.create(names.amuletAllocationV2, {
    lockedAmulet: lockedAmulet === '' ? null : lockedAmulet,
    ...content,
    numIterations: String(content.numIterations),
  });
}

/** The amount that an allocation keeps for later settlements, in units of 10^-10. */
function fundingOf(allocation: JsonObject): bigint {
  return parseNumeric(textAt(allocation, 'nextIterationFunding', amulet.id)) ?? 0n;
}

function withFunding(allocation: JsonObject, units: bigint): JsonObject {
  return { ...allocation, nextIterationFunding: { [amulet.id]: formatNumeric(units) } };
}

/** The amount that an allocation locks: what its account gives in the legs, and what it keeps for later. */
function lockedUnits(allocation: JsonObject): bigint {
  const given = asList(allocation['transferLegSides'])
    .filter((side) => textAt(side, 'side') === 'SenderSide')
    .reduce<bigint>((sum, side) => sum + (parseNumeric(textAt(side, 'amount')) ?? 0n), 0n);
  return given + fundingOf(allocation);
}

function lockFor({ dso, settlement, allocation, expiresAt }: AmuletAllocation): NewLock {
  const holders = [ownerOf(allocation['authorizer']), dso];
  return { holders, expiresAt, context: `allocation for ${asText(settlement['id'])}` };
}

/** An output for the owner of an allocation, locked by it. */
function locked(content: AmuletAllocation, units: bigint): Output {
  return {
    receiver: ownerOf(content.allocation['authorizer']),
    amount: formatNumeric(units),
    lock: lockFor(content),
  };
}

/** Locks Amulet for an allocation. */
const allocate: Choice = {
  consuming: false,
  interface: interfacesV2.allocationFactory,
  controllers: (_, argument) => asTexts(argument['actors']),
  run: (context) => {
    const { settlement, allocation, requestedAt, inputHoldingCids, extraArgs } = context.argument;
    const specification = asObject(allocation) ?? {};
    const isLong = typeOf(specification) !== '';
    const content = {
      dso: asText(context.contract.createArgument['dso']),
      settlement: asObject(settlement) ?? {},
      allocation: specification,
      expiresAt: isLong ? never : asText(specification['settlementDeadline']),
      numIterations: 0,
      createdAt: asText(requestedAt),
      meta: asObject(extraArgs)?.['meta'] ?? emptyMetadata,
    };
    const owner = ownerOf(specification['authorizer']);
    const outputs = [locked(content, lockedUnits(specification))];
    const reason = `lock for ${lockFor(content).context}`;
    const inputs = asTexts(inputHoldingCids);
    requireFree(context, inputs);
    const { made, change } = replaceAmulets(context, { admin: content.dso, owner, inputs, outputs, reason });
    const allocationCid = create(context, content, made[0] ?? '');
    return {
      output: { tag: 'AllocationInstructionResult_Completed', value: { allocationCid } },
      authorizerChangeCids: change === undefined ? {} : { [amulet.id]: [change] },
      meta: emptyMetadata,
    };
  },
};

function typeOf(allocation: JsonObject): string {
  return textAt(allocation, 'meta', 'values', key.type);
}

/** The sets of parties that may withdraw together, according to metadata; without it, the owner alone. */
function controllersOf({ meta, allocation }: Pick<AmuletAllocation, 'meta' | 'allocation'>): readonly string[][] {
  const setsKey = typeOf(allocation) === 'aggregateLock' ? key.unlockers : key.withdrawers;
  const sets = textAt(meta, 'values', setsKey) || textAt(allocation, 'meta', 'values', setsKey);
  return (sets || ownerOf(allocation['authorizer'])).split(';').map((set) => set.split(','));
}

function requireControllers(content: AmuletAllocation, actors: readonly string[]): void {
  const isAllowed = controllersOf(content).some(
    (set) => set.length === actors.length && set.every((party) => actors.includes(party)),
  );
  if (!isAllowed) throw assertionFailed('the actors must be one of the sets of controllers');
}

/** An ending of an allocation: the next allocation if there is one, and holdings of its account. */
function ended(tag: string, next: string | null, holdings: readonly string[], kind: JsonObject): JsonObject {
  const value = tag === 'Settled' ? { nextIterationAllocationCid: next } : {};
  return {
    output: { tag: `AllocationResult_${tag}`, value },
    authorizerHoldingCids: { [amulet.id]: [...holdings] },
    meta: kind,
  };
}

/** Turns an aggregate lock, or a part of it, into a lock whose amount vests from now. */
function unlockAggregate(context: ChoiceContext, content: AmuletAllocation, lockedAmulet: string): JsonObject {
  const { allocation, dso: admin, numIterations } = content;
  const owner = ownerOf(allocation['authorizer']);
  const requested = textAt(context.argument['extraArgs'], 'meta', 'values', key.amount);
  const all = fundingOf(allocation);
  const units = requested === '' ? all : positive(requested);
  const end = formatTimestamp(microsOf(context.time) + vestingMicros);
  const vesting = {
    ...content,
    allocation: {
      ...withFunding(allocation, units),
      meta: vestingLockMeta(context.time, end, formatNumeric(units)),
    },
    numIterations: 0,
    createdAt: context.time,
  };
  const rest = { ...content, allocation: withFunding(allocation, all - units), numIterations: numIterations + 1 };
  const outputs = [locked(vesting, units), ...(all === units ? [] : [locked(rest, all - units)])];
  const { made } = replaceAmulets(context, { admin, owner, inputs: [lockedAmulet], outputs, reason: 'unlock' });
  const [vestingAmulet = '', restAmulet] = made;
  create(context, vesting, vestingAmulet);
  const next = restAmulet === undefined ? null : create(context, rest, restAmulet);
  return ended('Settled', next, made, kindMeta('unlock', owner));
}

/** The amount that has vested by now and was not withdrawn yet, in units of 10^-10. */
function vestedUnits(allocation: JsonObject, now: string): bigint {
  const valueOf = (field: string): string => textAt(allocation, 'meta', 'values', field);
  const [start, end, at] = [valueOf(key.start), valueOf(key.end), now].map((time) => BigInt(microsOf(time)));
  const left = fundingOf(allocation);
  if (start === undefined || end === undefined || at === undefined || at >= end) return left;
  const initial = parseNumeric(valueOf(key.initial)) ?? 0n;
  const elapsedShare = rounded((at - start) * 10n ** 10n, end - start);
  const vested = product(initial, elapsedShare);
  return vested - (initial - left);
}

function withdrawVested(context: ChoiceContext, content: AmuletAllocation, lockedAmulet: string): JsonObject {
  const { allocation, dso: admin, numIterations } = content;
  const owner = ownerOf(allocation['authorizer']);
  const units = vestedUnits(allocation, context.time);
  if (units <= 0n) throw assertionFailed('nothing has vested since the last withdrawal');
  const left = fundingOf(allocation) - units;
  const rest = { ...content, allocation: withFunding(allocation, left), numIterations: numIterations + 1 };
  const outputs = left > 0n ? [locked(rest, left)] : [];
  const replacing = { admin, owner, inputs: [lockedAmulet], outputs, reason: 'withdrawal of a vested amount' };
  const { made, change } = replaceAmulets(context, replacing);
  const next = left > 0n ? create(context, rest, made[0] ?? '') : null;
  return ended('Settled', next, [...made, change ?? ''], kindMeta('unlock', owner));
}

/** Returns the amount to its owner. */
function returnAll(context: ChoiceContext, content: AmuletAllocation, lockedAmulet: string, tag: string): JsonObject {
  const owner = ownerOf(content.allocation['authorizer']);
  const replacing = { admin: content.dso, owner, inputs: [lockedAmulet], outputs: [], reason: 'unlock' };
  const { change } = replaceAmulets(context, replacing);
  return ended(tag, null, [change ?? ''], kindMeta('unlock', owner));
}

/** Begins the next iteration of an allocation. In this demo, it has no legs, and only its amount may become lower. */
function iterate(context: ChoiceContext, content: AmuletAllocation, lockedAmulet: string): JsonObject {
  const { allocation, dso: admin, numIterations } = content;
  const owner = ownerOf(allocation['authorizer']);
  const next = asObject(context.argument['nextIterationFunding']);
  if (next === undefined || asList(allocation['transferLegSides']).length > 0)
    throw assertionFailed('allocations of Amulet with legs are settled by version 1');
  const units = parseNumeric(textAt(next, amulet.id)) ?? 0n;
  const rest = { ...content, allocation: withFunding(allocation, units), numIterations: numIterations + 1 };
  const replacing = { admin, owner, inputs: [lockedAmulet], outputs: [locked(rest, units)], reason: 'next iteration' };
  const { made, change } = replaceAmulets(context, replacing);
  const cid = create(context, rest, made[0] ?? '');
  return ended('Settled', cid, [...made, ...(change === undefined ? [] : [change])], kindMeta('transfer', owner));
}

function withdraw(context: ChoiceContext, content: AmuletAllocation, lockedAmulet: string): JsonObject {
  const actors = asTexts(context.argument['actors']);
  const type = typeOf(content.allocation);
  requireControllers(content, actors);
  if (type === 'aggregateLock') return unlockAggregate(context, content, lockedAmulet);
  if (type === 'vestingLock') return withdrawVested(context, content, lockedAmulet);
  if (content.allocation['committed'] === true) throw assertionFailed('a committed allocation cannot be withdrawn');
  return returnAll(context, content, lockedAmulet, 'Withdrawn');
}

type Ending = (context: ChoiceContext, content: AmuletAllocation, lockedAmulet: string) => JsonObject;

/** A choice that archives the allocation. */
function endingChoice(ending: Ending): Choice {
  return {
    consuming: false,
    interface: interfacesV2.allocation,
    controllers: (_, argument) => asTexts(argument['actors']),
    run: (context) => {
      const { contract } = context;
      const { lockedAmulet, ...content } = read(contract.createArgument);
      context.exercise(contract.contractId, 'Archive', {}, contract.signatories);
      return ending(context, content, lockedAmulet);
    },
  };
}

const byExecutors =
  (ending: Ending): Ending =>
  (context, content, lockedAmulet) => {
    const actors = asTexts(context.argument['actors']);
    if (!asTexts(content.settlement['executors']).every((party) => actors.includes(party)))
      throw assertionFailed('only allowed to the executors');
    return ending(context, content, lockedAmulet);
  };

function view(payload: JsonObject): JsonObject {
  const { settlement, allocation, lockedAmulet, createdAt, expiresAt, numIterations, meta } = read(payload);
  const executors = asTexts(settlement['executors']);
  const actorsByChoice = { Settle: [executors], Cancel: [executors], Withdraw: controllersOf({ meta, allocation }) };
  return {
    originalAllocationCid: null,
    settlement,
    allocation,
    holdingCids: lockedAmulet === '' ? [] : [lockedAmulet],
    createdAt,
    numIterations: String(numIterations),
    expiresAt: expiresAt === '' ? null : expiresAt,
    availableActions: Object.entries(actorsByChoice).map(([action, actors]) => [
      { tag: `AA_${action}`, value: {} },
      actors,
    ]),
    meta,
  };
}

/** The template of allocations of Amulet by version 2. */
export const amuletAllocation: Template = {
  name: names.amuletAllocationV2,
  signatories: (payload) => [asText(payload['dso']), ownerOf(asObject(payload['allocation'])?.['authorizer'])],
  observers: (payload) => asTexts(asObject(payload['settlement'])?.['executors']),
  interfaces: [{ name: interfacesV2.allocation, view }],
  choices: {
    Allocation_Settle: endingChoice(byExecutors(iterate)),
    Allocation_Cancel: endingChoice(
      byExecutors((context, content, lockedAmulet) => returnAll(context, content, lockedAmulet, 'Cancelled')),
    ),
    Allocation_Withdraw: endingChoice(withdraw),
  },
};

/** Adds version 2 of allocations to the factory of Amulet, and choices of its own. */
export function lockingFactory(factory: Template, choices: Template['choices']): Template {
  const factoryView = (payload: JsonObject): JsonObject => ({ admin: asText(payload['dso']), meta: emptyMetadata });
  const version1 = factory.choices['AllocationFactory_Allocate'] ?? [];
  return {
    ...factory,
    interfaces: [...factory.interfaces, { name: interfacesV2.allocationFactory, view: factoryView }],
    choices: { ...factory.choices, AllocationFactory_Allocate: [version1, allocate].flat(), ...choices },
  };
}
