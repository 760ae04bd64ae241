/** Complete frames of every kind, as a participant sends them, for tests that change one field in them. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonRecord = { [key: string]: Json };

export const alice = 'Alice::1220aa';
export const bob = 'Bob::1220bb';
export const here = 'here::1220cc';
export const there = 'there::1220dd';
export const template = `${'ab'.repeat(32)}:Main.Iou:Iou`;
export const viewed = `${'cd'.repeat(32)}:Holding:Holding`;
export const recordTime = '2026-08-14T11:01:00.100001Z';

/** A CreatedEvent with every field set. */
export function created(change: JsonRecord = {}): JsonRecord {
  return {
    offset: 41,
    nodeId: 0,
    contractId: '00c1',
    templateId: template,
    contractKey: null,
    contractKeyHash: '',
    createArgument: { owner: alice, amount: '60.0000000000' },
    createdEventBlob: 'AAAA',
    interfaceViews: [
      {
        interfaceId: viewed,
        viewStatus: { code: 0, message: '', details: [] },
        viewValue: { amount: '60.0000000000' },
        implementationPackageId: 'ab'.repeat(32),
      },
    ],
    witnessParties: [alice],
    signatories: [alice],
    observers: [bob],
    createdAt: '2026-08-11T12:49:09.497398Z',
    packageName: 'iou',
    representativePackageId: 'ab'.repeat(32),
    acsDelta: true,
    ...change,
  };
}

/** A consuming ExercisedEvent with every field set. */
export function exercised(change: JsonRecord = {}): JsonRecord {
  return {
    offset: 41,
    nodeId: 1,
    contractId: '00c1',
    templateId: template,
    interfaceId: viewed,
    choice: 'Transfer',
    choiceArgument: { to: bob },
    actingParties: [alice],
    consuming: true,
    witnessParties: [alice],
    lastDescendantNodeId: 2,
    exerciseResult: { cid: '00c2' },
    packageName: 'iou',
    implementedInterfaces: [viewed],
    acsDelta: true,
    ...change,
  };
}

export function archived(change: JsonRecord = {}): JsonRecord {
  return {
    offset: 41,
    nodeId: 2,
    contractId: '00c3',
    templateId: template,
    witnessParties: [alice],
    packageName: 'iou',
    implementedInterfaces: [viewed],
    ...change,
  };
}

/** An update frame: `{"update":{"<kind>":{"value":…}}}`. */
export function update(kind: string, value: Json): JsonRecord {
  return { update: { [kind]: { value } } };
}

export function transaction(offset: number, events: Json[], change: JsonRecord = {}): JsonRecord {
  return update('Transaction', {
    updateId: `1220${String(offset).padStart(4, '0')}`,
    commandId: 'command',
    workflowId: 'workflow',
    effectiveAt: '2026-08-14T11:01:00Z',
    events,
    offset,
    synchronizerId: here,
    traceContext: { traceparent: '00-aa-bb-01', tracestate: 'vendor=1' },
    recordTime,
    externalTransactionHash: 'ff00',
    paidTrafficCost: 512,
    ...change,
  });
}

/** A transaction with one event of each type and every field set. */
export function fullTransaction(offset = 41): JsonRecord {
  return transaction(offset, [
    { CreatedEvent: created() },
    { ExercisedEvent: exercised() },
    { ArchivedEvent: archived() },
  ]);
}

export function unassigned(change: JsonRecord = {}): JsonRecord {
  return {
    reassignmentId: 'r1',
    contractId: '00c1',
    templateId: template,
    source: here,
    target: there,
    submitter: alice,
    reassignmentCounter: 1,
    assignmentExclusivity: '2026-08-14T11:02:00Z',
    witnessParties: [alice],
    packageName: 'iou',
    offset: 50,
    nodeId: 0,
    ...change,
  };
}

export function assigned(change: JsonRecord = {}): JsonRecord {
  return {
    source: here,
    target: there,
    reassignmentId: 'r1',
    submitter: alice,
    reassignmentCounter: 1,
    createdEvent: created({ offset: 51 }),
    ...change,
  };
}

/** One half of a reassignment, sequenced by `synchronizerId`. */
export function reassignment(offset: number, reassignmentEvent: JsonRecord, synchronizerId = here): JsonRecord {
  return update('Reassignment', {
    updateId: `1220${String(offset)}`,
    commandId: '',
    workflowId: '',
    offset,
    events: [reassignmentEvent],
    traceContext: null,
    recordTime,
    synchronizerId,
    paidTrafficCost: 7,
  });
}

export function topology(offset: number): JsonRecord {
  const value = {
    partyId: alice,
    participantId: 'p::1220',
    participantPermission: 'PARTICIPANT_PERMISSION_SUBMISSION',
  };
  return update('TopologyTransaction', {
    updateId: `1220${String(offset)}`,
    offset,
    synchronizerId: here,
    recordTime,
    events: [{ event: { ParticipantAuthorizationAdded: { value } } }],
    traceContext: null,
  });
}

/**
 * A change of party hosting: kind (`Added`, `Changed`, `Onboarding` or `Revoked`), party, and the participant if it is
 * another one.
 */
export type HostingChange = readonly [kind: string, party: string, participant?: string];

export function hosting(offset: number, changes: readonly HostingChange[], synchronizerId = here): JsonRecord {
  return update('TopologyTransaction', {
    updateId: `1220${String(offset)}`,
    offset,
    synchronizerId,
    recordTime,
    events: changes.map(([kind, partyId, participantId = 'p::1220']) => {
      const permission = kind === 'Revoked' ? {} : { participantPermission: 'PARTICIPANT_PERMISSION_SUBMISSION' };
      return { event: { [`ParticipantAuthorization${kind}`]: { value: { partyId, participantId, ...permission } } } };
    }),
    traceContext: null,
  });
}

export function offsetCheckpoint(offset: number): JsonRecord {
  return update('OffsetCheckpoint', { offset, synchronizerTimes: [{ synchronizerId: here, recordTime }] });
}

/** One entry in a list of active contracts. */
export function entry(kind: string, value: JsonRecord, change: JsonRecord = {}): JsonRecord {
  return { workflowId: 'import', contractEntry: { [kind]: value }, streamContinuationToken: 'dG9r', ...change };
}

export function activeEntry(change: JsonRecord = {}): JsonRecord {
  return entry('JsActiveContract', { createdEvent: created(change), synchronizerId: here, reassignmentCounter: 0 });
}

export function text(frame: Json): string {
  return JSON.stringify(frame);
}
