/**
 * The books of the demo tokens: balances of each account after each update, computed from raw payloads of created and
 * ended contracts. It uses fields of the demo templates, but no interfaces, views or events.
 */
import type { Ledger } from '../../../packages/ledger-sandbox/src/ledger/ledger.ts';
import type { CreatedEvent, Update } from '../../../packages/ledger-sandbox/src/wire/wire.ts';

/** Converts an amount to units of 10^-10. */
export function units(amount: unknown): bigint {
  const [integerPart = '', fraction = ''] = String(amount).split('.');
  return BigInt(integerPart + fraction.padEnd(10, '0'));
}

/** An account and an instrument as one text: owner, provider, account id, admin, instrument. */
export function keyOf(...keyParts: readonly unknown[]): string {
  return keyParts.map((keyPart) => (typeof keyPart === 'string' ? keyPart : '')).join(' ');
}

interface BookHolding {
  readonly key: string;
  readonly units: bigint;
}

type Payload = Readonly<Record<string, unknown>>;

function valueAt(payload: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((value, field) => (value as Payload | null | undefined)?.[field], payload);
}

/** The holding in a contract; undefined if the contract is not a holding. */
function holdingOf({ templateId, createArgument: payload }: CreatedEvent): BookHolding | undefined {
  const entity = templateId.slice(templateId.lastIndexOf(':') + 1);
  const amulet = entity === 'LockedAmulet' ? valueAt(payload, 'amulet') : payload;
  const basic = (owner: unknown, admin: unknown, instrument: unknown): string =>
    keyOf(owner, '', '', admin, instrument);
  switch (entity) {
    case 'Amulet':
    case 'LockedAmulet':
      return {
        key: basic(valueAt(amulet, 'owner'), valueAt(amulet, 'dso'), 'Amulet'),
        units: units(valueAt(amulet, 'amount', 'initialAmount')),
      };
    case 'Token':
      return { key: basic(payload['owner'], payload['registrar'], 'EURX'), units: units(payload['amount']) };
    case 'BondHolding':
      return { key: basic(payload['owner'], payload['registrar'], payload['isin']), units: units(payload['amount']) };
    case 'Deposit': {
      const account = ['owner', 'provider', 'id'].map((field) => valueAt(payload, 'account', field));
      const instrument = ['admin', 'id'].map((field) => valueAt(payload, 'instrumentId', field));
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
function changesOfUpdate(update: Update): {
  readonly began: readonly CreatedEvent[];
  readonly ended: readonly string[];
} {
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
export function bookEntriesOf(ledger: Ledger): readonly Entry[] {
  const holdingsById = new Map<string, BookHolding>();
  const entries: Entry[] = [];
  for (const { offset, update } of ledger.range(0, ledger.ledgerEnd(), Infinity)) {
    if (update === undefined) continue;
    const net = new Map<string, bigint>();
    const recordHolding = (holding: BookHolding | undefined, sign: 1n | -1n): void => {
      if (holding !== undefined) net.set(holding.key, (net.get(holding.key) ?? 0n) + sign * holding.units);
    };
    const { began: beganEvents, ended: endedIds } = changesOfUpdate(update);
    for (const createdEvent of beganEvents) {
      const holding = holdingOf(createdEvent);
      if (holding !== undefined) holdingsById.set(createdEvent.contractId, holding);
      recordHolding(holding, 1n);
    }
    for (const contractId of endedIds) recordHolding(holdingsById.get(contractId), -1n);
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
