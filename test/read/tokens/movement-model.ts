/**
 * An independent reference model of token movements. It generates updates as frames with a few kinds of movements. For
 * each movement, it records the reported movement and the change of the holdings of each account. Amounts are bigints
 * in units of 10^-10.
 */
import * as frames from '../../support/frames.ts';
import * as tokens from './token-frames.ts';

/** One movement as numbers, so that it can be generated and shrunk. */
export interface Movement {
  readonly kind: 'mint' | 'burn' | 'transfer' | 'lock' | 'merge' | 'transient' | 'noise';
  /** Index of the account, instrument or holding in its list, modulo the length of the list. */
  readonly from: number;
  readonly to: number;
  readonly instrument: number;
  readonly holding: number;
  readonly amount: bigint;
  /** Additional fee in units of 10^-10. */
  readonly fee: bigint;
  readonly leg: string;
}

/** How movements are reported: events of version 2, choices of both versions with or without events, or not at all. */
export type ReportedDetail = 'events' | 'all' | 'choices' | 'nothing';

export interface Step {
  readonly movements: readonly Movement[];
  readonly telling: ReportedDetail;
  /** Whether fees are reported as legs paid to the admin. */
  readonly feesAreTold: boolean;
  /** Instead of the movements, a holding leaves for another synchronizer or arrives from one. */
  readonly reassigns: boolean;
}

export interface Change {
  readonly offset: number;
  readonly account: string;
  amountIn: bigint;
  amountOut: bigint;
  lockedIn: bigint;
  lockedOut: bigint;
  holdingsIn: number;
  holdingsOut: number;
}

interface HeldHolding extends tokens.Holding {
  readonly units: bigint;
  /** Whether the holding is in flight to another synchronizer. */
  travels: boolean;
  /** Offset of the create, or of the last assignment. */
  offset: number;
  nodeId: number;
}

const { alice, bob } = frames;
const carol = 'Carol::1220cc';
export const owners = [alice, bob, carol];
const bank = 'bank::1220ba';
/** Two admins use the same name for an instrument. */
const instruments: readonly tokens.Instrument[] = [
  { admin: 'admin::1220ad', id: 'Coin' },
  { admin: 'other::1220ad', id: 'Coin' },
  { admin: 'admin::1220ad', id: 'Bond' },
];
const accounts: readonly tokens.Account[] = [
  ...owners.map(tokens.own),
  { owner: alice, provider: null, id: 'savings' },
  { owner: bob, provider: bank, id: '' },
  { owner: carol, provider: bank, id: 'savings' },
];
const mints: tokens.Account = { owner: null, provider: null, id: 'cip-112/mint' };

/** Account and instrument as one text, in the format of {@link keySql}. */
function keyOf({ owner, provider, id }: tokens.Account, { admin, id: instrument }: tokens.Instrument): string {
  return [owner ?? '-', provider ?? '-', id, admin, instrument].join('|');
}
export const keySql = `concat_ws('|', coalesce(owner, '-'), coalesce(provider, '-'), account_id, instrument_admin, instrument_id)`;

export function decimal(units: bigint): string {
  const digits = units.toString().padStart(11, '0');
  return `${digits.slice(0, -10)}.${digits.slice(-10)}`;
}

interface Side {
  readonly account: tokens.Account;
  readonly instrument: tokens.Instrument;
  readonly leg: tokens.Leg;
}

export class TokenModel {
  readonly frames: frames.JsonRecord[] = [];
  readonly changes: Change[] = [];
  /** Balances by account after each offset, without zero balances. */
  readonly balances: ReadonlyMap<string, bigint>[] = [new Map()];
  /** Active holdings, as the ledger lists them after each offset. */
  readonly listed: (readonly frames.JsonRecord[])[] = [[]];
  /** Reported movements, in the format of {@link movementSql}. */
  readonly reportedMovements: string[] = [];
  /** Offset and account of each fee for which the admin logged no leg, although it logged the other movements. */
  readonly untold: string[] = [];
  #held = new Map<string, HeldHolding>();
  #made = 0;
  #update: Update | undefined;

  get offset(): number {
    return this.frames.length;
  }

