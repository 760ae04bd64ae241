/**
 * Locks of Amulet that support a featured application, or the rights of a super validator. An unlock turns the amount,
 * or a part of it, into a lock whose amount vests.
 */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import type { Choice, ChoiceContext, Template } from '../../contracts/model.ts';
import { formatNumeric, formatTimestamp, parseNumeric } from '../../wire/values.ts';
import { endOfTime, microsOf, replaceAmulets } from './amulet-changes.ts';
import { positive } from './funds.ts';
import { names } from './names.ts';
import { dso, rounded } from './round-templates.ts';
import { requireFree } from './transfer-templates.ts';

const day = 86_400;
/** Duration of vesting in seconds: 60 days, and 365 days and six hours. */
const vestingSeconds = { GLK_FeaturedApp: 60 * day, GLK_SuperValidatorRightsOwner: 365.25 * day };

type Kind = keyof typeof vestingSeconds;

/** The subject that an amount is locked for. */
export function specificationOf(kind: Kind, subject: string): JsonObject {
  const value = kind === 'GLK_FeaturedApp' ? { provider: subject } : { svName: subject };
  return { kind: { tag: kind, value } };
}

function subjectOf(specification: Json | undefined): string {
  const provider = textAt(specification, 'kind', 'value', 'provider');
  if (provider !== '') return `Featured App party ${provider}`;
  return `SV rights for ${textAt(specification, 'kind', 'value', 'svName')}`;
}

/** The text in a lock that supports a subject; `isVesting` once it was unlocked. */
export function lockContext(specification: Json | undefined, isVesting: boolean): string {
  return `${isVesting ? 'Unlocking from supporting' : 'Locked to support'} ${subjectOf(specification)}`;
}

function requireOwner(owner: string, { argument }: ChoiceContext): void {
  const actors = asTexts(argument['actors']);
  if (actors.length !== 1 || actors[0] !== owner) throw assertionFailed('only the owner may unlock');
}

/** The choice of the rules that locks Amulet without an end. */
export const lockForGovernance: Choice = {
  consuming: false,
  controllers: (_, argument) => [asText(argument['owner'])],
  run: (context) => {
    const { amount, inputs, specification = null, owner } = context.argument;
    const [admin = ''] = dso(context.contract.createArgument);
    requireFree(context, asTexts(inputs));
    const text = lockContext(specification, false);
    const lock = { holders: [admin], expiresAt: endOfTime, context: text };
    const output = { receiver: asText(owner), amount: asText(amount), lock };
    const replacing = { admin, owner: asText(owner), inputs: asTexts(inputs), outputs: [output] };
    const { made, change } = replaceAmulets(context, { ...replacing, reason: `lock for ${text}` });
    const [lockedAmulet = ''] = made;
    const content = { dso: admin, owner: asText(owner), amount: formatNumeric(positive(asText(amount))) };
    const governanceLock = context.create(names.governanceLock, { ...content, lockedAmulet, specification });
    return { governanceLock, changeHolding: change ?? null };
  },
};

