/**
 * Reads raw updates as JSON: how the holdings of each owner change, and how much of it the events of the update say.
 * It shares no code with the templates of the demo.
 */
import { expect } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (current, key) =>
      typeof current === 'object' && current !== null && !Array.isArray(current)
        ? (current as { readonly [key: string]: Json })[key]
        : undefined,
    value,
  );
}

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

/** An amount with ten digits after the point, in units of 10^-10. */
function units(value: Json | undefined): bigint {
  const [integer = '0', fraction = ''] = (text(value) || '0').split('.');
  return BigInt(integer + fraction.padEnd(10, '0'));
}

/** Amounts by owner and instrument. */
export type Amounts = Map<string, bigint>;

function add(amounts: Amounts, owner: string, instrument: string, amount: bigint): void {
  const key = `${owner} ${instrument}`;
  amounts.set(key, (amounts.get(key) ?? 0n) + amount);
}

/** A holding in the payload of a created contract. */
export interface RawHolding {
  readonly owner: string;
  readonly instrument: string;
  readonly amount: bigint;
  readonly isLocked: boolean;
}

const entityOf = (id: Json | undefined): string => text(id).slice(text(id).lastIndexOf(':') + 1);

function holdingOf(created: Json | undefined): RawHolding | undefined {
  const payload = at(created, 'createArgument');
  const isLocked = (at(payload, 'lock') ?? null) !== null;
  switch (entityOf(at(created, 'templateId'))) {
    case 'Amulet':
    case 'LockedAmulet': {
      const amulet = isLocked ? at(payload, 'amulet') : payload;
      const amount = units(at(amulet, 'amount', 'initialAmount'));
      return { owner: text(at(amulet, 'owner')), instrument: 'Amulet', amount, isLocked };
    }
    case 'Token':
    case 'BondHolding': {
      const instrument = text(at(payload, 'isin')) || 'EURX';
      return { owner: text(at(payload, 'owner')), instrument, amount: units(at(payload, 'amount')), isLocked };
    }
    case 'Deposit': {
      const [owner, instrument] = [text(at(payload, 'account', 'owner')), text(at(payload, 'instrumentId', 'id'))];
      return { owner, instrument, amount: units(at(payload, 'amount')), isLocked };
    }
    default:
      return undefined;
  }
}

/** Effects of one update on holdings. */
export interface HoldingChanges {
  /** Changes of the sums of holdings. */
  readonly changed: Amounts;
  /** Changes that the events of the update report. */
  readonly reported: Amounts;
}

/** Follows the holdings of a ledger from its first update. */
export class HoldingReader {
  readonly #payloads = new Map<string, Json>();
  readonly active = new Map<string, RawHolding>();

  /** @param update as a participant prints it */
  read(update: Json): HoldingChanges {
    const changes: HoldingChanges = { changed: new Map(), reported: new Map() };
    const [kind = ''] = Object.keys(update as object);
    const events = list(at(update, kind, 'value', 'events'));
    for (const event of events) this.#readEvent(event, changes);
    return changes;
  }

  #readEvent(event: Json, changes: HoldingChanges): void {
    const [kind = ''] = Object.keys(event as object);
    const content = at(event, kind);
    if (kind === 'CreatedEvent') this.#begin(content, changes.changed);
    else if (kind === 'ExercisedEvent') {
      this.#report(content, changes.reported);
      if (at(content, 'consuming') === true) this.#end(text(at(content, 'contractId')), changes.changed);
    } else if (kind === 'JsAssignmentEvent') {
      this.#begin(at(content, 'createdEvent'), changes.changed);
      this.#travelled(text(at(content, 'createdEvent', 'contractId')), changes.reported, 1n);
    } else if (kind === 'JsUnassignedEvent') {
      const contractId = text(at(content, 'value', 'contractId'));
      this.#travelled(contractId, changes.reported, -1n);
      this.#end(contractId, changes.changed);
    }
  }

  #begin(created: Json | undefined, changed: Amounts): void {
    const contractId = text(at(created, 'contractId'));
    this.#payloads.set(contractId, at(created, 'createArgument') ?? null);
    const holding = holdingOf(created);
    if (holding === undefined) return;
    this.active.set(contractId, holding);
    add(changed, holding.owner, holding.instrument, holding.amount);
  }

  #end(contractId: string, changed: Amounts): void {
    const holding = this.active.get(contractId);
    if (holding === undefined) return;
    this.active.delete(contractId);
    add(changed, holding.owner, holding.instrument, -holding.amount);
  }

  /** A holding between two synchronizers belongs to no active contract. */
  #travelled(contractId: string, reported: Amounts, sign: bigint): void {
    const holding = this.active.get(contractId);
    if (holding !== undefined) add(reported, holding.owner, holding.instrument, sign * holding.amount);
  }

  /** Adds what an exercise says: a mint, a burn, or a payment from one owner to another. */
  #report(exercise: Json | undefined, reported: Amounts): void {
    const [argument, result] = [at(exercise, 'choiceArgument'), at(exercise, 'exerciseResult')];
    const payload = this.#payloads.get(text(at(exercise, 'contractId')));
    const whole = this.active.get(text(at(exercise, 'contractId')));
    const burn = (): void => {
      if (whole !== undefined) add(reported, whole.owner, whole.instrument, -whole.amount);
    };
    switch (text(at(exercise, 'choice'))) {
      case 'AmuletRules_Mint':
        return add(reported, text(at(argument, 'receiver')), 'Amulet', units(at(argument, 'amount')));
      case 'AmuletRules_Transfer':
        return reportAmuletTransfer(argument, result, reported);
      case 'AmuletRules_BuyMemberTraffic':
        return add(reported, text(at(argument, 'provider')), 'Amulet', -units(at(result, 'amuletPaid')));
      case 'Amulet_Expire':
      case 'Token_Burn':
      case 'BondHolding_Redeem':
        return burn();
      case 'Mint':
      case 'Issue': {
        const instrument = text(at(payload, 'isin')) || 'EURX';
        return add(reported, text(at(payload, 'owner')), instrument, units(at(payload, 'amount')));
      }
      case 'EventLog_HoldingsChange':
        return reportLegs(argument, reported);
      case 'TransferFactory_Transfer':
        return reportTransfer(at(argument, 'transfer'), result, reported);
      case 'TransferInstruction_Accept':
        return reportPayment(at(payload, 'transfer'), reported);
      case 'Allocation_ExecuteTransfer':
        return reportPayment(at(payload, 'allocation', 'transferLeg'), reported);
      default:
    }
  }
}

