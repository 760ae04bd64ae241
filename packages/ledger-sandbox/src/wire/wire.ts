/**
 * The update objects of the JSON Ledger API v2 as the participant prints them: their key order, their explicit nulls,
 * and which objects are wrapped in `value`. `canonical*` adds missing keys in the participant's key order.
 */
import type { Json, JsonObject } from './json.ts';

export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

export interface InterfaceView {
  readonly interfaceId: string;
  readonly viewStatus: { readonly code: number; readonly message: string; readonly details: readonly Json[] };
  readonly viewValue: JsonObject | null;
  readonly implementationPackageId: string | null;
}

export interface CreatedEvent {
  offset: number;
  readonly nodeId: number;
  readonly contractId: string;
  readonly templateId: string;
  readonly contractKey: Json;
  readonly contractKeyHash: string;
  readonly createArgument: JsonObject;
  readonly createdEventBlob: string;
  readonly interfaceViews: readonly InterfaceView[];
  readonly witnessParties: readonly string[];
  readonly signatories: readonly string[];
  readonly observers: readonly string[];
  readonly createdAt: string;
  readonly packageName: string;
  readonly representativePackageId: string;
  acsDelta: boolean;
}

export interface ArchivedEvent {
  offset: number;
  readonly nodeId: number;
  readonly contractId: string;
  readonly templateId: string;
  readonly witnessParties: readonly string[];
  readonly packageName: string;
  readonly implementedInterfaces: readonly string[];
}

export interface ExercisedEvent {
  offset: number;
  readonly nodeId: number;
  readonly contractId: string;
  readonly templateId: string;
  readonly interfaceId: string | null;
  readonly choice: string;
  readonly choiceArgument: Json;
  readonly actingParties: readonly string[];
  readonly consuming: boolean;
  readonly witnessParties: readonly string[];
  lastDescendantNodeId: number;
  exerciseResult: Json;
  readonly packageName: string;
  readonly implementedInterfaces: readonly string[];
  acsDelta: boolean;
}

export type TransactionEvent =
  | { readonly CreatedEvent: CreatedEvent }
  | { readonly ArchivedEvent: ArchivedEvent }
  | { readonly ExercisedEvent: ExercisedEvent };

export interface Transaction {
  readonly updateId: string;
  readonly commandId: string;
  readonly workflowId: string;
  readonly effectiveAt: string;
  readonly events: readonly TransactionEvent[];
  offset: number;
  readonly synchronizerId: string;
  readonly traceContext: TraceContext | null;
  readonly recordTime: string;
  readonly externalTransactionHash: string | null;
  readonly paidTrafficCost: number | null;
  /** Printed since 3.6. */
  readonly transactionHash?: string | null;
}

export interface UnassignedEvent {
  readonly reassignmentId: string;
  readonly contractId: string;
  readonly templateId: string;
  readonly source: string;
  readonly target: string;
  readonly submitter: string;
  readonly reassignmentCounter: number;
  readonly assignmentExclusivity: string | null;
  readonly witnessParties: readonly string[];
  readonly packageName: string;
  offset: number;
  readonly nodeId: number;
}

export interface AssignmentEvent {
  readonly source: string;
  readonly target: string;
  readonly reassignmentId: string;
  readonly submitter: string;
  readonly reassignmentCounter: number;
  readonly createdEvent: CreatedEvent;
}

export type ReassignmentEvent =
  { readonly JsUnassignedEvent: { readonly value: UnassignedEvent } } | { readonly JsAssignmentEvent: AssignmentEvent };

export interface Reassignment {
  readonly updateId: string;
  readonly commandId: string;
  readonly workflowId: string;
  offset: number;
  readonly events: readonly ReassignmentEvent[];
  readonly traceContext: TraceContext | null;
  readonly recordTime: string;
  readonly synchronizerId: string;
  readonly paidTrafficCost: number | null;
}

export interface TopologyTransaction {
  readonly updateId: string;
  offset: number;
  readonly synchronizerId: string;
  readonly recordTime: string;
  readonly events: readonly { readonly event: JsonObject }[];
  readonly traceContext: TraceContext | null;
}

export type Update =
  | { readonly Transaction: { readonly value: Transaction } }
  | { readonly Reassignment: { readonly value: Reassignment } }
  | { readonly TopologyTransaction: { readonly value: TopologyTransaction } };

/** An update in the form that a caller may provide: any key may be missing, in events too. */
export type UpdateInput =
  | { readonly Transaction: { readonly value: Partial<Transaction> } }
  | { readonly Reassignment: { readonly value: Partial<Reassignment> } }
  | { readonly TopologyTransaction: { readonly value: Partial<TopologyTransaction> } };

const epochTimestamp = '1970-01-01T00:00:00Z';

