/** Ends and creates holdings of an account inside a choice, with the issuer's log of the change. */
import { assertionFailed } from '../../wire/daml-failure.ts';
import { asObject, asText, asTexts, textAt } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import { formatNumeric, parseNumeric } from '../../wire/values.ts';
import type { ChoiceContext } from '../../contracts/model.ts';
import { contextValue, emptyMetadata, reasonMeta } from '../templates/metadata.ts';
import { interfacesV2 } from '../templates/names.ts';
import { isSameAccount, ownerOf, partiesOf } from './accounts.ts';
import type { Registry } from './registry.ts';

/** Context of a change. */
export interface ChangeContext {
  readonly context: ChoiceContext;
  readonly registry: Registry;
  readonly admin: string;
  /** Contract id of the rules. */
  readonly rules: string;
}

/** Units of 10^-10 by instrument. */
export type AmountsByInstrument = Map<string, bigint>;

export const units = (amount: Json | undefined): bigint => parseNumeric(asText(amount)) ?? 0n;

/**
 * The context of a change. The rules are those in the context of the choice, or the contract itself if it is the rules.
 */
export function contextIn(context: ChoiceContext, registry: Registry, admin: string): ChangeContext {
  const ownContractId = context.contract.contractId;
  const rules = asText(contextValue(context.argument['extraArgs'], registry.rulesKey));
  return { context, registry, admin, rules: rules === '' ? ownContractId : rules };
}

/**
 * Archives holdings of an account. Throws for holdings of another account, and for locked ones unless they are
 * expected.
 */
export function takeHoldings(
  { context, registry, admin }: ChangeContext,
  account: Json,
  inputs: readonly string[],
  isLocked = false,
): AmountsByInstrument {
  const sums: AmountsByInstrument = new Map();
  for (const input of inputs) {
    const contract = context.fetch(input);
    const view = registry.holding.read(contract.createArgument);
    const holdingText = `the holding ${input.slice(0, 10)}`;
    if (!isSameAccount(view['account'], account)) throw assertionFailed(`${holdingText} is of another account`);
    if (textAt(view, 'instrumentId', 'admin') !== admin) throw assertionFailed(`${holdingText} is of another registry`);
    if (!isLocked && asObject(view['lock']) !== undefined) throw assertionFailed(`${holdingText} is locked`);
    const id = textAt(view, 'instrumentId', 'id');
    sums.set(id, (sums.get(id) ?? 0n) + units(view['amount']));
    context.exercise(input, 'Archive', {}, contract.signatories);
  }
  return sums;
}

/** Creates a holding of an account; undefined if the amount is 0. */
export function createHolding(
  { context, registry, admin }: ChangeContext,
  account: Json,
  id: string,
  amount: bigint,
  lock: JsonObject | null = null,
): string | undefined {
  if (amount === 0n) return undefined;
  if (amount < 0n) throw assertionFailed(`${formatNumeric(-amount)} of ${id} are missing`);
  const view = { account, instrumentId: { admin, id }, amount: formatNumeric(amount), lock, meta: emptyMetadata };
  return context.create(registry.holding.template, registry.holding.write(view));
}

/** The change of an account in a log event. */
export interface LoggedHolding {
  readonly account: Json;
  readonly inputs: readonly string[];
  /** Each element is a `TransferLegSide`. */
  readonly sides?: readonly JsonObject[];
  readonly outputs: readonly (string | undefined)[];
  readonly reason?: string;
}

/** Logs a change. A change of an account of the issuer has no observers. */
export function log(
  { context, admin, rules }: Pick<ChangeContext, 'context' | 'admin' | 'rules'>,
  { account, inputs, sides: legSides = [], outputs, reason = '' }: LoggedHolding,
): void {
  if (ownerOf(account) === '') return;
  const argument = {
    admin,
    account,
    inputHoldingCids: [...inputs],
    transferLegSides: [...legSides],
    outputHoldingCids: outputs.filter((output) => output !== undefined),
    observers: partiesOf(account),
    extraArgs: { context: { values: {} }, meta: reason === '' ? emptyMetadata : reasonMeta(reason) },
  };
  context.exercise(rules, 'EventLog_HoldingsChange', argument, [admin], interfacesV2.eventLog);
}

/** One leg, as its sender or receiver sees it. */
export function legSide(
  side: 'SenderSide' | 'ReceiverSide',
  leg: { readonly id?: string; readonly amount: string; readonly instrumentId: string; readonly meta: Json },
  otherside: Json,
): JsonObject {
  const { id = '', amount, instrumentId, meta } = leg;
  return { transferLegId: id, side, otherside, amount, instrumentId, meta };
}

/** The choice that the rules, and other templates with an event log, implement. */
export const eventLogChoice = {
  consuming: false,
  interface: interfacesV2.eventLog,
  controllers: (_: JsonObject, argument: JsonObject) => [asText(argument['admin'])],
  observers: (argument: JsonObject) => asTexts(argument['observers']),
  run: () => ({}),
} as const;