/** Fails unless every update of a ledger changes holdings as its events report. Returns the number of updates. */
export function expectReportedChanges(ledger: Ledger, reader = new HoldingReader()): number {
  const differences: string[] = [];
  let updates = 0;
  for (const { offset, update } of ledger.range(0, ledger.ledgerEnd(), Infinity)) {
    if (update === undefined || 'TopologyTransaction' in update) continue;
    updates += 1;
    const { changed, reported } = reader.read(JSON.parse(JSON.stringify(update)) as Json);
    for (const key of new Set([...changed.keys(), ...reported.keys()]))
      if ((changed.get(key) ?? 0n) !== (reported.get(key) ?? 0n)) differences.push(`${String(offset)} ${key}`);
  }
  expect(differences).toEqual([]);
  return updates;
}

/** Rewards are minted for the sender; every output goes from the sender to its receiver. */
function reportAmuletTransfer(argument: Json | undefined, result: Json | undefined, reported: Amounts): void {
  const sender = text(at(argument, 'transfer', 'sender'));
  for (const kind of ['inputAppReward', 'inputValidatorReward', 'inputSvReward', 'inputDevelopmentFund'])
    add(reported, sender, 'Amulet', units(at(result, 'summary', `${kind}Amount`)));
  for (const output of list(at(argument, 'transfer', 'outputs'))) {
    add(reported, sender, 'Amulet', -units(at(output, 'amount')));
    add(reported, text(at(output, 'receiver')), 'Amulet', units(at(output, 'amount')));
  }
}

function reportLegs(argument: Json | undefined, reported: Amounts): void {
  for (const leg of list(at(argument, 'transferLegSides'))) {
    const sign = at(leg, 'side') === 'SenderSide' ? -1n : 1n;
    add(
      reported,
      text(at(argument, 'account', 'owner')),
      text(at(leg, 'instrumentId')),
      sign * units(at(leg, 'amount')),
    );
  }
}

/** The registry of Amulet reports by its rules, and that of deposits by events; the others by this choice. */
function isReportedHere(transfer: Json | undefined): boolean {
  const instrument = text(at(transfer, 'instrumentId', 'id'));
  return instrument !== 'Amulet' && !instrument.startsWith('TW');
}

function reportTransfer(transfer: Json | undefined, result: Json | undefined, reported: Amounts): void {
  const burnt = at(result, 'meta', 'values', 'splice.lfdecentralizedtrust.org/burned');
  if (burnt !== undefined) add(reported, text(at(transfer, 'sender')), 'Amulet', -units(burnt));
  else if (text(at(result, 'output', 'tag')).endsWith('_Completed')) reportPayment(transfer, reported);
}

function reportPayment(transfer: Json | undefined, reported: Amounts): void {
  if (transfer === undefined || !isReportedHere(transfer)) return;
  const [instrument, amount] = [text(at(transfer, 'instrumentId', 'id')), units(at(transfer, 'amount'))];
  add(reported, text(at(transfer, 'sender')), instrument, -amount);
  add(reported, text(at(transfer, 'receiver')), instrument, amount);
}
