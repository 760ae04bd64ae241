/** Transfers between users, in one step or two, and owners who merge and split their holdings. */
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { amountOf, drawDelayMicros, Weights } from './chance.ts';
import { transferEndings } from './errand.ts';
import type { TransferEnd } from './errand.ts';
import type { MarketState } from './market-state.ts';
import { instrumentById, instruments, isDeposit } from '../templates/instruments.ts';
import type { Instrument } from '../templates/instruments.ts';
import { endDeposit, startDeposit } from './deposits.ts';
import { mint } from './issuance.ts';
import { executeWithin } from './payment.ts';
import type { Payment } from './payment.ts';
import { reasonMeta, emptyMetadata } from '../templates/metadata.ts';

const second = 1_000_000;
const oneStepShare = 0.7;
/** Median amount of a transfer, in units of its instrument. */
const transferMedian = 120;
/** If an owner has more holdings than this, a payment uses more of them than it needs. */
const manyHoldings = 7;

/** Weights of the instruments in transfers, in the order of `instruments`. */
const popularity = new Weights([0.46, 0.24, 0.12, 0.12, 0.06]);
/** Weights of the endings of transfers in two steps, in the order of `transferEndings`. */
const endingWeights = new Weights([0.85, 0.08, 0.05, 0.02]);
const delaysByEnding = { Accept: 40, Reject: 70, Withdraw: 120 };
const reasons = ['invoice', 'rent', 'salary', 'refund', 'settlement', 'subscription'];

/** A random instrument, by these weights. */
export function randomInstrument(state: MarketState): Instrument {
  return instruments[popularity.draw(state.random)] ?? instruments[0];
}

/** Exercises the factory. Returns the instruction of a transfer in two steps; empty for one in one step. */
function start(state: MarketState, payment: Payment, at: number): string {
  const { instrument, sender, receiver, units, inputs, reason, oneStep } = payment;
  if (isDeposit(instrument)) return startDeposit(state, payment, at);
  const admin = state.people.adminOf(instrument.id);
  const transfer = {
    sender,
    receiver,
    amount: formatNumeric(units),
    instrumentId: { admin, id: instrument.id },
    requestedAt: formatTimestamp(at),
    executeBefore: formatTimestamp(at + executeWithin),
    inputHoldingCids: [...inputs],
    meta: reason === '' ? emptyMetadata : reasonMeta(reason),
  };
  const extraArgs = state.extraArgs(instrument, oneStep);
  const argument = { expectedAdmin: admin, transfer, extraArgs };
  const factory = state.single(instrument.factory);
  const transaction = state.exercise(sender, factory, 'TransferFactory_Transfer', argument, { at });
  return state.made(transaction, instrument.instruction);
}

/** Inputs of the sender: enough for the amount, and more if the sender has many. */
function inputsOf(state: MarketState, sender: string, instrument: Instrument): readonly string[] {
  const ownedHoldings = state.wallets.of(sender, instrument);
  return ownedHoldings.slice(
    0,
    ownedHoldings.length > manyHoldings ? ownedHoldings.length - 2 : state.random.between(1, 3),
  );
}

/** A payment from one user to another. */
export function transfer(state: MarketState, at: number): boolean {
  const { random, people, wallets } = state;
  const instrument = randomInstrument(state);
  const sender = people.user(random);
  const inputs = inputsOf(state, sender, instrument);
  if (inputs.length === 0) return mint(state, instrument, sender, at);
  const sum = wallets.sum(inputs);
  const amount = amountOf(random, transferMedian);
  const units = amount < sum ? amount : sum;
  const oneStep = random.chance(oneStepShare);
  const receiver = people.otherThan(sender, random);
  const reason = `${reasons[random.between(0, reasons.length - 1)] ?? ''} ${random.between(1000, 9999)}`;
  const instruction = start(state, { instrument, sender, receiver, units, inputs, reason, oneStep }, at);
  if (instruction !== '') plan(state, { instrument, sender, receiver }, instruction, at);
  return true;
}

function plan(
  state: MarketState,
  payment: Pick<Payment, 'instrument' | 'sender' | 'receiver'>,
  instruction: string,
  at: number,
): void {
  const { random, agenda } = state;
  const ending = transferEndings[endingWeights.draw(random)] ?? 'Accept';
  const delayMicros =
    ending === 'Expire'
      ? executeWithin + second
      : Math.min(drawDelayMicros(random, delaysByEnding[ending]), executeWithin - second);
  const { instrument, sender, receiver } = payment;
  agenda.add(at + delayMicros, {
    what: 'end-transfer',
    instruction,
    instrumentId: instrument.id,
    sender,
    receiver,
    ending,
  });
}

/** The second step of a transfer. */
export function endTransfer(state: MarketState, end: TransferEnd, at: number): boolean {
  const { instruction, instrumentId, sender, receiver, ending } = end;
  if (state.payload(instruction) === undefined) return false;
  const isExpired = ending === 'Expire';
  const { context } = state.extraArgs(instrumentById(instrumentId)) as { context: { values: Record<string, never> } };
  const extraArgs = { context, meta: isExpired ? reasonMeta('expired') : emptyMetadata };
  const choice = `TransferInstruction_${isExpired ? 'Withdraw' : ending}`;
  const actor = isExpired || ending === 'Withdraw' ? sender : receiver;
  if (isDeposit(instrumentById(instrumentId)))
    return endDeposit(state, { by: actor, instruction, choice, extraArgs }, at);
  state.exercise(actor, instruction, choice, { extraArgs }, { at });
  return true;
}

/** An owner pays itself: many holdings become one, or one becomes two. */
export function mergeSplit(state: MarketState, at: number): boolean {
  const { random, people, wallets } = state;
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const instrument = randomInstrument(state);
    const sender = people.user(random);
    const ownedHoldings = wallets.of(sender, instrument);
    const merge = ownedHoldings.length > 3;
    if (ownedHoldings.length === 0 || (!merge && random.chance(0.5))) continue;
    const inputs = merge ? ownedHoldings.slice(0, 20) : ownedHoldings.slice(0, 1);
    const sum = wallets.sum(inputs);
    if (sum < 4n) continue;
    const units = merge ? sum : sum / 2n;
    start(state, { instrument, sender, receiver: sender, units, inputs, reason: '', oneStep: true }, at);
    return true;
  }
  return false;
}
