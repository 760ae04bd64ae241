/** Planned steps of locks that last: those of CIP-0105, and those for governance. */
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import type { JsonObject } from '../../wire/json.ts';
import { basicAccount } from '../registry/accounts.ts';
import {
  aggregateLockMeta,
  controllersMeta,
  vestingLockMeta,
  withdrawAmountMeta,
} from '../templates/amulet-allocations.ts';
import { lockContext, specificationOf } from '../templates/governance-locks.ts';
import { amulet } from '../templates/instruments.ts';
import { emptyMetadata } from '../templates/metadata.ts';
import { interfacesV2, names } from '../templates/names.ts';
import { lockTransfer } from './escrow-steps.ts';
import type { Plan } from './plan.ts';
import type { StepOf } from './step.ts';

const second = 1_000_000;
const allocationWorkflow = 'locks';
const governanceWorkflow = 'governance';

/** The content of a request for an allocation of Amulet by version 2. */
interface AllocationRequest {
  readonly owner: string;
  readonly units: bigint;
  readonly holding: string;
  readonly id: string;
  readonly executors: readonly string[];
  readonly meta: JsonObject;
  /** Metadata of the view. */
  readonly viewMeta?: JsonObject;
  readonly deadline: string | null;
}

/** Allocates Amulet without legs, for later iterations. Returns the allocation. */
function allocateV2(plan: Plan, request: AllocationRequest, at: number): string {
  const { owner, units, holding, id, executors, meta, viewMeta, deadline } = request;
  const { state } = plan;
  const argument = {
    settlement: { executors: [...executors], id, cid: null, meta: emptyMetadata },
    allocation: {
      admin: state.people.dso,
      authorizer: basicAccount(owner),
      transferLegSides: [],
      settlementDeadline: deadline,
      nextIterationFunding: { [amulet.id]: formatNumeric(units) },
      committed: true,
      meta,
    },
    requestedAt: formatTimestamp(at),
    inputHoldingCids: [holding],
    extraArgs: plan.extraArgs(viewMeta),
    actors: [owner],
  };
  const templateId = `#${interfacesV2.allocationFactory}`;
  const contractId = state.single(amulet.factory);
  const choice = 'AllocationFactory_Allocate';
  const transaction = plan.submit(
    [owner],
    { kind: 'exercise', contractId, choice, argument, templateId },
    at,
    allocationWorkflow,
  );
  return state.made(transaction, names.amuletAllocationV2);
}

export function aggregateLock(plan: Plan, step: StepOf<'aggregate-lock'>, at: number): boolean {
  const holding = plan.fundsFor(step, at);
  if (holding === undefined) return true;
  const { key, owner, units, controllers } = step;
  const { dso } = plan.state.people;
  const request = { owner, units, holding, id: key, executors: [dso], deadline: null };
  const viewMeta = controllers === undefined ? emptyMetadata : controllersMeta(controllers, controllers);
  plan.keep(key, allocateV2(plan, { ...request, meta: aggregateLockMeta, viewMeta }, at));
  return true;
}

/** A lock that began to vest before the history of the demo. A part was withdrawn already. */
export function vestingLock(plan: Plan, step: StepOf<'vesting-lock'>, at: number): boolean {
  const holding = plan.fundsFor(step, at);
  if (holding === undefined) return true;
  const { key, owner, units, initial, start, end } = step;
  const { dso } = plan.state.people;
  const request = { owner, units, holding, id: key, executors: [dso], deadline: null };
  const meta = vestingLockMeta(formatTimestamp(start), formatTimestamp(end), formatNumeric(initial));
  plan.keep(key, allocateV2(plan, { ...request, meta }, at));
  return true;
}

/** Withdraws from an allocation. Returns the allocations that remain, in the order in which they were created. */
function withdrawFrom(
  plan: Plan,
  { key, actors }: { readonly key: string; readonly actors: readonly string[] },
  meta: JsonObject,
  at: number,
): readonly string[] | undefined {
  const contractId = plan.find(key);
  if (contractId === undefined) return undefined;
  const argument = { actors: [...actors], extraArgs: plan.extraArgs(meta) };
  const templateId = `#${interfacesV2.allocation}`;
  const choice = 'Allocation_Withdraw';
  const command = { kind: 'exercise', contractId, choice, argument, templateId } as const;
  const { events } = plan.submit(actors, command, at, allocationWorkflow);
  return events.flatMap((event) =>
    'CreatedEvent' in event && event.CreatedEvent.templateId.endsWith(':AmuletAllocationV2')
      ? [event.CreatedEvent.contractId]
      : [],
  );
}

export function unlock(plan: Plan, step: StepOf<'unlock'>, at: number): boolean {
  const { key, into, units } = step;
  const meta = units === undefined ? emptyMetadata : withdrawAmountMeta(formatNumeric(units));
  const allocations = withdrawFrom(plan, step, meta, at);
  if (allocations === undefined) return false;
  const [vesting = '', rest = ''] = allocations;
  plan.keep(into, vesting);
  plan.keep(key, rest);
  return true;
}

export function withdraw(plan: Plan, step: StepOf<'withdraw'>, at: number): boolean {
  const allocations = withdrawFrom(plan, step, emptyMetadata, at);
  if (allocations === undefined) return false;
  plan.keep(step.key, allocations[0] ?? '');
  return true;
}

