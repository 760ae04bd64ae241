/** Reassignment commands: reads `ReassignmentCommands` and runs them as one update. */
import type { Move, ReassignmentSubmission } from './client-action.ts';
import { invalidArgument, missingField } from '../wire/failure.ts';
import { asList, asObject, asText } from '../wire/json.ts';
import type { Json, JsonObject } from '../wire/json.ts';
import type { Ledger } from './ledger.ts';
import { arrival, commitReassignment, departure } from './reassignments.ts';
import { requireSynchronizer } from './submission-request.ts';
import type { SubmissionRequest } from './submission-request.ts';
import { admit, complete } from './submission-run.ts';
import type { ReassignmentEvent } from '../wire/wire.ts';

function requiredText(jsonObject: JsonObject, key: string, field: string): string {
  const value = asText(jsonObject[key]);
  if (value === '') throw missingField(field);
  return value;
}

function move(ledger: Ledger, body: Json): Move {
  const command = asObject(asObject(body)?.['command']) ?? {};
  const unassign = asObject(asObject(command['UnassignCommand'])?.['value']);
  const commandValue = unassign ?? asObject(asObject(command['AssignCommand'])?.['value']);
  if (commandValue === undefined) throw missingField('command');
  const source = requiredText(commandValue, 'source', 'source');
  const target = requiredText(commandValue, 'target', 'target');
  for (const id of [source, target]) requireSynchronizer(ledger, id);
  if (unassign === undefined) {
    return {
      kind: 'assign',
      reassignmentId: requiredText(commandValue, 'reassignmentId', 'reassignment_id'),
      source,
      target,
    };
  }
  const contractId = requiredText(commandValue, 'contractId', 'contract_id');
  if (source === target) {
    const problem = `Cannot unassign contract \`ContractId(${contractId})\``;
    throw invalidArgument(`${problem}: source and target domains are the same`);
  }
  return { kind: 'unassign', contractId, source, target };
}

/** Parses the commands of a request. Throws the participant's refusal. */
export function parseReassignment(
  ledger: Ledger,
  body: JsonObject,
  submissionIds: SubmissionRequest,
): ReassignmentSubmission {
  const submitter = requiredText(body, 'submitter', 'submitter');
  const moves = asList(body['commands']).map((command) => move(ledger, command));
  const [first] = moves;
  if (first === undefined) throw missingField('commands');
  const isUniform = moves.every(
    ({ kind, source, target }) => kind === first.kind && source === first.source && target === first.target,
  );
  if (!isUniform) {
    throw invalidArgument('all commands of a reassignment must be of one kind and between the same synchronizers');
  }
  return { ...submissionIds, submitter, workflowId: asText(body['workflowId']), moves };
}

function applyUnassignment(
  ledger: Ledger,
  { contractId, source, target }: Extract<Move, { kind: 'unassign' }>,
  facts: { readonly submitter: string; readonly at: number; readonly nodeId: number },
): ReassignmentEvent {
  const { submitter, at, nodeId } = facts;
  const value = { ...departure(ledger, contractId, at), target, submitter, nodeId };
  const problem = `Cannot unassign contract \`ContractId(${contractId})\``;
  if (value.source !== source)
    throw invalidArgument(`${problem}: the contract is on ${value.source}, not on ${source}`);
  if (!value.witnessParties.includes(submitter)) {
    throw invalidArgument(`${problem}: the submitter ${submitter} is not a stakeholder`);
  }
  return { JsUnassignedEvent: { value } };
}

function applyAssignment(
  ledger: Ledger,
  { reassignmentId, source, target }: Extract<Move, { kind: 'assign' }>,
  submitter: string,
  nodeId: number,
): ReassignmentEvent {
  const { created, unassigned: unassignedEntry } = ledger.inFlight(reassignmentId);
  const problem = `Cannot assign \`${reassignmentId}\``;
  if (unassignedEntry?.event.source !== source || unassignedEntry.event.target !== target) {
    throw invalidArgument(`${problem}: its contract does not travel from ${source} to ${target}`);
  }
  const assignedEvent = arrival(created, unassignedEntry.event);
  if (!assignedEvent.createdEvent.witnessParties.includes(submitter)) {
    throw invalidArgument(`${problem}: the submitter ${submitter} is not a stakeholder`);
  }
  return {
    JsAssignmentEvent: { ...assignedEvent, submitter, createdEvent: { ...assignedEvent.createdEvent, nodeId } },
  };
}

/** Runs the moves as one update and leaves its completion. Returns its offset. `at`: microseconds since 1970. */
export function reassign(ledger: Ledger, submission: ReassignmentSubmission & { readonly at: number }): number {
  const { userId, submitter, commandId, submissionId, workflowId, moves } = submission;
  const at = ledger.clock(submission.at);
  const [first] = moves;
  if (first === undefined) throw missingField('commands');
  const events = moves.map((reassignmentMove, nodeId) =>
    reassignmentMove.kind === 'unassign'
      ? applyUnassignment(ledger, reassignmentMove, { submitter, at, nodeId })
      : applyAssignment(ledger, reassignmentMove, submitter, nodeId),
  );
  const synchronizerId = first.kind === 'unassign' ? first.source : first.target;
  const submitterFields = { userId, actAs: [submitter], commandId, submissionId, commands: [] };
  const change = admit(ledger, submitterFields, { synchronizerId, at });
  const offset = commitReassignment(ledger, synchronizerId, events, at, { commandId, workflowId });
  const update = ledger.range(offset - 1, offset, 1)[0]?.update;
  if (update === undefined || !('Reassignment' in update)) throw new Error('a reassignment left no update');
  if (change !== undefined) complete(ledger, change, update.Reassignment.value, at);
  return offset;
}
