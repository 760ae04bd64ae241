/** Rows of the widest tables, in the column order of tables.ts, and the two escapes every text on its way passes. */
import { columnText, jsonbText } from './escape.ts';
import type { CreatedEvent, JsonText, TopologyEvent } from './event.ts';
import type { Row } from './tables.ts';
import type { StoredUpdate } from './update.ts';

/** Where a created event came from. */
export interface Activation {
  readonly origin: 'create' | 'assign' | 'seed';
  readonly synchronizerPk: number;
  readonly reassignmentCounter: number | null;
  readonly workflowId: string | null;
}

/** Row of table `updates`. */
export function updateRow(update: StoredUpdate, synchronizerPk: number, epoch: number): Row {
  const transaction = update.kind === 'transaction' ? update : undefined;
  return [
    update.offset,
    update.kind,
    update.updateId,
    synchronizerPk,
    text(update.commandId),
    text(update.workflowId),
    transaction?.effectiveAt ?? null,
    update.recordTime,
    text(update.traceParent),
    text(update.traceState),
    transaction?.externalTransactionHash ?? null,
    transaction?.transactionHash ?? null,
    update.paidTrafficCost,
    update.events.length,
    update.kind === 'unknown' ? jsonb(update.raw) : null,
    epoch,
  ];
}

/** Row of table `contracts`; `redactionId` when the event comes without its contents. */
export function contractRow(
  offset: number,
  event: CreatedEvent,
  activation: Activation,
  templatePk: number,
  redactionId: string | null,
): Row {
  return [
    event.contractId,
    offset,
    event.nodeId,
    activation.origin,
    activation.synchronizerPk,
    templatePk,
    event.representativePackageId,
    jsonb(event.payload),
    jsonb(event.contractKey),
    event.contractKeyHash,
    event.signatories,
    event.observers,
    event.witnessParties,
    event.createdEventBlob,
    event.createdAt,
    event.acsDelta,
    activation.reassignmentCounter,
    text(activation.workflowId),
    redactionId,
  ];
}

/** Row of table `topology_events`. */
export function topologyRow(offset: number, index: number, event: TopologyEvent): Row {
  const { name, partyId, participantId, participantPermission, raw } = event;
  return [offset, index, text(name), partyId, participantId, participantPermission, jsonb(raw)];
}

/** Whether one of the parties that see the event has a stake in the contract. */
export function seenAsStakeholder(event: CreatedEvent): boolean {
  const witnesses = new Set(event.witnessParties);
  return [...event.signatories, ...event.observers].some((party) => witnesses.has(party));
}

/** JSON for a jsonb or json column. */
export function jsonb(value: JsonText | null): string | null {
  return value === null ? null : jsonbText(value);
}

/** Free text for a text column. */
export function text(value: string | null): string | null {
  return value === null ? null : columnText(value);
}
