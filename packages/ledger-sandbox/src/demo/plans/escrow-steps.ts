/** Planned steps of ordinary locks: allocations, transfers that wait, and Amulet that another party holds in escrow. */
import type { JsonObject } from '../../wire/json.ts';
import { formatNumeric, formatTimestamp } from '../../wire/values.ts';
import { transferContext } from '../market/issuance.ts';
import { amulet } from '../templates/instruments.ts';
import { emptyMetadata, reasonMeta } from '../templates/metadata.ts';
import { interfaces, names } from '../templates/names.ts';
import type { Plan } from './plan.ts';
import type { StepOf } from './step.ts';

/** Amulet that an owner locks without a contract that explains the lock. */
interface LockTransfer {
  readonly owner: string;
  readonly units: bigint;
  readonly holding: string;
  /** A `TimeLock`. */
  readonly lock: JsonObject;
}

/** Transfers Amulet to its owner with a lock. Returns the locked Amulet. */
export function lockTransfer(plan: Plan, { owner, units, holding, lock }: LockTransfer, at: number): string {
  const { state } = plan;
  const output = { receiver: owner, receiverFeeRatio: formatNumeric(0n), amount: formatNumeric(units), lock };
  const transfer = {
    sender: owner,
    provider: owner,
    inputs: [{ tag: 'InputAmulet', value: holding }],
    outputs: [output],
  };
  const argument = { transfer, context: transferContext(state, owner), expectedDso: state.people.dso };
  const contractId = state.single(names.amuletRules);
  const command = { kind: 'exercise', contractId, choice: 'AmuletRules_Transfer', argument } as const;
  return state.made(plan.submit([owner], command, at, 'escrow'), names.lockedAmulet);
}

export function escrow(plan: Plan, step: StepOf<'escrow'>, at: number): boolean {
  const holding = plan.fundsFor(step, at);
  if (holding === undefined) return true;
  const { key, owner, units, holder, context, end } = step;
  const lock = { holders: [holder], expiresAt: formatTimestamp(end), optContext: context };
  plan.keep(key, lockTransfer(plan, { owner, units, holding, lock }, at));
  return true;
}

/** The owner ends a lock whose time has passed. */
export function endLock(plan: Plan, { key, owner }: StepOf<'end-lock'>, at: number): boolean {
  const contractId = plan.find(key);
  if (contractId === undefined) return false;
  const argument = { openRoundCid: plan.state.rounds.at(-1)?.contractId ?? '' };
  const choice = 'LockedAmulet_OwnerExpireLock';
  plan.submit([owner], { kind: 'exercise', contractId, choice, argument }, at, 'escrow');
  return true;
}

/** An allocation by version 1 that waits for its settlement. */
export function allocate(plan: Plan, step: StepOf<'allocate'>, at: number): boolean {
  const holding = plan.fundsFor(step, at);
  if (holding === undefined) return true;
  const { key, owner, units, receiver, end } = step;
  const { state } = plan;
  const instrumentId = { admin: state.people.dso, id: amulet.id };
  const transferLeg = { sender: owner, receiver, amount: formatNumeric(units), instrumentId, meta: emptyMetadata };
  const settlement = {
    executor: state.people.venue,
    settlementRef: { id: key, cid: null },
    requestedAt: formatTimestamp(at),
    allocateBefore: formatTimestamp(end),
    settleBefore: formatTimestamp(end),
    meta: emptyMetadata,
  };
  const argument = {
    expectedAdmin: state.people.dso,
    allocation: { settlement, transferLegId: 'delivery', transferLeg },
    requestedAt: formatTimestamp(at),
    inputHoldingCids: [holding],
    extraArgs: state.extraArgs(amulet),
  };
  const templateId = `#${interfaces.allocationFactory}`;
  const contractId = state.single(amulet.factory);
  const choice = 'AllocationFactory_Allocate';
  const command = { kind: 'exercise', contractId, choice, argument, templateId } as const;
  plan.keep(key, state.made(plan.submit([owner], command, at, key), amulet.allocation));
  return true;
}

/** A transfer that waits for its receiver. */
export function offer(plan: Plan, step: StepOf<'offer'>, at: number): boolean {
  const holding = plan.fundsFor(step, at);
  if (holding === undefined) return true;
  const { key, owner, units, receiver, end } = step;
  const { state } = plan;
  const admin = state.people.dso;
  const transfer = {
    sender: owner,
    receiver,
    amount: formatNumeric(units),
    instrumentId: { admin, id: amulet.id },
    requestedAt: formatTimestamp(at),
    executeBefore: formatTimestamp(end),
    inputHoldingCids: [holding],
    meta: reasonMeta(key),
  };
  const argument = { expectedAdmin: admin, transfer, extraArgs: state.extraArgs(amulet) };
  const contractId = state.single(amulet.factory);
  const command = { kind: 'exercise', contractId, choice: 'TransferFactory_Transfer', argument } as const;
  plan.keep(key, state.made(plan.submit([owner], command, at), amulet.instruction));
  return true;
}

/** The owner takes an allocation of version 1 back. */
export function takeBack(plan: Plan, { key, owner }: StepOf<'take-back'>, at: number): boolean {
  const contractId = plan.find(key);
  if (contractId === undefined) return false;
  const argument = { extraArgs: plan.state.extraArgs(amulet) };
  const templateId = `#${interfaces.allocation}`;
  plan.submit([owner], { kind: 'exercise', contractId, choice: 'Allocation_Withdraw', argument, templateId }, at, key);
  return true;
}
