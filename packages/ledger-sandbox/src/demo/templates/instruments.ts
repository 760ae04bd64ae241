/**
 * The instruments of the demo. Amulet, a stable-coin and a bond use version 1 of the token standard; deposits in two
 * currencies use both versions. Includes the payloads of their holdings, free and locked.
 */
import { asObject, asText, textAt } from '../../wire/json.ts';
import type { JsonObject } from '../../wire/json.ts';
import { names } from './names.ts';

/** A holding to be created. Amounts are texts of Numeric 10. */
export interface NewHolding {
  readonly admin: string;
  readonly owner: string;
  readonly amount: string;
  /** Number of the mining round; only holdings of Amulet have it. */
  readonly round: string;
}

/** Holders of a lock, its end (API timestamp) and its purpose. */
export interface NewLock {
  readonly holders: readonly string[];
  readonly expiresAt: string;
  readonly context: string;
}

/** Contents of a holding's payload. */
export interface HoldingFacts {
  readonly admin: string;
  readonly owner: string;
  readonly amount: string;
  readonly round: string;
  /** The lock in the Holding view; null if free. */
  readonly lock: JsonObject | null;
}

/** The names of one instrument's templates, and the contents of its holdings. */
export interface Instrument {
  readonly id: string;
  readonly holding: string;
  /** The template of locked holdings. It is that of free ones if holdings have a lock field. */
  readonly lockedHolding: string;
  readonly factory: string;
  readonly instruction: string;
  /** The template of allocations by version 1. */
  readonly allocation: string;
  read(payload: JsonObject): HoldingFacts;
  /** Whether a holding of the template is of this instrument. Absent if the template has only one instrument. */
  isOf?(payload: JsonObject): boolean;
}

/** An instrument of version 1 only, with the shapes of its payloads. */
export interface InstrumentV1 extends Instrument {
  /** The payload field that names the issuing party. */
  readonly adminField: string;
  free(holding: NewHolding): JsonObject;
  locked(holding: NewHolding, lock: NewLock): JsonObject;
  /** The payload of a transfer instruction or an allocation. They name the locked holding in different fields. */
  waiting(admin: string, lockedHolding: string, field: 'transfer' | 'allocation', value: JsonObject): JsonObject;
  /** The locked holding and the issuer of such a payload. */
  behind(payload: JsonObject): { readonly admin: string; readonly lockedHolding: string };
}

function lockView({ holders, expiresAt, context }: NewLock): JsonObject {
  return { holders: [...holders], expiresAt, expiresAfter: null, context };
}

const amuletPayload = ({ admin: dso, owner, amount, round }: NewHolding): JsonObject => ({
  dso,
  owner,
  amount: { initialAmount: amount, createdAt: { number: round }, ratePerRound: { rate: '0.0000190259' } },
});

function readAmulet(payload: JsonObject): HoldingFacts {
  const lockedAmulet = asObject(payload['amulet']);
  const lock = asObject(payload['lock']);
  const amulet = lockedAmulet ?? payload;
  return {
    admin: textAt(amulet, 'dso'),
    owner: textAt(amulet, 'owner'),
    amount: textAt(amulet, 'amount', 'initialAmount'),
    round: textAt(amulet, 'amount', 'createdAt', 'number'),
    lock:
      lock === undefined
        ? null
        : {
            holders: lock['holders'] ?? [],
            expiresAt: lock['expiresAt'] ?? null,
            expiresAfter: null,
            context: lock['optContext'] ?? null,
          },
  };
}

export const amulet: InstrumentV1 = {
  id: 'Amulet',
  adminField: 'dso',
  holding: 'splice-amulet:Splice.Amulet:Amulet',
  lockedHolding: names.lockedAmulet,
  factory: 'splice-amulet:Splice.ExternalPartyAmuletRules:ExternalPartyAmuletRules',
  instruction: 'splice-amulet:Splice.AmuletTransferInstruction:AmuletTransferInstruction',
  allocation: 'splice-amulet:Splice.AmuletAllocation:AmuletAllocation',
  free: amuletPayload,
  locked: (holding, { holders, expiresAt, context }) => ({
    amulet: amuletPayload(holding),
    lock: { holders: [...holders], expiresAt, optContext: context === '' ? null : context },
  }),
  read: readAmulet,
  waiting: (_, lockedAmulet, field, value) => ({ lockedAmulet, [field]: value }),
  behind: (payload) => ({
    admin:
      textAt(payload, 'transfer', 'instrumentId', 'admin') ||
      textAt(payload, 'allocation', 'transferLeg', 'instrumentId', 'admin'),
    lockedHolding: asText(payload['lockedAmulet']),
  }),
};

/** Reads the payload of a stable-coin or bond. @returns its field `lock` and other contents */
function readToken(payload: JsonObject): HoldingFacts {
  const { registrar, owner, amount, lock } = payload;
  return {
    admin: asText(registrar),
    owner: asText(owner),
    amount: asText(amount),
    round: '0',
    lock: asObject(lock) ?? null,
  };
}

