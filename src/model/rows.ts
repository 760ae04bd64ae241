/** Rows of the widest tables, in the column order of tables.ts, and the two escapes that are applied to every text. */
import { postgresMicroseconds, type Microseconds } from './binary-timestamp.ts';
import { columnText, jsonbText } from './escape.ts';
import type { CreatedEvent, JsonText, TopologyEvent } from './event.ts';
import type { Row } from './tables.ts';
import type { StoredUpdate } from './update.ts';
import type { TextOrUtf8 } from './utf8.ts';

/** Origin of a created event. */
export interface Activation {
  readonly origin: 'create' | 'assign' | 'seed';
  readonly synchronizerPk: number;
  readonly reassignmentCounter: number | null;
  readonly workflowId: TextOrUtf8 | null;
}

/** "char" codes of the kinds of updates in table `updates`. */
const kinds = { transaction: 't', reassignment: 'r', topology: 'p', unknown: 'u' } as const;
/** "char" codes of the origins of rows in table `contracts`. */
const origins = { create: 'c', assign: 'a', seed: 's' } as const;

/**
 * Times of an update in Postgres' microseconds; undefined if the ledger does not send them, or not in the expected
 * form.
 */
export interface UpdateTimes {
  readonly effective: Microseconds | undefined;
  readonly recorded: Microseconds | undefined;
}

export function updateTimesOf(update: StoredUpdate): UpdateTimes {
  const effectiveAt = update.kind === 'transaction' ? update.effectiveAt : null;
  return {
    effective: effectiveAt === null ? undefined : postgresMicroseconds(effectiveAt),
    recorded: update.recordTime === null ? undefined : postgresMicroseconds(update.recordTime),
  };
}

/** Row of table `updates`. A time that cannot be parsed is passed on for the sink to refuse. */
export function updateRow(
  update: StoredUpdate,
  updateTimes: UpdateTimes,
  synchronizerPk: number,
  batchOffset: number,
): Row {
  const transaction = update.kind === 'transaction' ? update : undefined;
  return [
    update.offset,
    batchOffset,
    updateTimes.effective ?? transaction?.effectiveAt ?? null,
    updateTimes.recorded ?? update.recordTime,
    update.paidTrafficCost,
    update.events.length,
    synchronizerPk,
    kinds[update.kind],
    update.updateId,
    text(update.traceParent),
    text(update.commandId),
    text(update.workflowId),
    text(update.traceState),
    transaction?.externalTransactionHash ?? null,
    transaction?.transactionHash ?? null,
    update.kind === 'unknown' ? jsonb(update.raw) : null,
  ];
}

/** Row of table `contracts`. @param redactionId set if the event has no contents, because they were redacted */
export function contractRow(
  offset: number,
  event: CreatedEvent,
  activation: Activation,
  { templatePk, partiesPk }: { readonly templatePk: number; readonly partiesPk: number },
  redactionId: string | null,
): Row {
  return [
    offset,
    event.createdAt,
    activation.reassignmentCounter,
    event.nodeId,
    templatePk,
    activation.synchronizerPk,
    partiesPk,
    origins[activation.origin],
    event.acsDelta,
    event.contractId,
    jsonb(event.payload),
    jsonb(event.contractKey),
    event.contractKeyHash,
    event.createdEventBlob,
    representative(event),
    text(activation.workflowId),
    redactionId,
  ];
}

/**
 * Representative package id. Empty if it is that of the template, as it nearly always is, or if the ledger did not send
 * it.
 */
function representative({ representativePackageId, templateId }: CreatedEvent): string | null {
  return representativePackageId === templateId.packageId ? null : (representativePackageId ?? '');
}

/** Row of table `topology_events`. */
export function topologyRow(offset: number, index: number, event: TopologyEvent): Row {
  const { name, partyId, participantId, participantPermission, raw } = event;
  return [offset, index, text(name), partyId, participantId, participantPermission, jsonb(raw)];
}

/** Whether a party that sees the event is a stakeholder of the contract. */
export function isSeenByStakeholder(event: CreatedEvent): boolean {
  const witnesses = new Set(event.witnessParties);
  return [...event.signatories, ...event.observers].some((party) => witnesses.has(party));
}

/**
 * JSON for a jsonb or json column. If a text points into its frame, the frame reader has checked that it needs no
 * escape.
 */
export function jsonb(value: JsonText | null): TextOrUtf8 | null {
  return typeof value === 'string' ? jsonbText(value) : value;
}

/**
 * Free text for a text column. A text that points into its frame has no escapes, so it contains neither NUL nor a
 * quote.
 */
export function text(value: TextOrUtf8 | null): TextOrUtf8 | null {
  return typeof value === 'string' ? columnText(value) : value;
}