const unlock: Choice = {
  consuming: true,
  controllers: (_, argument) => asTexts(argument['actors']),
  run: (context) => {
    const payload = context.contract.createArgument;
    const { specification = null, lockedAmulet } = payload;
    const [admin, owner] = [asText(payload['dso']), asText(payload['owner'])];
    requireOwner(owner, context);
    const all = positive(asText(payload['amount']));
    const requested = asText(context.argument['unlockAmount']);
    const units = requested === '' ? all : positive(requested);
    if (units > all) throw assertionFailed('more than the locked amount');
    const kind = textAt(specification, 'kind', 'tag') as Kind;
    const period = vestingSeconds[kind] * 1_000_000;
    const endTime = formatTimestamp(microsOf(asText(context.argument['unlockAt'])) + period);
    const output = (amount: bigint, isVesting: boolean) => ({
      receiver: owner,
      amount: formatNumeric(amount),
      lock: {
        holders: [admin],
        expiresAt: isVesting ? endTime : endOfTime,
        context: lockContext(specification, isVesting),
      },
    });
    const outputs = [output(units, true), ...(units === all ? [] : [output(all - units, false)])];
    const replacing = { admin, owner, inputs: [asText(lockedAmulet)], outputs };
    const { made } = replaceAmulets(context, { ...replacing, reason: `lock for ${lockContext(specification, true)}` });
    const [vesting = '', rest] = made;
    const parties = { dso: admin, owner };
    const amount = formatNumeric(all - units);
    const governanceLock =
      rest === undefined
        ? null
        : context.create(names.governanceLock, { ...parties, amount, lockedAmulet: rest, specification });
    const vestingLock = context.create(names.vestingLock, {
      ...parties,
      lockedAmulet: vesting,
      vestingPeriod: { microseconds: String(period) },
      endTime,
      vestingAmount: formatNumeric(units),
      specification,
    });
    return { vestingLock, governanceLock };
  },
};

/** The amount that has not vested at a time, in units of 10^-10. Times have no fractions of a second. */
function vestingUnits(payload: JsonObject, at: number): bigint {
  const end = microsOf(asText(payload['endTime']));
  const period = BigInt(textAt(payload, 'vestingPeriod', 'microseconds'));
  const all = parseNumeric(asText(payload['vestingAmount'])) ?? 0n;
  const left = BigInt(end - at);
  if (left >= period) return all;
  if (left <= 0n) return 0n;
  return rounded(all * left, period);
}

/** Pays what has vested. After the end, the lock of the Amulet has ended too, and nothing is created. */
const withdraw: Choice = {
  consuming: true,
  controllers: (_, argument) => asTexts(argument['actors']),
  run: (context) => {
    const payload = context.contract.createArgument;
    const { specification = null, lockedAmulet, endTime = null } = payload;
    const [admin, owner] = [asText(payload['dso']), asText(payload['owner'])];
    requireOwner(owner, context);
    const at = microsOf(asText(context.argument['requestedAt']));
    const units = vestingUnits(payload, at);
    if (units === 0n) return { vestingLock: null, vested: asText(lockedAmulet) };
    const lock = { holders: [admin], expiresAt: asText(endTime), context: lockContext(specification, true) };
    const outputs = [{ receiver: owner, amount: formatNumeric(units), lock }];
    const reason = 'withdrawal of a vested amount';
    const { made, change } = replaceAmulets(context, { admin, owner, inputs: [asText(lockedAmulet)], outputs, reason });
    if (change === undefined) throw assertionFailed('nothing has vested since the last withdrawal');
    const vestingLock = context.create(names.vestingLock, {
      ...payload,
      lockedAmulet: made[0] ?? '',
      vestingPeriod: { microseconds: String(microsOf(asText(endTime)) - at) },
      vestingAmount: formatNumeric(units),
    });
    return { vestingLock, vested: change };
  },
};

/** Ends a lock that has vested. The Amulet is the owner's again, because its own lock has ended. */
const expire: Choice = {
  consuming: true,
  controllers: dso,
  run: ({ contract: { createArgument: payload }, time }) => {
    if (microsOf(time) <= microsOf(asText(payload['endTime']))) throw assertionFailed('the amount still vests');
    return {};
  },
};

const signatories = (payload: JsonObject): string[] => [...dso(payload), asText(payload['owner'])];

/** The templates of locks for governance. */
export function governanceTemplates(): Template[] {
  return [
    {
      name: names.governanceLock,
      signatories,
      observers: (payload) => {
        const provider = textAt(asObject(payload['specification']), 'kind', 'value', 'provider');
        return provider === '' ? [] : [provider];
      },
      interfaces: [],
      choices: { GovernanceLock_Unlock: unlock },
    },
    {
      name: names.vestingLock,
      signatories,
      observers: () => [],
      interfaces: [],
      choices: { VestingLock_Withdraw: withdraw, VestingLock_DsoExpire: expire },
    },
  ];
}