const tokenDetails = { label: 'EURX', reference: { system: 'SEPA', note: null, batch: '42' } };

export const stableCoin: InstrumentV1 = {
  id: 'EURX',
  adminField: 'registrar',
  holding: 'harbor-stablecoin:Harbor.StableCoin:Token',
  lockedHolding: 'harbor-stablecoin:Harbor.StableCoin:Token',
  factory: 'harbor-stablecoin:Harbor.StableCoin:TokenRules',
  instruction: 'harbor-stablecoin:Harbor.StableCoin:TokenTransferInstruction',
  allocation: 'harbor-stablecoin:Harbor.StableCoin:TokenAllocation',
  free: ({ admin: registrar, owner, amount }) => ({ registrar, owner, amount, lock: null, details: tokenDetails }),
  locked: ({ admin: registrar, owner, amount }, lock) => ({
    registrar,
    owner,
    amount,
    lock: lockView(lock),
    details: tokenDetails,
  }),
  read: readToken,
  waiting: (admin, holdingCid, field, value) =>
    field === 'transfer'
      ? { admin, transfer: { ...value, inputHoldingCids: [holdingCid] } }
      : { admin, holdingCid, allocation: value },
  behind: (payload) => ({ admin: asText(payload['admin']), lockedHolding: holdingOwner(payload) }),
};

function holdingOwner(payload: JsonObject): string {
  const inputs = asObject(payload['transfer'])?.['inputHoldingCids'];
  return asText(payload['holdingCid'] ?? (Array.isArray(inputs) ? (inputs[0] as string) : ''));
}

const bondTerms = { coupon: '0.0375', maturesOn: '2031-06-30' };

export const bond: InstrumentV1 = {
  id: 'XS2931000017',
  adminField: 'registrar',
  holding: 'meridian-bonds:Meridian.Bonds:BondHolding',
  lockedHolding: 'meridian-bonds:Meridian.Bonds:BondHolding',
  factory: 'meridian-bonds:Meridian.Bonds:BondRules',
  instruction: 'meridian-bonds:Meridian.Bonds:BondTransferInstruction',
  allocation: 'meridian-bonds:Meridian.Bonds:BondAllocation',
  free: ({ admin: registrar, owner, amount }) => ({ registrar, owner, isin: bond.id, amount, ...bondTerms }),
  locked: ({ admin: registrar, owner, amount }, lock) => ({
    registrar,
    owner,
    isin: bond.id,
    amount,
    ...bondTerms,
    lock: lockView(lock),
  }),
  read: readToken,
  waiting: (registrar, holdingCid, field, value) =>
    field === 'transfer'
      ? { registrar, transfer: { ...value, inputHoldingCids: [holdingCid] } }
      : { registrar, holdingCid, allocation: value },
  behind: (payload) => ({ admin: asText(payload['registrar']), lockedHolding: holdingOwner(payload) }),
};

function readDeposit(payload: JsonObject): HoldingFacts {
  const { account, instrumentId, amount, lock } = payload;
  return {
    admin: textAt(instrumentId, 'admin'),
    owner: textAt(account, 'owner'),
    amount: asText(amount),
    round: '0',
    lock: asObject(lock) ?? null,
  };
}

/** A currency in which the bank takes deposits. */
function depositsIn(id: string): Instrument {
  return {
    id,
    holding: names.deposit,
    lockedHolding: names.deposit,
    factory: names.depositRules,
    instruction: names.depositTransfer,
    allocation: names.depositLegAllocation,
    read: readDeposit,
    isOf: (payload) => textAt(payload, 'instrumentId', 'id') === id,
  };
}

export const dollars = depositsIn('TWUSD');
export const pounds = depositsIn('TWGBP');

/** The instruments of version 1 only, the most active first. */
export const instrumentsV1 = [amulet, stableCoin, bond] as const;

/** The instruments of both versions. */
export const deposits = [dollars, pounds] as const;

/** Every instrument. */
export const instruments = [...instrumentsV1, ...deposits] as const;

export function isDeposit(instrument: Instrument): boolean {
  return instrument.holding === names.deposit;
}

/** The instrument of an id; the first one if no instrument has the id. */
export function instrumentById(id: string): Instrument {
  return instruments.find((instrument) => instrument.id === id) ?? amulet;
}

function holdingOf(instrument: Instrument, template: string, payload: JsonObject): boolean {
  return (
    (template === instrument.holding || template === instrument.lockedHolding) && (instrument.isOf?.(payload) ?? true)
  );
}

/** The instrument whose holdings, free or locked, have this template and payload. */
export function instrumentOf(template: string, payload: JsonObject): Instrument | undefined {
  return instruments.find((instrument) => holdingOf(instrument, template, payload));
}