  step(step: Step): void {
    const offset = this.offset + 1;
    if (step.reassigns) this.#reassign(offset, step.movements[0]?.holding ?? 0);
    else this.#transact(offset, step);
    this.balances.push(this.#sums());
    this.listed.push([...this.#held.values()].filter(({ travels: isTravelling }) => !isTravelling).map(entryOf));
  }

  #transact(offset: number, step: Step): void {
    const update = new Update(offset, step);
    this.#update = update;
    for (const movement of step.movements) this.#move(movement, update);
    this.frames.push(frames.transaction(offset, update.finished()));
    this.changes.push(...update.changes.values());
    this.reportedMovements.push(...update.reportedMovements);
    this.untold.push(...[...update.fees].filter(([, fee]) => fee > 0n).map(([key]) => `${String(offset)}|${key}`));
  }

  #move(movement: Movement, update: Update): void {
    const instrument = elementAt(instruments, movement.instrument);
    const from = elementAt(accounts, movement.from);
    const to = elementAt(accounts, movement.to);
    switch (movement.kind) {
      case 'mint':
        this.#make(to, instrument, movement.amount, null);
        return update.report(mints, to, instrument, movement.amount, movement.leg);
      case 'noise':
        return update.noise(to, instrument);
      case 'transient':
        this.#make(from, instrument, movement.amount + movement.fee, null);
        update.report(mints, from, instrument, movement.amount + movement.fee, movement.leg);
        return this.#pay(movement, from, instrument, to);
      case 'burn':
        return this.#burn(from, instrument, movement);
      case 'transfer':
        return this.#pay(movement, from, instrument, to);
      case 'lock':
        return this.#remake(from, instrument, movement, { holders: [bank], expiresAfter: { microseconds: '1' } });
      case 'merge':
        return this.#remake(from, instrument, movement, null);
    }
  }

  /** One to three holdings of an account; empty if it has none. */
  #inputs(account: tokens.Account, instrument: tokens.Instrument, { holding }: Movement): readonly HeldHolding[] {
    const partyHoldings = [...this.#held.values()].filter(
      (heldHolding) =>
        !heldHolding.travels && keyOf(heldHolding.account, heldHolding.instrument) === keyOf(account, instrument),
    );
    return partyHoldings.slice(0, 1 + (holding % 3));
  }

  #burn(account: tokens.Account, instrument: tokens.Instrument, movement: Movement): void {
    const inputs = this.#inputs(account, instrument, movement);
    if (inputs.length === 0) return;
    this.#take(inputs);
    this.#update?.report(account, mints, instrument, sum(inputs), movement.leg);
  }

  /** Pays the amount, or as much as the account has. The change is returned to the payer. */
  #pay(movement: Movement, from: tokens.Account, instrument: tokens.Instrument, to: tokens.Account): void {
    const inputs = this.#inputs(from, instrument, movement);
    if (inputs.length === 0) return;
    const inputSum = sum(inputs);
    const amount = smaller(movement.amount, inputSum);
    const fee = smaller(movement.fee, inputSum - amount);
    this.#take(inputs);
    this.#make(to, instrument, amount, null);
    if (inputSum > amount + fee) this.#make(from, instrument, inputSum - amount - fee, null);
    this.#update?.report(from, to, instrument, amount, movement.leg);
    this.#update?.fee(from, instrument, fee);
  }

  /** Merges, splits, locks and unlocks holdings. Nothing moves between accounts. */
  #remake(
    account: tokens.Account,
    instrument: tokens.Instrument,
    movement: Movement,
    lock: frames.JsonRecord | null,
  ): void {
    const inputs = this.#inputs(account, instrument, movement);
    if (inputs.length === 0) return;
    const inputSum = sum(inputs);
    const movedPart = smaller(movement.amount, inputSum);
    this.#take(inputs);
    this.#make(account, instrument, movedPart, lock);
    if (inputSum > movedPart) this.#make(account, instrument, inputSum - movedPart, null);
    this.#update?.mention(account, instrument);
  }

  #take(inputs: readonly HeldHolding[]): void {
    for (const input of inputs) {
      this.#held.delete(input.contractId);
      this.#update?.remove(input, keyOf(input.account, input.instrument));
    }
  }

  #make(account: tokens.Account, instrument: tokens.Instrument, units: bigint, lock: frames.JsonRecord | null): void {
    this.#made += 1;
    const contractId = `00${this.#made.toString(16).padStart(6, '0')}`;
    const { offset = 0 } = this.#update ?? {};
    const holding = { contractId, account, instrument, amount: decimal(units), lock, units };
    const holdingEntry = { ...holding, travels: false, offset, nodeId: 0, amountV1: decimal(units + 1n) };
    this.#held.set(contractId, holdingEntry);
    this.#update?.add(holdingEntry, keyOf(account, instrument));
  }

  #reassign(offset: number, index: number): void {
    const holdings = [...this.#held.values()];
    const holding = holdings[index % Math.max(holdings.length, 1)];
    if (holding === undefined) {
      this.frames.push(frames.transaction(offset, []));
      return;
    }
    const key = keyOf(holding.account, holding.instrument);
    const change = changeOf(offset, key);
    holding.travels = !holding.travels;
    count(change, holding, holding.travels ? -1 : 1);
    this.changes.push(change);
    if (holding.travels) {
      const unassignedFrame = frames.unassigned({ contractId: holding.contractId, offset });
      this.frames.push(frames.reassignment(offset, { JsUnassignedEvent: { value: unassignedFrame } }));
      return;
    }
    Object.assign(holding, { offset, nodeId: 0 });
    const createdEvent = { ...tokens.holding(holding), offset, nodeId: 0 };
    const assignedFrame = frames.assigned({ source: frames.there, target: frames.here, createdEvent });
    this.frames.push(frames.reassignment(offset, { JsAssignmentEvent: assignedFrame }));
  }

  #sums(): ReadonlyMap<string, bigint> {
    const sums = new Map<string, bigint>();
    for (const { account, instrument, units, travels: isTravelling } of this.#held.values()) {
      const key = keyOf(account, instrument);
      if (!isTravelling) sums.set(key, (sums.get(key) ?? 0n) + units);
    }
    return sums;
  }
}

