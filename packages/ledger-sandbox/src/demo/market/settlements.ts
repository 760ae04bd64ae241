/** Delivery versus payment: two users trade a bond or Amulet for money through a venue, in six transactions. */
import { asObject } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { amountOf, drawDelayMicros, Weights } from './chance.ts';
import { tradeEndings } from './errand.ts';
import type { Leg, LegId, Trade } from './errand.ts';
import type { MarketState } from './market-state.ts';
import { amulet, bond, dollars, instrumentById, stableCoin } from '../templates/instruments.ts';
import { isBasic } from '../registry/accounts.ts';
import { mint } from './issuance.ts';
import { emptyExtraArgs, emptyMetadata } from '../templates/metadata.ts';
import { interfaces, names } from '../templates/names.ts';
import { settlementOf } from '../templates/settlement-templates.ts';

const second = 1_000_000;
const prepareWithin = 240 * second;
const settleWithin = 360 * second;
/**
 * Weights of the endings of trades: settled, cancelled by the venue, or not settled in time. In the order of
 * `tradeEndings`.
 */
const endingWeights = new Weights([0.9, 0.07, 0.03]);
/** Share of the trades between basic accounts that are paid with deposits. */
const depositShare = 0.6;
/** Median amounts of the two legs, in units of their instruments. */
const legMedian = 60;

function legJson(state: MarketState, { instrumentId: id, sender, receiver, units }: Leg): JsonObject {
  const instrumentId = { admin: state.people.adminOf(id), id };
  return { sender, receiver, amount: formatNumeric(units), instrumentId, meta: emptyMetadata };
}

/** Two users agree on a trade. The first step is the proposal of the seller. */
export function propose(state: MarketState, at: number): boolean {
  const { random, people } = state;
  const seller = people.user(random);
  const buyer = people.otherThan(seller, random);
  const delivery = {
    instrumentId: (random.chance(0.7) ? bond : amulet).id,
    sender: seller,
    receiver: buyer,
    units: amountOf(random, legMedian, 0.7),
  };
  // The payment is in stable-coins or deposits. The choices of version 1 know only basic accounts.
  const basic = [seller, buyer].every((party) => isBasic(people.accountOf(party)));
  const payment = {
    instrumentId: (basic && random.chance(depositShare) ? dollars : stableCoin).id,
    sender: buyer,
    receiver: seller,
    units: amountOf(random, legMedian, 0.7),
  };
  const trade: Trade = {
    workflowId: `dvp-${random.hex(4)}`,
    legs: { delivery, payment },
    ending: tradeEndings[endingWeights.draw(random)] ?? 'settle',
    allocations: new Map(),
    contractId: '',
  };
  const transferLegs = { delivery: legJson(state, delivery), payment: legJson(state, payment) };
  const proposal = { venue: people.venue, tradeCid: null, transferLegs, approvers: [seller] };
  const transaction = state.create(seller, names.tradeProposal, proposal, { at, workflowId: trade.workflowId });
  const contractId = state.made(transaction, names.tradeProposal);
  state.agenda.add(at + drawDelayMicros(random, 20), { what: 'accept-trade', trade, proposal: contractId });
  return true;
}

/** The buyer agrees. */
export function accept(state: MarketState, trade: Trade, proposal: string, at: number): boolean {
  const approver = trade.legs.payment.sender;
  const options = { at, workflowId: trade.workflowId };
  const transaction = state.exercise(approver, proposal, 'OTCTradeProposal_Accept', { approver }, options);
  const acceptedTrade = state.made(transaction, names.tradeProposal);
  state.agenda.add(at + drawDelayMicros(state.random, 8), { what: 'initiate-trade', trade, proposal: acceptedTrade });
  return true;
}

