/**
 * Events as the indexer stores them, in the ledger's own terms. Payloads remain JSON text (`JsonText`). Times remain
 * the ledger's text, because a JavaScript Date has no microseconds. Absent strings are null. A field of type {@link
 * Text} may point into the frame that it came from, so code that keeps an event longer than the frame has to copy these
 * fields.
 */
import type { TemplateId } from './template-id.ts';
import type { TextOrUtf8 } from './utf8.ts';

/** A value as the ledger's own JSON text, which is not parsed again. */
export type JsonText = TextOrUtf8;

export interface InterfaceView {
  readonly interfaceId: TemplateId;
  readonly view: JsonText | null;
  /** gRPC status code of the computation of the view; 0 is success. */
  readonly statusCode: number;
  readonly statusMessage: TextOrUtf8 | null;
  readonly statusDetails: JsonText | null;
  readonly implementationPackageId: string | null;
}

export interface CreatedEvent {
  readonly kind: 'created';
  readonly offset: number;
  readonly nodeId: number;
  readonly contractId: TextOrUtf8;
  readonly templateId: TemplateId;
  readonly packageName: string | null;
  readonly representativePackageId: string | null;
  readonly payload: JsonText | null;
  readonly contractKey: JsonText | null;
  readonly contractKeyHash: TextOrUtf8 | null;
  readonly createdEventBlob: TextOrUtf8 | null;
  readonly interfaceViews: readonly InterfaceView[];
  readonly witnessParties: readonly string[];
  readonly signatories: readonly string[];
  readonly observers: readonly string[];
  readonly createdAt: TextOrUtf8 | null;
  /** Null if the ledger did not send it (releases before 3.4). */
  readonly acsDelta: boolean | null;
}

export interface ArchivedEvent {
  readonly kind: 'archived';
  readonly nodeId: number;
  readonly contractId: TextOrUtf8;
  readonly templateId: TemplateId;
  readonly packageName: string | null;
  readonly witnessParties: readonly string[];
  readonly implementedInterfaces: readonly string[];
}

export interface ExercisedEvent {
  readonly kind: 'exercised';
  readonly nodeId: number;
  readonly contractId: TextOrUtf8;
  readonly templateId: TemplateId;
  readonly packageName: string | null;
  readonly interfaceId: TemplateId | null;
  readonly choice: string;
  readonly argument: JsonText | null;
  readonly result: JsonText | null;
  readonly actingParties: readonly string[];
  readonly witnessParties: readonly string[];
  readonly consuming: boolean;
  readonly lastDescendantNodeId: number | null;
  readonly implementedInterfaces: readonly string[];
  readonly acsDelta: boolean | null;
}

export interface UnassignedEvent {
  readonly kind: 'unassigned';
  readonly offset: number;
  readonly nodeId: number;
  readonly contractId: string;
  readonly templateId: TemplateId;
  readonly packageName: string | null;
  readonly reassignmentId: string;
  readonly source: string;
  readonly target: string;
  readonly submitter: string | null;
  readonly reassignmentCounter: number | null;
  readonly assignmentExclusivity: string | null;
  readonly witnessParties: readonly string[];
}

export interface AssignedEvent {
  readonly kind: 'assigned';
  readonly reassignmentId: string;
  readonly source: string;
  readonly target: string;
  readonly submitter: string | null;
  readonly reassignmentCounter: number | null;
  readonly created: CreatedEvent;
}

export interface TopologyEvent {
  readonly kind: 'topology';
  /** The ledger's own name, e.g. `ParticipantAuthorizationAdded`. */
  readonly name: string;
  readonly partyId: string | null;
  readonly participantId: string | null;
  readonly participantPermission: string | null;
  /** The entire event as JSON, if this version does not know it. */
  readonly raw: string | null;
}