/** Builds the events of one update, and records them in the model. */
class Update {
  readonly changes = new Map<string, Change>();
  readonly reportedMovements: string[] = [];
  readonly fees = new Map<string, bigint>();
  readonly offset: number;
  readonly #step: Step;
  readonly #events: frames.JsonRecord[] = [];
  readonly #legs: Side[] = [];
  readonly #mentioned: Omit<Side, 'leg'>[] = [];
  readonly #new = new Map<string, frames.JsonRecord>();

  constructor(offset: number, step: Step) {
    this.offset = offset;
    this.#step = step;
  }

  add(holding: HeldHolding, key: string): void {
    holding.nodeId = this.#events.length;
    const event = tokens.held(holding, holding.nodeId);
    this.#events.push(event);
    this.#new.set(holding.contractId, event['CreatedEvent'] as frames.JsonRecord);
    count(this.#change(key), holding, 1);
  }

  remove(holding: HeldHolding, key: string): void {
    // Contracts created and ended in one update never become active.
    const createdHolding = this.#new.get(holding.contractId);
    if (createdHolding !== undefined) createdHolding['acsDelta'] = false;
    const change = createdHolding === undefined ? {} : { acsDelta: false };
    this.#events.push(tokens.gone(holding.contractId, this.#events.length, change));
    count(this.#change(key), holding, -1);
  }

  /** A third party logs a movement that did not happen. */
  noise(account: tokens.Account, instrument: tokens.Instrument): void {
    const leg = { side: 'ReceiverSide', other: mints, amount: '1000000.0000000000' } as const;
    this.#events.push(tokens.logged({ account, instrument, legs: [leg], by: 'Mallory::1220ee' }, this.#events.length));
  }

  report(from: tokens.Account, to: tokens.Account, instrument: tokens.Instrument, amount: bigint, leg: string): void {
    const { telling: reportedDetail } = this.#step;
    const isPlainTransfer = [from, to].every(
      ({ owner, provider, id }) => owner !== null && provider === null && id === '',
    );
    if (isPlainTransfer && reportedDetail !== 'events' && reportedDetail !== 'nothing')
      this.#steps(from, to, instrument, amount);
    const usesEvents = reportedDetail === 'events' || reportedDetail === 'all';
    if (usesEvents) {
      const text = decimal(amount);
      this.#legs.push({ account: from, instrument, leg: { side: 'SenderSide', other: to, amount: text, leg } });
      this.#legs.push({ account: to, instrument, leg: { side: 'ReceiverSide', other: from, amount: text, leg } });
    }
    if (!usesEvents && !(isPlainTransfer && reportedDetail === 'choices')) return;
    const basis = usesEvents ? 'event' : 'choice';
    const accountPair = [from, to].map(({ owner, provider, id }) => [owner ?? '-', provider ?? '-', id].join('|'));
    const movementText = [instrument.admin, instrument.id, decimal(amount), usesEvents ? leg : '-', basis];
    this.reportedMovements.push([String(this.offset), ...accountPair, ...movementText].join('|'));
  }

  fee(account: tokens.Account, instrument: tokens.Instrument, fee: bigint): void {
    if (fee === 0n) return;
    if (this.#step.feesAreTold) return this.report(account, mints, instrument, fee, 'fee');
    const logs = this.#step.telling === 'events' || this.#step.telling === 'all';
    const key = keyOf(account, instrument);
    if (logs) this.fees.set(key, (this.fees.get(key) ?? 0n) + fee);
  }

  mention(account: tokens.Account, instrument: tokens.Instrument): void {
    this.#mentioned.push({ account, instrument });
  }

  /** Adds the choice of version 2, and the choice of version 1 inside it. */
  #steps(from: tokens.Account, to: tokens.Account, instrument: tokens.Instrument, amount: bigint): void {
    const nodeId = this.#events.length;
    const step = { sender: from.owner ?? '', receiver: to.owner ?? '', instrument, amount: decimal(amount) };
    this.#events.push(tokens.transferred({ ...step, version: 2, lastDescendantNodeId: nodeId + 1 }, nodeId));
    this.#events.push(tokens.transferred({ ...step, version: 1 }, nodeId + 1));
  }

  /**
   * All events of the update. The events of the registry come last. There are one or two per account and instrument,
   * with all legs.
   */
  finished(): frames.JsonRecord[] {
    const logs = this.#step.telling === 'events' || this.#step.telling === 'all';
    const groups = new Map<string, Side[]>();
    for (const side of this.#legs) {
      const key = keyOf(side.account, side.instrument);
      groups.set(key, [...(groups.get(key) ?? []), side]);
    }
    for (const legSides of groups.values()) {
      const sideCount = Math.ceil(legSides.length / 2);
      this.#log(legSides.slice(0, sideCount));
      if (sideCount < legSides.length) this.#log(legSides.slice(sideCount));
    }
    const mentionedAccounts = logs ? this.#mentioned : [];
    for (const mentionedAccount of mentionedAccounts)
      this.#events.push(tokens.logged({ ...mentionedAccount, legs: [] }, this.#events.length));
    return this.#events;
  }

  #log(legSides: readonly Side[]): void {
    const [first] = legSides;
    if (first === undefined) return;
    const { account, instrument } = first;
    const legs = legSides.map(({ leg }) => leg);
    this.#events.push(tokens.logged({ account, instrument, legs }, this.#events.length));
  }

  #change(key: string): Change {
    const change = this.changes.get(key) ?? changeOf(this.offset, key);
    this.changes.set(key, change);
    return change;
  }
}

function changeOf(offset: number, account: string): Change {
  return { offset, account, amountIn: 0n, amountOut: 0n, lockedIn: 0n, lockedOut: 0n, holdingsIn: 0, holdingsOut: 0 };
}

function count(change: Change, { units, lock }: HeldHolding, sign: 1 | -1): void {
  const lockedUnits = lock === null || lock === undefined ? 0n : units;
  if (sign > 0) {
    change.amountIn += units;
    change.lockedIn += lockedUnits;
    change.holdingsIn += 1;
  } else {
    change.amountOut += units;
    change.lockedOut += lockedUnits;
    change.holdingsOut += 1;
  }
}

function entryOf(holding: HeldHolding): frames.JsonRecord {
  const createdEvent = { ...tokens.holding(holding), offset: holding.offset, nodeId: holding.nodeId };
  return frames.entry('JsActiveContract', { createdEvent, synchronizerId: frames.here, reassignmentCounter: 0 });
}

function elementAt<T>(list: readonly T[], index: number): T {
  const elementFound = list[index % list.length];
  if (elementFound === undefined) throw new Error('an empty list');
  return elementFound;
}

const sum = (holdings: readonly HeldHolding[]): bigint => holdings.reduce((total, { units }) => total + units, 0n);
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
