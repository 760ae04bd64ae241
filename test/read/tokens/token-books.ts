/**
 * The books of the demo tokens: balances of each account after each update, computed from raw payloads of created and
 * ended contracts. It uses fields of the demo templates, but no interfaces, views or events.
 */
import type { Ledger } from '../../../packages/ledger-sandbox/src/ledger/ledger.ts';
import type { CreatedEvent, Update } from '../../../packages/ledger-sandbox/src/wire/wire.ts';

/** Converts an amount to units of 10^-10. */
export function units(amount: unknown): bigint {
  const [whole = '', fraction = ''] = String(amount).split('.');
  return BigInt(whole + fraction.padEnd(10, '0'));
}

/** An account and an instrument as one text: owner, provider, account id, admin, instrument. */
export function keyOf(...parts: readonly unknown[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : '')).join(' ');
}

interface Held {
  readonly key: string;
  readonly units: bigint;
}

type Payload = Readonly<Record<string, unknown>>;

function at(payload: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((value, field) => (value as Payload | null | undefined)?.[field], payload);
}

/** The holding in a contract; undefined if the contract is not a holding. */
function heldBy({ templateId, createArgument: payload }: CreatedEvent): Held | undefined {
  const entity = templateId.slice(templateId.lastIndexOf(':') + 1);
  const amulet = entity === 'LockedAmulet' ? at(payload, 'amulet') : payload;
  const basic = (owner: unknown, admin: unknown, instrument: unknown): string =>
    keyOf(owner, '', '', admin, instrument);
  switch (entity) {
    case 'Amulet':
    case 'LockedAmulet':
      return {
        key: basic(at(amulet, 'owner'), at(amulet, 'dso'), 'Amulet'),
        units: units(at(amulet, 'amount', 'initialAmount')),
      };
    case 'Token':
      return { key: basic(payload['owner'], payload['registrar'], 'EURX'), units: units(payload['amount']) };
    case 'BondHolding':
      return { key: basic(payload['owner'], payload['registrar'], payload['isin']), units: units(payload['amount']) };
    case 'Deposit': {
      const account = ['owner', 'provider', 'id'].map((field) => at(payload, 'account', field));
      const instrument = ['admin', 'id'].map((field) => at(payload, 'instrumentId', field));
      return { key: keyOf(...account, ...instrument), units: units(payload['amount']) };
    }
    default:
      return undefined;
  }
}

/** Changes of one update. */
export interface Entry {
  readonly offset: number;
  /** Whether holdings moved between synchronizers instead of accounts. */
  readonly isJourney: boolean;
  /** Net change of each account with a created or ended holding, including zero changes. */
  readonly net: ReadonlyMap<string, bigint>;
}

/** Contracts that began in an update, and ids of contracts that ended in it. */
function changesIn(update: Update): { readonly began: readonly CreatedEvent[]; readonly ended: readonly string[] } {
  if ('Transaction' in update) {
    const { events } = update.Transaction.value;
    return {
      began: events.flatMap((event) => ('CreatedEvent' in event ? [event.CreatedEvent] : [])),
      ended: events.flatMap((event) =>
        'ExercisedEvent' in event && event.ExercisedEvent.consuming ? [event.ExercisedEvent.contractId] : [],
      ),
    };
  }
  if (!('Reassignment' in update)) return { began: [], ended: [] };
  const { events } = update.Reassignment.value;
  return {
    began: events.flatMap((event) => ('JsAssignmentEvent' in event ? [event.JsAssignmentEvent.createdEvent] : [])),
    ended: events.flatMap((event) => ('JsUnassignedEvent' in event ? [event.JsUnassignedEvent.value.contractId] : [])),
  };
}

/** All entries in ledger order. */
export function booksOf(ledger: Ledger): readonly Entry[] {
  const held = new Map<string, Held>();
  const entries: Entry[] = [];
  for (const { offset, update } of ledger.range(0, ledger.ledgerEnd(), Infinity)) {
    if (update === undefined) continue;
    const net = new Map<string, bigint>();
    const note = (one: Held | undefined, sign: 1n | -1n): void => {
      if (one !== undefined) net.set(one.key, (net.get(one.key) ?? 0n) + sign * one.units);
    };
    const { began, ended } = changesIn(update);
    for (const created of began) {
      const one = heldBy(created);
      if (one !== undefined) held.set(created.contractId, one);
      note(one, 1n);
    }
    for (const contractId of ended) note(held.get(contractId), -1n);
    if (net.size > 0) entries.push({ offset, isJourney: 'Reassignment' in update, net });
  }
  return entries;
}

/** Balances of all accounts after each of these offsets, without zero balances. @param offsets ascending */
export function* balancesAt(
  entries: readonly Entry[],
  offsets: readonly number[],
): Generator<readonly [offset: number, balances: ReadonlyMap<string, bigint>]> {
  const balances = new Map<string, bigint>();
  let next = 0;
  for (const offset of offsets) {
    for (; (entries[next]?.offset ?? Infinity) <= offset; next += 1) {
      for (const [key, change] of entries[next]?.net ?? []) {
        const now = (balances.get(key) ?? 0n) + change;
        if (now === 0n) balances.delete(key);
        else balances.set(key, now);
      }
    }
    yield [offset, balances];
  }
}
