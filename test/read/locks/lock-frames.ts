/** Frames of contracts that explain locks: allocations, transfers, and governance locks of splice-amulet. */
import * as frames from '../../support/frames.ts';
import * as tokens from '../tokens/token-frames.ts';

export const dso = 'DSO::1220d5';
export const amulet: tokens.Instrument = { admin: dso, id: 'Amulet' };
/** The greatest time that the ledger compares. It means that there is no end. */
export const never = '9999-12-31T23:59:59.999998Z';

const standardPackage = 'cd'.repeat(32);
const amuletPackage = 'ef'.repeat(32);
const emptyMetadata = { values: {} };

interface Explaining {
  readonly contractId: string;
  readonly owner: string;
  readonly signatories?: readonly string[];
  readonly observers?: readonly string[];
}

function created(
  { contractId, owner, signatories = [dso, owner], observers = [] }: Explaining,
  event: frames.JsonRecord,
  nodeId: number,
): frames.JsonRecord {
  return {
    CreatedEvent: frames.created({
      contractId,
      nodeId,
      signatories: [...signatories],
      observers: [...observers],
      witnessParties: [...signatories, ...observers],
      interfaceViews: [],
      ...event,
    }),
  };
}

function viewed(name: string, viewValue: frames.JsonRecord): frames.JsonRecord {
  const interfaceId = `${standardPackage}:Splice.Api.Token.${name}`;
  return {
    templateId: `${standardPackage}:Registry:${name.slice(0, name.indexOf(':'))}`,
    interfaceViews: [{ interfaceId, viewStatus: { code: 0, message: '', details: [] }, viewValue }],
  };
}

export interface Allocation extends Explaining {
  readonly holdingIds: readonly string[];
  readonly instrument?: tokens.Instrument;
  readonly settlementId?: string;
  readonly deadline?: string | null;
  readonly expiresAt?: string | null;
  readonly funding?: Readonly<Record<string, string>> | null;
  readonly committed?: boolean;
  readonly iterations?: number;
  readonly legs?: readonly frames.JsonRecord[];
  /** Metadata of the allocation. */
  readonly meta?: Readonly<Record<string, string>>;
  /** Metadata of the view. */
  readonly viewMeta?: Readonly<Record<string, string>>;
}

/** An allocation of version 2. */
export function allocated(options: Allocation, nodeId: number): frames.JsonRecord {
  const { owner, holdingIds, instrument = amulet, settlementId = 'trade', deadline = null, funding = null } = options;
  const view = {
    originalAllocationCid: null,
    settlement: { executors: ['venue::1220fe'], id: settlementId, cid: null, meta: emptyMetadata },
    allocation: {
      admin: instrument.admin,
      authorizer: { owner, provider: null, id: '' },
      transferLegSides: [...(options.legs ?? [])],
      settlementDeadline: deadline,
      nextIterationFunding: funding === null ? null : { ...funding },
      committed: options.committed ?? false,
      meta: { values: { ...options.meta } },
    },
    holdingCids: [...holdingIds],
    createdAt: '2026-08-01T00:00:00Z',
    numIterations: String(options.iterations ?? 0),
    expiresAt: options.expiresAt ?? null,
    availableActions: [],
    meta: { values: { ...options.viewMeta } },
  };
  return created(options, viewed('AllocationV2:Allocation', view), nodeId);
}

export interface Cip105Lock extends Explaining {
  readonly holdingIds: readonly string[];
  readonly amount: string;
  /** Entries of the metadata, without the prefix. */
  readonly terms: Readonly<Record<string, string>>;
  readonly controllers?: Readonly<Record<string, string>>;
}

const prefixed = (entries: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(entries).map(([key, value]) => [`cip-105/${key}`, value]));

/** An allocation that is a lock by CIP-0105. */
export function lockedByCip105(options: Cip105Lock, nodeId: number): frames.JsonRecord {
  const { amount, terms, controllers = {}, ...explaining } = options;
  const form = { funding: { Amulet: amount }, committed: true, expiresAt: never, deadline: never };
  return allocated({ ...explaining, ...form, meta: prefixed(terms), viewMeta: prefixed(controllers) }, nodeId);
}

export interface Transfer extends Explaining {
  readonly holdingIds: readonly string[];
  readonly version: 1 | 2;
  readonly instrument?: tokens.Instrument;
  readonly receiver: string;
  readonly amount: string;
  readonly executeBefore: string;
}