function canonicalCreated(event: Partial<CreatedEvent>): CreatedEvent {
  const identity = { offset: 0, nodeId: 0, contractId: '', templateId: '', contractKey: null, contractKeyHash: '' };
  const payload = { createArgument: {}, createdEventBlob: '', interfaceViews: [], witnessParties: [] };
  const parties = {
    signatories: [],
    observers: [],
    createdAt: epochTimestamp,
    packageName: '',
    representativePackageId: '',
  };
  return { ...identity, ...payload, ...parties, acsDelta: true, ...event };
}

function canonicalExercised(event: Partial<ExercisedEvent>): ExercisedEvent {
  const identity = { offset: 0, nodeId: 0, contractId: '', templateId: '', interfaceId: null, choice: 'Archive' };
  const exerciseOptions = { choiceArgument: {}, actingParties: [], consuming: true, witnessParties: [] };
  const outcome = { lastDescendantNodeId: event.nodeId ?? 0, exerciseResult: {}, packageName: '' };
  return {
    ...identity,
    ...exerciseOptions,
    ...outcome,
    implementedInterfaces: [],
    acsDelta: event.consuming ?? true,
    ...event,
  };
}

function canonicalEvent(event: TransactionEvent): TransactionEvent {
  if ('CreatedEvent' in event) return { CreatedEvent: canonicalCreated(event.CreatedEvent) };
  if ('ExercisedEvent' in event) return { ExercisedEvent: canonicalExercised(event.ExercisedEvent) };
  const emptyEvent = { offset: 0, nodeId: 0, contractId: '', templateId: '', witnessParties: [], packageName: '' };
  const archivedEvent: Partial<ArchivedEvent> = event.ArchivedEvent;
  return { ArchivedEvent: { ...emptyEvent, implementedInterfaces: [], ...archivedEvent } };
}

function canonicalReassignmentEvent(event: ReassignmentEvent): ReassignmentEvent {
  if ('JsUnassignedEvent' in event) return { JsUnassignedEvent: { value: { ...event.JsUnassignedEvent.value } } };
  const assignedEvent = event.JsAssignmentEvent;
  return { JsAssignmentEvent: { ...assignedEvent, createdEvent: canonicalCreated(assignedEvent.createdEvent) } };
}

/** The complete update for a partial one. It is a copy deep enough for changing offsets without changing the input. */
export function canonicalUpdate(input: UpdateInput): Update {
  if ('Transaction' in input) {
    const transaction = input.Transaction.value;
    const head = { updateId: '', commandId: '', workflowId: '', effectiveAt: epochTimestamp, events: [], offset: 0 };
    const tail = { synchronizerId: '', traceContext: null, recordTime: epochTimestamp };
    const defaultFields = { externalTransactionHash: null, paidTrafficCost: null };
    const events = (transaction.events ?? []).map(canonicalEvent);
    return { Transaction: { value: { ...head, ...tail, ...defaultFields, ...transaction, events } } };
  }
  if ('Reassignment' in input) {
    const reassignment = input.Reassignment.value;
    const head = { updateId: '', commandId: '', workflowId: '', offset: 0, events: [], traceContext: null };
    const events = (reassignment.events ?? []).map(canonicalReassignmentEvent);
    const tail = { recordTime: epochTimestamp, synchronizerId: '', paidTrafficCost: null };
    return { Reassignment: { value: { ...head, ...tail, ...reassignment, events } } };
  }
  const head = {
    updateId: '',
    offset: 0,
    synchronizerId: '',
    recordTime: epochTimestamp,
    events: [],
    traceContext: null,
  };
  return { TopologyTransaction: { value: { ...head, ...input.TopologyTransaction.value } } };
}

/** The fields that every kind of update has. */
export function valueOf(update: Update): Transaction | Reassignment | TopologyTransaction {
  if ('Transaction' in update) return update.Transaction.value;
  if ('Reassignment' in update) return update.Reassignment.value;
  return update.TopologyTransaction.value;
}

/** Writes the offset into the update and into every event that repeats it. */
export function patchOffset(update: Update, offset: number): void {
  valueOf(update).offset = offset;
  if ('Transaction' in update) {
    for (const event of update.Transaction.value.events) {
      if ('CreatedEvent' in event) event.CreatedEvent.offset = offset;
      else if ('ExercisedEvent' in event) event.ExercisedEvent.offset = offset;
      else event.ArchivedEvent.offset = offset;
    }
  } else if ('Reassignment' in update) {
    for (const event of update.Reassignment.value.events) {
      if ('JsUnassignedEvent' in event) event.JsUnassignedEvent.value.offset = offset;
      else event.JsAssignmentEvent.createdEvent.offset = offset;
    }
  }
}
