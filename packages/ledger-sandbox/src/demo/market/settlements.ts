/** Delivery versus payment: two users trade a bond or Amulet for stable-coins through a venue, in six transactions. */
import { asObject } from '../../wire/json.ts';
import type { Json, JsonObject } from '../../wire/json.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { amountOf, patience, Weights } from './chance.ts';
import { tradeEndings } from './errand.ts';
import type { Leg, LegId, Trade } from './errand.ts';
import type { Floor } from './floor.ts';
import { amulet, bond, instrumentById, stableCoin } from '../templates/instruments.ts';
import { mint } from './issuance.ts';
import { noExtraArgs, noMeta } from '../templates/metadata.ts';
import { names } from '../templates/names.ts';
import { settlementOf } from '../templates/settlement-templates.ts';

const second = 1_000_000;
const prepareWithin = 240 * second;
const settleWithin = 360 * second;
/** How trades end: settled, cancelled by the venue, or not settled in time. In the order of `tradeEndings`. */
const endingWeights = new Weights([0.9, 0.07, 0.03]);
/** Median sizes of the two legs, in whole units. */
const legMedian = 60;

function legJson(floor: Floor, { instrumentId: id, sender, receiver, units }: Leg): JsonObject {
  const instrumentId = { admin: floor.people.adminOf(id), id };
  return { sender, receiver, amount: formatNumeric(units), instrumentId, meta: noMeta };
}

/** Two users agree on a trade: the first step is the proposal of the seller. */
export function propose(floor: Floor, at: number): boolean {
  const { random, people } = floor;
  const seller = people.user(random);
  const buyer = people.otherThan(seller, random);
  const delivery = {
    instrumentId: (random.chance(0.7) ? bond : amulet).id,
    sender: seller,
    receiver: buyer,
    units: amountOf(random, legMedian, 0.7),
  };
  const payment = {
    instrumentId: stableCoin.id,
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
  const transferLegs = { delivery: legJson(floor, delivery), payment: legJson(floor, payment) };
  const proposal = { venue: people.venue, tradeCid: null, transferLegs, approvers: [seller] };
  const done = floor.create(seller, names.tradeProposal, proposal, { at, workflowId: trade.workflowId });
  const contractId = floor.made(done, names.tradeProposal);
  floor.agenda.add(at + patience(random, 20), { what: 'accept-trade', trade, proposal: contractId });
  return true;
}

/** The buyer agrees. */
export function accept(floor: Floor, trade: Trade, proposal: string, at: number): boolean {
  const approver = trade.legs.payment.sender;
  const more = { at, workflowId: trade.workflowId };
  const done = floor.exercise(approver, proposal, 'OTCTradeProposal_Accept', { approver }, more);
  const accepted = floor.made(done, names.tradeProposal);
  floor.agenda.add(at + patience(floor.random, 8), { what: 'initiate-trade', trade, proposal: accepted });
  return true;
}

/** The venue asks both for what they promised. */
export function initiate(floor: Floor, trade: Trade, proposal: string, at: number): boolean {
  const { people, agenda, random } = floor;
  const argument = {
    prepareUntil: formatTimestamp(at + prepareWithin),
    settleBefore: formatTimestamp(at + settleWithin),
  };
  const more = { at, workflowId: trade.workflowId };
  const done = floor.exercise(people.venue, proposal, 'OTCTradeProposal_InitiateSettlement', argument, more);
  trade.contractId = floor.made(done, names.trade);
  const wait = (): number => Math.min(patience(random, 20), prepareWithin - second);
  const [first, then] = [wait(), wait()];
  agenda.add(at + first, { what: 'allocate-leg', trade, leg: 'delivery' });
  // Who misses a settlement has never set the payment aside.
  if (trade.ending !== 'miss') agenda.add(at + first + then, { what: 'allocate-leg', trade, leg: 'payment' });
  else agenda.add(at + settleWithin + second, { what: 'take-back', trade });
  return true;
}

/** Sets one leg aside. A trader without enough is topped up first. */
export function allocate(floor: Floor, trade: Trade, leg: LegId, at: number): boolean {
  const { agenda, wallets, random, people } = floor;
  const { instrumentId, sender, units } = trade.legs[leg];
  const instrument = instrumentById(instrumentId);
  const inputs = wallets.covering(sender, instrument, units);
  const payload = floor.payload(trade.contractId);
  if (payload === undefined) return false;
  if (inputs === undefined) {
    agenda.add(at + second, { what: 'allocate-leg', trade, leg });
    return mint(floor, instrument, sender, at, 3n * units);
  }
  const transferLeg = asObject(payload['transferLegs'])?.[leg] ?? null;
  const allocation = { settlement: settlementOf(payload), transferLegId: leg, transferLeg };
  const argument = {
    expectedAdmin: people.adminOf(instrument.id),
    allocation,
    requestedAt: formatTimestamp(at),
    inputHoldingCids: [...inputs],
    extraArgs: floor.extraArgs(instrument),
  };
  const more = { at, workflowId: trade.workflowId };
  const factory = floor.single(instrument.factory);
  const done = floor.exercise(sender, factory, 'AllocationFactory_Allocate', argument, more);
  trade.allocations.set(leg, floor.made(done, instrument.allocation));
  if (trade.allocations.size === 2) agenda.add(at + patience(random, 10), { what: 'conclude-trade', trade });
  return true;
}

/** The venue settles, or gives everything back. */
export function conclude(floor: Floor, trade: Trade, at: number): boolean {
  if (floor.payload(trade.contractId) === undefined) return false;
  const pairs = [...trade.allocations].map(([leg, _1]): [string, Json] => {
    return [leg, { _1, _2: floor.extraArgs(instrumentById(trade.legs[leg].instrumentId)) }];
  });
  const choice = trade.ending === 'settle' ? 'OTCTrade_Settle' : 'OTCTrade_Cancel';
  const argument = { allocationsWithContext: Object.fromEntries(pairs) };
  floor.exercise(floor.people.venue, trade.contractId, choice, argument, { at, workflowId: trade.workflowId });
  return true;
}

/** After the time to settle: the seller takes its holding back, then the venue gives up. */
export function takeBack(floor: Floor, trade: Trade, at: number): boolean {
  const allocation = trade.allocations.get('delivery') ?? '';
  const { instrumentId, sender } = trade.legs.delivery;
  const more = { at, workflowId: trade.workflowId };
  floor.agenda.add(at + 20 * second, { what: 'give-up-trade', trade });
  if (floor.payload(allocation) === undefined) return false;
  const extraArgs = floor.extraArgs(instrumentById(instrumentId));
  floor.exercise(sender, allocation, 'Allocation_Withdraw', { extraArgs }, more);
  return true;
}

/** The venue withdraws a trade that was not settled. */
export function giveUp(floor: Floor, trade: Trade, at: number): boolean {
  if (floor.payload(trade.contractId) === undefined) return false;
  const argument = { extraArgs: noExtraArgs };
  const more = { at, workflowId: trade.workflowId };
  floor.exercise(floor.people.venue, trade.contractId, 'AllocationRequest_Withdraw', argument, more);
  return true;
}
