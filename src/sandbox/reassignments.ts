/** Moving a contract between the two synchronizers, and topology events: the updates that no command makes. */
import { failure } from './failure.ts';
import type { Ledger } from './ledger.ts';
import { formatTimestamp } from './values.ts';
import type { ReassignmentEvent } from './wire.ts';

function commitReassignment(ledger: Ledger, synchronizerId: string, event: ReassignmentEvent, at: number): number {
  return ledger.commit({
    Reassignment: {
      value: {
        updateId: ledger.random.updateId(),
        commandId: '',
        workflowId: '',
        offset: 0,
        events: [event],
        traceContext: ledger.traceContext(),
        recordTime: ledger.recordTime(synchronizerId, at),
        synchronizerId,
        paidTrafficCost: null,
      },
    },
  });
}

/** Takes an active contract off its synchronizer and gives back the reassignment id. `at`: microseconds since 1970. */
export function unassign(ledger: Ledger, contractId: string, at: number = ledger.clock()): string {
  const active = ledger.find(contractId);
  if (active === undefined) {
    const cause = `Contract could not be found with id ${contractId}`;
    throw failure({ code: 'CONTRACT_NOT_FOUND', category: 11, cause, resources: [['ErrorResource(CID)', contractId]] });
  }
  const { created, synchronizerId: source } = active;
  const target = ledger.synchronizers.find(({ id }) => id !== source)?.id ?? source;
  const reassignmentId = `00${ledger.random.updateId()}`;
  const value = {
    reassignmentId,
    contractId,
    templateId: created.templateId,
    source,
    target,
    submitter: created.signatories[0] ?? '',
    reassignmentCounter: active.counter + 1,
    assignmentExclusivity: formatTimestamp(at + 1_000_000),
    witnessParties: ledger.parties([...created.signatories, ...created.observers]),
    packageName: created.packageName,
    offset: 0,
    nodeId: 0,
  };
  commitReassignment(ledger, source, { JsUnassignedEvent: { value } }, at);
  return reassignmentId;
}

/** Lets the contract of an unassign arrive on its target. Gives back the offset. */
export function assign(ledger: Ledger, reassignmentId: string, at: number = ledger.clock()): number {
  const { created, unassigned } = ledger.inFlight(reassignmentId);
  if (unassigned === undefined) throw new Error('an activation in flight has no unassign event');
  const { source, target, submitter, reassignmentCounter, witnessParties } = unassigned.event;
  const createdEvent = { ...created, offset: 0, nodeId: 0, witnessParties, acsDelta: true };
  const event = { source, target, reassignmentId, submitter, reassignmentCounter, createdEvent };
  return commitReassignment(ledger, target, { JsAssignmentEvent: event }, at);
}

/** A party becomes hosted on this participant, or stops being so. Gives back the offset. */
export function authorize(ledger: Ledger, partyId: string, added: boolean, at: number = ledger.clock()): number {
  const { participantId } = ledger;
  const participantPermission = 'PARTICIPANT_PERMISSION_SUBMISSION';
  const event = added
    ? { ParticipantAuthorizationAdded: { value: { partyId, participantId, participantPermission } } }
    : { ParticipantAuthorizationRevoked: { value: { partyId, participantId } } };
  const synchronizerId = ledger.synchronizers[0].id;
  return ledger.commit({
    TopologyTransaction: {
      value: {
        updateId: ledger.random.updateId(),
        offset: 0,
        synchronizerId,
        recordTime: ledger.recordTime(synchronizerId, at),
        events: [{ event }],
        traceContext: ledger.traceContext(),
      },
    },
  });
}
