/**
 * Two users exchange dollars for pounds through the venue. Both allocate their amount, then one batch moves both
 * amounts.
 */
import type { JsonObject } from '../../wire/json.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { legSide } from '../registry/holdings-change.ts';
import { dollars, instrumentById, pounds } from '../templates/instruments.ts';
import { emptyMetadata, reasonMeta } from '../templates/metadata.ts';
import { interfacesV2, names } from '../templates/names.ts';
import { amountOf, drawDelayMicros, Weights } from './chance.ts';
import { tradeEndings } from './errand.ts';
import type { LegId, Trade } from './errand.ts';
import { mint } from './issuance.ts';
import type { MarketState } from './market-state.ts';

const second = 1_000_000;
const settleWithin = 300 * second;
/**
 * Weights of the endings of exchanges: settled, cancelled by the venue, or abandoned because the other user never
 * allocated. They are in the order of `tradeEndings`.
 */
const endingWeights = new Weights([0.88, 0.07, 0.05]);
const legMedian = 150;
/** Range of the price of a dollar, in hundredths of a pound. */
const rates = [74, 79] as const;

/** Two users agree; the first allocates the dollars in the same update. */
export function agreeExchange(state: MarketState, at: number): boolean {
  const { random, people } = state;
  const sender = people.user(random);
  const receiver = people.otherThan(sender, random);
  const units = amountOf(random, legMedian, 0.7);
  const returnedUnits = (units * BigInt(random.between(...rates))) / 100n;
  const trade: Trade = {
    workflowId: `fx-${random.hex(4)}`,
    legs: {
      delivery: { instrumentId: dollars.id, sender, receiver, units },
      payment: { instrumentId: pounds.id, sender: receiver, receiver: sender, units: returnedUnits },
    },
    ending: tradeEndings[endingWeights.draw(random)] ?? 'settle',
    allocations: new Map(),
    contractId: '',
  };
  return allocateExchange(state, trade, 'delivery', at);
}

function settlementOf(state: MarketState, trade: Trade): JsonObject {
  return { executors: [state.people.venue], id: trade.workflowId, cid: null, meta: emptyMetadata };
}

const legIds = ['delivery', 'payment'] as const;

/** The legs, as one of the two users sees them. */
function sidesFor(state: MarketState, trade: Trade, party: string): JsonObject[] {
  return legIds.map((id) => {
    const { instrumentId, sender, receiver, units } = trade.legs[id];
    const leg = { id, amount: formatNumeric(units), instrumentId, meta: reasonMeta(`exchange ${trade.workflowId}`) };
    const account = (otherParty: string): JsonObject => state.people.accountOf(otherParty);
    return sender === party
      ? legSide('SenderSide', leg, account(receiver))
      : legSide('ReceiverSide', leg, account(sender));
  });
}

/** Allocates one currency. If a user has too little of it, the user first pays some in. */
export function allocateExchange(state: MarketState, trade: Trade, leg: LegId, at: number): boolean {
  const { agenda, wallets, random, people } = state;
  const { instrumentId, sender, units } = trade.legs[leg];
  const instrument = instrumentById(instrumentId);
  const inputs = wallets.covering(sender, instrument, units);
  if (inputs === undefined) {
    agenda.add(at + second, { what: 'allocate-exchange', trade, leg });
    return mint(state, instrument, sender, at, 3n * units);
  }
  const allocation = {
    admin: people.bank,
    authorizer: people.accountOf(sender),
    transferLegSides: sidesFor(state, trade, sender),
    settlementDeadline: formatTimestamp(at + settleWithin),
    nextIterationFunding: null,
    committed: false,
    meta: emptyMetadata,
  };
  const argument = {
    settlement: settlementOf(state, trade),
    allocation,
    requestedAt: formatTimestamp(at),
    inputHoldingCids: [...inputs],
    extraArgs: state.extraArgs(instrument),
    actors: [sender],
  };
  const options = { at, workflowId: trade.workflowId, declaredBy: interfacesV2.allocationFactory };
  const rules = state.single(names.depositRules);
  const transaction = state.exercise(sender, rules, 'AllocationFactory_Allocate', argument, options);
  trade.allocations.set(leg, state.made(transaction, names.depositAllocation));
  if (leg === 'delivery' && trade.ending !== 'miss')
    agenda.add(at + drawDelayMicros(random, 15), { what: 'allocate-exchange', trade, leg: 'payment' });
  else if (leg === 'delivery') agenda.add(at + settleWithin + second, { what: 'leave-exchange', trade });
  else agenda.add(at + drawDelayMicros(random, 5), { what: 'conclude-exchange', trade });
  return true;
}

/** The venue settles both allocations in one update, or returns one after the other. */
export function concludeExchange(state: MarketState, trade: Trade, at: number): boolean {
  const { people, agenda } = state;
  const [extraArgs, actors] = [state.extraArgs(dollars), [people.venue]];
  const options = { at, workflowId: trade.workflowId };
  const cids = [...trade.allocations.values()].filter((cid) => state.payload(cid) !== undefined);
  if (trade.ending === 'settle') {
    if (cids.length < 2) return false;
    const transferLegs = legIds.map((id) => {
      const { instrumentId, sender, receiver, units } = trade.legs[id];
      const [from, to] = [people.accountOf(sender), people.accountOf(receiver)];
      const meta = reasonMeta(`exchange ${trade.workflowId}`);
      return { transferLegId: id, sender: from, receiver: to, amount: formatNumeric(units), instrumentId, meta };
    });
    const allocations = cids.map((allocationCid) => {
      return { allocationCid, extraTransferLegSides: [], nextIterationFunding: null };
    });
    const argument = { settlement: settlementOf(state, trade), transferLegs, allocations, actors, extraArgs };
    const rules = state.single(names.depositRules);
    const declaredBy = interfacesV2.settlementFactory;
    state.exercise(people.venue, rules, 'SettlementFactory_SettleBatch', argument, { ...options, declaredBy });
    return true;
  }
  const [allocation] = cids;
  if (allocation === undefined) return false;
  if (cids.length > 1) agenda.add(at + second, { what: 'conclude-exchange', trade });
  const declaredBy = interfacesV2.allocation;
  state.exercise(people.venue, allocation, 'Allocation_Cancel', { actors, extraArgs }, { ...options, declaredBy });
  return true;
}

/** The other user never allocated, so the first user takes the dollars back. */
export function leaveExchange(state: MarketState, trade: Trade, at: number): boolean {
  const allocation = trade.allocations.get('delivery') ?? '';
  if (state.payload(allocation) === undefined) return false;
  const { sender } = trade.legs.delivery;
  const argument = { actors: [sender], extraArgs: state.extraArgs(dollars) };
  const options = { at, workflowId: trade.workflowId, declaredBy: interfacesV2.allocation };
  state.exercise(sender, allocation, 'Allocation_Withdraw', argument, options);
  return true;
}