/** A committed allocation of version 2, from which the venue settles again and again. */
export function commit(plan: Plan, step: StepOf<'commit'>, at: number): boolean {
  const holding = plan.fundsFor(step, at);
  if (holding === undefined) return true;
  const { key, owner, units, end } = step;
  const executors = [plan.state.people.venue];
  const deadline = formatTimestamp(end);
  plan.keep(key, allocateV2(plan, { owner, units, holding, id: key, executors, meta: emptyMetadata, deadline }, at));
  return true;
}

/** The venue begins the next iteration of a committed allocation, with a lower amount. */
export function iterate(plan: Plan, { key, units }: StepOf<'iterate'>, at: number): boolean {
  const contractId = plan.find(key);
  if (contractId === undefined) return false;
  const { venue } = plan.state.people;
  const argument = {
    actors: [venue],
    extraTransferLegSides: [],
    nextIterationFunding: { [amulet.id]: formatNumeric(units) },
    extraArgs: plan.extraArgs(),
  };
  const templateId = `#${interfacesV2.allocation}`;
  const command = { kind: 'exercise', contractId, choice: 'Allocation_Settle', argument, templateId } as const;
  plan.keep(key, plan.state.made(plan.submit([venue], command, at, key), names.amuletAllocationV2));
  return true;
}

export function governanceLock(plan: Plan, step: StepOf<'governance-lock'>, at: number): boolean {
  const holding = plan.fundsFor(step, at);
  if (holding === undefined) return true;
  const { key, owner, units, kind, subject } = step;
  const specification = specificationOf(kind, subject);
  const amount = formatNumeric(units);
  const argument = { amount, inputs: [holding], specification, extraArgs: plan.extraArgs(), owner };
  const contractId = plan.state.single(amulet.factory);
  const choice = 'ExternalPartyAmuletRules_LockForGovernance';
  const transaction = plan.submit([owner], { kind: 'exercise', contractId, choice, argument }, at, governanceWorkflow);
  plan.keep(key, plan.state.made(transaction, names.governanceLock));
  return true;
}

/** The end of the second in which a step happens; times of governance locks have no fractions of a second. */
function nextSecond(at: number): string {
  return formatTimestamp((Math.floor(at / second) + 1) * second);
}

export function governanceUnlock(plan: Plan, step: StepOf<'governance-unlock'>, at: number): boolean {
  const { key, into, owner, units } = step;
  const contractId = plan.find(key);
  if (contractId === undefined) return false;
  const unlockAmount = units === undefined ? null : formatNumeric(units);
  const argument = { unlockAmount, unlockAt: nextSecond(at), extraArgs: plan.extraArgs(), actors: [owner] };
  const choice = 'GovernanceLock_Unlock';
  const transaction = plan.submit([owner], { kind: 'exercise', contractId, choice, argument }, at, governanceWorkflow);
  plan.keep(into, plan.state.made(transaction, names.vestingLock));
  plan.keep(key, plan.state.made(transaction, names.governanceLock));
  return true;
}

/** A lock that began to vest before the history of the demo: first its Amulet is locked, then it is created. */
export function governanceVesting(plan: Plan, step: StepOf<'governance-vesting'>, at: number): boolean {
  const { key, owner, units, kind, subject, end } = step;
  const { dso } = plan.state.people;
  const specification = specificationOf(kind, subject);
  const lockedAmulet = plan.find(`${key} amulet`);
  if (lockedAmulet === undefined) {
    const holding = plan.fundsFor(step, at);
    if (holding === undefined) return true;
    const lock = { holders: [dso], expiresAt: formatTimestamp(end), optContext: lockContext(specification, true) };
    plan.keep(`${key} amulet`, lockTransfer(plan, { owner, units, holding, lock }, at));
    plan.later(at + second, step);
    return true;
  }
  const argument = {
    dso,
    owner,
    lockedAmulet,
    vestingPeriod: { microseconds: String(end - Math.floor(at / second) * second) },
    endTime: formatTimestamp(end),
    vestingAmount: formatNumeric(units),
    specification,
  };
  const templateId = `#${names.vestingLock}`;
  const transaction = plan.submit([owner, dso], { kind: 'create', templateId, argument }, at, governanceWorkflow);
  plan.keep(key, plan.state.made(transaction, names.vestingLock));
  return true;
}

export function governanceWithdraw(plan: Plan, { key, owner }: StepOf<'governance-withdraw'>, at: number): boolean {
  const contractId = plan.find(key);
  if (contractId === undefined) return false;
  const requestedAt = formatTimestamp(Math.floor(at / second) * second);
  const argument = { requestedAt, extraArgs: plan.extraArgs(), actors: [owner] };
  const choice = 'VestingLock_Withdraw';
  const transaction = plan.submit([owner], { kind: 'exercise', contractId, choice, argument }, at, governanceWorkflow);
  plan.keep(key, plan.state.made(transaction, names.vestingLock));
  return true;
}

export function governanceExpire(plan: Plan, { key }: StepOf<'governance-expire'>, at: number): boolean {
  const contractId = plan.find(key);
  if (contractId === undefined) return false;
  const choice = 'VestingLock_DsoExpire';
  const { dso } = plan.state.people;
  plan.submit([dso], { kind: 'exercise', contractId, choice, argument: {} }, at, governanceWorkflow);
  return true;
}
