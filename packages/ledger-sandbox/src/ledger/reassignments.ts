/** Moves of a contract between the two synchronizers, and topology events: the updates that have no command. */
import { failure } from '../wire/failure.ts';
import type { Ledger } from './ledger.ts';
import { formatTimestamp } from '../wire/values.ts';
import type { AssignmentEvent, CreatedEvent, ReassignmentEvent, UnassignedEvent } from '../wire/wire.ts';

const emptySubmission = { commandId: '', workflowId: '' };

/** Appends events of one kind as one update. `at`: microseconds since 1970. Returns the offset. */
export function commitReassignment(
  ledger: Ledger,
  synchronizerId: string,
  events: readonly ReassignmentEvent[],
  at: number,
  { commandId, workflowId }: { readonly commandId: string; readonly workflowId: string } = emptySubmission,
): number {
  return ledger.commit({
    Reassignment: {
      value: {
        updateId: ledger.random.updateId(),
        commandId,
        workflowId,
        offset: 0,
        events,
        traceContext: ledger.traceContext(),
        recordTime: ledger.recordTime(synchronizerId, at),
        synchronizerId,
        // Only the submitting participant knows the cost.
        paidTrafficCost: commandId === '' ? null : 0,
      },
    },
  });
}

/** The event with which an active contract leaves its synchronizer for the other one. */
export function departure(ledger: Ledger, contractId: string, at: number): UnassignedEvent {
  const activation = ledger.find(contractId);
  if (activation === undefined) {
    const cause = `Contract could not be found with id ${contractId}`;
    throw failure({ code: 'CONTRACT_NOT_FOUND', category: 11, cause, resources: [['ErrorResource(CID)', contractId]] });
  }
  const { created, synchronizerId: source } = activation;
  const target = ledger.synchronizers.find(({ id }) => id !== source)?.id ?? source;
  return {
    reassignmentId: `00${ledger.random.updateId()}`,
    contractId,
    templateId: created.templateId,
    source,
    target,
    submitter: created.signatories[0] ?? '',
    reassignmentCounter: activation.counter + 1,
    assignmentExclusivity: formatTimestamp(at + 1_000_000),
    witnessParties: ledger.parties([...created.signatories, ...created.observers]),
    packageName: created.packageName,
    offset: 0,
    nodeId: 0,
  };
}

/** The event with which the contract of an unassign arrives. */
export function arrival(foundEvent: CreatedEvent, unassignedEvent: UnassignedEvent): AssignmentEvent {
  const { source, target, reassignmentId, submitter, reassignmentCounter, witnessParties } = unassignedEvent;
  const createdEvent = { ...foundEvent, offset: 0, nodeId: 0, witnessParties, acsDelta: true };
  return { source, target, reassignmentId, submitter, reassignmentCounter, createdEvent };
}

/**
 * Unassigns an active contract from its synchronizer and returns the reassignment id. `at`: microseconds since 1970.
 */
export function unassign(ledger: Ledger, contractId: string, at: number = ledger.clock()): string {
  const value = departure(ledger, contractId, at);
  commitReassignment(ledger, value.source, [{ JsUnassignedEvent: { value } }], at);
  return value.reassignmentId;
}

/** Assigns the contract of an unassign to its target. Returns the offset. */
export function assign(ledger: Ledger, reassignmentId: string, at: number = ledger.clock()): number {
  const { created, unassigned: unassignedEntry } = ledger.inFlight(reassignmentId);
  if (unassignedEntry === undefined) throw new Error('an activation in flight has no unassign event');
  const { target } = unassignedEntry.event;
  return commitReassignment(ledger, target, [{ JsAssignmentEvent: arrival(created, unassignedEntry.event) }], at);
}

/**
 * Assigns a contract to the other synchronizer before this participant receives its unassign, because order across
 * synchronizers is not causal. Until the returned function is called, snapshots contain the reassignment as incomplete.
 * That function returns the offset of the unassign.
 */
export function assignAhead(ledger: Ledger, contractId: string, at: number = ledger.clock()): () => number {
  const value = departure(ledger, contractId, at);
  const createdEvent = ledger.find(contractId)?.created;
  if (createdEvent === undefined) throw new Error('an active contract has no created event');
  commitReassignment(ledger, value.target, [{ JsAssignmentEvent: arrival(createdEvent, value) }], at);
  return () => commitReassignment(ledger, value.source, [{ JsUnassignedEvent: { value } }], ledger.clock());
}

/** Synchronizer and permission with which a party becomes hosted. Default: the first synchronizer, and submission. */
export interface AssignmentOptions {
  readonly synchronizerId?: string;
  /** `PARTICIPANT_PERMISSION_…` */
  readonly permission?: string;
  /** Default: this participant. */
  readonly participantId?: string;
}

/**
 * Hosts a party on a participant, or ends its hosting. Later events of the party's contracts are then not visible
 * there. Returns the offset.
 */
export function authorize(
  ledger: Ledger,
  partyId: string,
  added: boolean,
  at: number = ledger.clock(),
  options: AssignmentOptions = {},
): number {
  const participantId = options.participantId ?? ledger.participantId;
  const participantPermission = options.permission ?? 'PARTICIPANT_PERMISSION_SUBMISSION';
  const event = added
    ? { ParticipantAuthorizationAdded: { value: { partyId, participantId, participantPermission } } }
    : { ParticipantAuthorizationRevoked: { value: { partyId, participantId } } };
  const synchronizerId = options.synchronizerId ?? ledger.synchronizers[0].id;
  return ledger.commit({
    TopologyTransaction: {
      value: {
        updateId: ledger.random.updateId(),
        offset: 0,
        synchronizerId,
        recordTime: ledger.recordTime(synchronizerId, at),
        events: [{ event }],
        // A participant hosts its own party before any request, so there is no trace.
        traceContext: partyId === participantId ? null : ledger.traceContext(),
      },
    },
  });
}