/** A transfer that waits for its receiver. */
export function offered(options: Transfer, nodeId: number): frames.JsonRecord {
  const { version, owner, receiver, amount, executeBefore, holdingIds, instrument = amulet } = options;
  const account = (party: string): frames.Json => (version === 1 ? party : { owner: party, provider: null, id: '' });
  const transfer = {
    sender: account(owner),
    receiver: account(receiver),
    amount,
    instrumentId: { ...instrument },
    requestedAt: '2026-08-01T00:00:00Z',
    executeBefore,
    inputHoldingCids: [...holdingIds],
    meta: { values: { 'splice.lfdecentralizedtrust.org/reason': 'rent' } },
  };
  const view = { originalInstructionCid: null, transfer, meta: emptyMetadata };
  return created(options, viewed(`TransferInstructionV${String(version)}:TransferInstruction`, view), nodeId);
}

function ofAmulet(module: string, entity: string, createArgument: frames.JsonRecord): frames.JsonRecord {
  return { templateId: `${amuletPackage}:Splice.${module}:${entity}`, packageName: 'splice-amulet', createArgument };
}

export interface GovernanceLock extends Explaining {
  readonly holdingId: string;
  readonly amount: string;
  readonly kind: readonly [tag: string, value: frames.JsonRecord];
  readonly admin?: string;
}

export const forApp = (provider: string): GovernanceLock['kind'] => ['GLK_FeaturedApp', { provider }];
export const forValidator = (svName: string): GovernanceLock['kind'] => ['GLK_SuperValidatorRightsOwner', { svName }];

function governed(options: GovernanceLock): frames.JsonRecord {
  const [tag, value] = options.kind;
  return {
    dso: options.admin ?? dso,
    owner: options.owner,
    lockedAmulet: options.holdingId,
    specification: { kind: { tag, value } },
  };
}

export function governanceLocked(options: GovernanceLock, nodeId: number): frames.JsonRecord {
  const argument = { ...governed(options), amount: options.amount };
  return created(options, ofAmulet('GovernanceLock', 'GovernanceLock', argument), nodeId);
}

export interface VestingLock extends GovernanceLock {
  readonly endTime: string;
  readonly periodMicroseconds: bigint;
}

export function vestingLocked(options: VestingLock, nodeId: number): frames.JsonRecord {
  const argument = {
    ...governed(options),
    vestingPeriod: { microseconds: String(options.periodMicroseconds) },
    endTime: options.endTime,
    vestingAmount: options.amount,
  };
  return created(options, ofAmulet('GovernanceLock', 'VestingLock', argument), nodeId);
}

/** The right of an app's provider to rewards for featured apps. */
export function featured(provider: string, contractId: string, nodeId: number): frames.JsonRecord {
  const argument = { dso, provider };
  return created(
    { contractId, owner: provider, signatories: [dso], observers: [provider] },
    ofAmulet('Amulet', 'FeaturedAppRight', argument),
    nodeId,
  );
}

/** A holding of Amulet, locked if it has a lock. */
export function amuletHeld(
  contractId: string,
  owner: string,
  amount: string,
  lock: frames.JsonRecord | null,
  nodeId: number,
): frames.JsonRecord {
  return tokens.held({ contractId, account: tokens.own(owner), instrument: amulet, amount, lock }, nodeId);
}

/** The lock of a holding. */
export function lock(
  holders: readonly string[],
  expiresAt: string | null,
  context: string | null = null,
): frames.JsonRecord {
  return { holders: [...holders], expiresAt, expiresAfter: null, context };
}

/** An allocation of Alice that vests from 4 to 24 August, of which a fifth was withdrawn, and its holding. */
export const vestingAllocation: readonly frames.JsonRecord[] = [
  amuletHeld('00a4', frames.alice, '40.0', lock([frames.alice, dso], never), 7),
  lockedByCip105(
    {
      contractId: '00b4',
      owner: frames.alice,
      holdingIds: ['00a4'],
      amount: '40.0',
      terms: {
        type: 'vestingLock',
        'vestingLock.startDate': '2026-08-04T00:00:00Z',
        'vestingLock.endDate': String(BigInt(Date.UTC(2026, 7, 24)) * 1000n),
        'vestingLock.initialAmount': '50.0',
      },
    },
    8,
  ),
];

/** A governance lock of Alice that vests for 60 days, and its holding. */
export const vestingGovernanceLock: readonly frames.JsonRecord[] = [
  amuletHeld(
    '00a6',
    frames.alice,
    '60.0',
    lock([dso], '2026-09-14T11:01:00Z', 'Unlocking from supporting SV rights for sv1'),
    11,
  ),
  vestingLocked(
    {
      contractId: '00b6',
      owner: frames.alice,
      holdingId: '00a6',
      amount: '60.0',
      kind: forValidator('sv1'),
      endTime: '2026-09-13T11:01:00Z',
      periodMicroseconds: 60n * 86_400_000_000n,
    },
    12,
  ),
];
