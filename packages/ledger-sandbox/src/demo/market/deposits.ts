/**
 * Deposits of the bank are paid in, paid out and transferred. Version 1 of the token standard is used if it supports
 * both accounts.
 */
import type { JsonObject } from '../../wire/json.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { isBasic } from '../registry/accounts.ts';
import { deposits } from '../templates/instruments.ts';
import type { Instrument } from '../templates/instruments.ts';
import { emptyMetadata, reasonMeta } from '../templates/metadata.ts';
import { interfaces, interfacesV2, names } from '../templates/names.ts';
import type { MarketState } from './market-state.ts';
import { executeWithin } from './payment.ts';
import type { Payment } from './payment.ts';

/** Share of the transfers between basic accounts for which a wallet still uses version 1. */
const version1Share = 0.35;

/** A user pays money into an account. */
export function mintDeposit(
  state: MarketState,
  { id: currency }: Instrument,
  { owner, amount }: { readonly owner: string; readonly amount: string },
  at: number,
): boolean {
  const { people, random } = state;
  const reason = `SWIFT ${random.between(100_000, 999_999)}`;
  const argument = { account: people.accountOf(owner), currency, amount, reason };
  state.exercise(people.bank, state.single(names.depositRules), 'DepositRules_Mint', argument, { at });
  return true;
}

/** The bank pays out a deposit of a user. */
export function payOutDeposit(state: MarketState, owner: string, at: number): boolean {
  const { random, wallets } = state;
  const [holding] = deposits.flatMap((instrument) => wallets.of(owner, instrument).slice(0, 1));
  if (holding === undefined) return false;
  const argument = { rules: state.single(names.depositRules), reason: `payout ${random.between(1000, 9999)}` };
  state.exercise(owner, holding, 'Deposit_PayOut', argument, { at });
  return true;
}

/** Requests a transfer from the bank. Returns the instruction of a two-step transfer. Empty for a one-step transfer. */
export function startDeposit(state: MarketState, payment: Payment, at: number): string {
  const { instrument, sender, receiver, units, inputs, reason, oneStep } = payment;
  const { people, random } = state;
  const [from, to] = [people.accountOf(sender), people.accountOf(receiver)];
  const usesVersion1 = isBasic(from) && isBasic(to) && random.chance(version1Share);
  const admin = people.bank;
  const transfer = {
    sender: usesVersion1 ? sender : from,
    receiver: usesVersion1 ? receiver : to,
    amount: formatNumeric(units),
    instrumentId: { admin, id: instrument.id },
    requestedAt: formatTimestamp(at),
    executeBefore: formatTimestamp(at + executeWithin),
    inputHoldingCids: [...inputs],
    meta: reason === '' ? emptyMetadata : reasonMeta(reason),
  };
  const extraArgs = state.extraArgs(instrument, oneStep);
  const argument = usesVersion1
    ? { expectedAdmin: admin, transfer, extraArgs }
    : { transfer, actors: [sender], extraArgs };
  const declaredBy = (usesVersion1 ? interfaces : interfacesV2).transferFactory;
  const rules = state.single(names.depositRules);
  const transaction = state.exercise(sender, rules, 'TransferFactory_Transfer', argument, { at, declaredBy });
  return state.made(transaction, instrument.instruction);
}

/** The choice that ends a two-step transfer. */
export interface DepositEnd {
  readonly by: string;
  readonly instruction: string;
  readonly choice: string;
  readonly extraArgs: JsonObject;
}

/** The second step of a transfer of deposits. */
export function endDeposit(
  state: MarketState,
  { by: actor, instruction, choice, extraArgs }: DepositEnd,
  at: number,
): boolean {
  const { random } = state;
  // The context of the second step contains the rules, like that of the first step.
  const usesVersion1 = random.chance(version1Share) && knowsVersion1(state.payload(instruction));
  const argument = usesVersion1 ? { extraArgs } : { actors: [actor], extraArgs };
  const declaredBy = (usesVersion1 ? interfaces : interfacesV2).transferInstruction;
  state.exercise(actor, instruction, choice, argument, { at, declaredBy });
  return true;
}

function knowsVersion1(payload: JsonObject | undefined): boolean {
  const { sender, receiver } = (payload?.['transfer'] ?? {}) as JsonObject;
  return isBasic(sender) && isBasic(receiver);
}