/** The venue requests both promised legs. */
export function initiate(state: MarketState, trade: Trade, proposal: string, at: number): boolean {
  const { people, agenda, random } = state;
  const argument = {
    prepareUntil: formatTimestamp(at + prepareWithin),
    settleBefore: formatTimestamp(at + settleWithin),
  };
  const options = { at, workflowId: trade.workflowId };
  const transaction = state.exercise(people.venue, proposal, 'OTCTradeProposal_InitiateSettlement', argument, options);
  trade.contractId = state.made(transaction, names.trade);
  const drawDelay = (): number => Math.min(drawDelayMicros(random, 20), prepareWithin - second);
  const [first, secondDelay] = [drawDelay(), drawDelay()];
  agenda.add(at + first, { what: 'allocate-leg', trade, leg: 'delivery' });
  // A user who misses a settlement never allocates the payment.
  if (trade.ending !== 'miss') agenda.add(at + first + secondDelay, { what: 'allocate-leg', trade, leg: 'payment' });
  else agenda.add(at + settleWithin + second, { what: 'take-back', trade });
  return true;
}

/** Allocates one leg. If a trader has too little, the trader first receives the missing amount. */
export function allocate(state: MarketState, trade: Trade, leg: LegId, at: number): boolean {
  const { agenda, wallets, random, people } = state;
  const { instrumentId, sender, units } = trade.legs[leg];
  const instrument = instrumentById(instrumentId);
  const inputs = wallets.covering(sender, instrument, units);
  const payload = state.payload(trade.contractId);
  if (payload === undefined) return false;
  if (inputs === undefined) {
    agenda.add(at + second, { what: 'allocate-leg', trade, leg });
    return mint(state, instrument, sender, at, 3n * units);
  }
  const transferLeg = asObject(payload['transferLegs'])?.[leg] ?? null;
  const allocation = { settlement: settlementOf(payload), transferLegId: leg, transferLeg };
  const argument = {
    expectedAdmin: people.adminOf(instrument.id),
    allocation,
    requestedAt: formatTimestamp(at),
    inputHoldingCids: [...inputs],
    extraArgs: state.extraArgs(instrument),
  };
  const options = { at, workflowId: trade.workflowId, declaredBy: interfaces.allocationFactory };
  const factory = state.single(instrument.factory);
  const transaction = state.exercise(sender, factory, 'AllocationFactory_Allocate', argument, options);
  trade.allocations.set(leg, state.made(transaction, instrument.allocation));
  if (trade.allocations.size === 2) agenda.add(at + drawDelayMicros(random, 10), { what: 'conclude-trade', trade });
  return true;
}

/** The venue settles, or returns both legs. */
export function conclude(state: MarketState, trade: Trade, at: number): boolean {
  if (state.payload(trade.contractId) === undefined) return false;
  const pairs = [...trade.allocations].map(([leg, _1]): [string, Json] => {
    return [leg, { _1, _2: state.extraArgs(instrumentById(trade.legs[leg].instrumentId)) }];
  });
  const choice = trade.ending === 'settle' ? 'OTCTrade_Settle' : 'OTCTrade_Cancel';
  const argument = { allocationsWithContext: Object.fromEntries(pairs) };
  state.exercise(state.people.venue, trade.contractId, choice, argument, { at, workflowId: trade.workflowId });
  return true;
}

/** When the time to settle has passed, the seller takes its holding back, and then the venue cancels the trade. */
export function withdrawAllocations(state: MarketState, trade: Trade, at: number): boolean {
  const allocation = trade.allocations.get('delivery') ?? '';
  const { instrumentId, sender } = trade.legs.delivery;
  const options = { at, workflowId: trade.workflowId, declaredBy: interfaces.allocation };
  state.agenda.add(at + 20 * second, { what: 'give-up-trade', trade });
  if (state.payload(allocation) === undefined) return false;
  const extraArgs = state.extraArgs(instrumentById(instrumentId));
  state.exercise(sender, allocation, 'Allocation_Withdraw', { extraArgs }, options);
  return true;
}

/** The venue withdraws a trade that was not settled. */
export function abandon(state: MarketState, trade: Trade, at: number): boolean {
  if (state.payload(trade.contractId) === undefined) return false;
  const argument = { extraArgs: emptyExtraArgs };
  const options = { at, workflowId: trade.workflowId };
  state.exercise(state.people.venue, trade.contractId, 'AllocationRequest_Withdraw', argument, options);
  return true;
}
