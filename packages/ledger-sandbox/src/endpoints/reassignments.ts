/** Reassignment submission: move contracts between synchronizers. */
import { require } from '../identity/caller.ts';
import type { Call, Endpoint } from '../api/endpoint.ts';
import { parseEventFormat } from '../contracts/format.ts';
import { asObject } from '../wire/json.ts';
import { performJournaled } from '../ledger/perform.ts';
import { eventFormatNeeds } from '../identity/read-rights.ts';
import { parseReassignment } from '../ledger/reassignment-commands.ts';
import { Renderer } from '../api/render.ts';
import { withTraceNames, parseSubmissionIds } from '../ledger/submission-request.ts';
import { updateAt } from '../api/transaction-answer.ts';
import { withoutWaiting } from './commands.ts';

/** Parses, authorizes and names a request. Returns a function that runs it and returns the offset of its update. */
function reassignmentOf({ participant: { ledger }, caller, body }: Call): () => number {
  const commands = asObject(body['reassignmentCommands']) ?? {};
  const submissionIds = parseSubmissionIds(ledger, commands, caller);
  const submission = parseReassignment(ledger, commands, submissionIds);
  require(caller, [{ actAs: submission.submitter }]);
  const at = ledger.clock();
  const reassignmentFields = {
    ...submissionIds,
    commands: [],
    actAs: [submission.submitter],
    workflowId: submission.workflowId,
    at,
  };
  return () =>
    withTraceNames(reassignmentFields, () => performJournaled(ledger, { reassignment: { ...submission, at } }));
}

function submitForReassignment(call: Call): string {
  const { participant, caller, body } = call;
  const submit = reassignmentOf(call);
  const eventFormat = asObject(body['eventFormat']);
  if (eventFormat !== undefined) require(caller, eventFormatNeeds(eventFormat));
  const { model } = participant.ledger;
  const format = eventFormat === undefined ? undefined : parseEventFormat(eventFormat, model, participant.release);
  const storedUpdate = updateAt(call, submit());
  if (storedUpdate.update === undefined || !('Reassignment' in storedUpdate.update))
    throw new Error('not a reassignment');
  const { value } = storedUpdate.update.Reassignment;
  const reassignment = new Renderer(participant).reassignment(value, format) ?? { ...value, events: [] };
  return JSON.stringify({ reassignment });
}

export const reassignmentEndpoints: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/v2/commands/submit-and-wait-for-reassignment',
    summary: 'Move contracts between synchronizers and wait for the update',
    request: 'SubmitAndWaitForReassignmentRequest',
    response: 'JsSubmitAndWaitForReassignmentResponse',
    run: submitForReassignment,
  },
  {
    method: 'POST',
    path: '/v2/commands/async/submit-reassignment',
    summary: 'Move contracts between synchronizers without waiting',
    request: 'SubmitReassignmentRequest',
    response: 'SubmitReassignmentResponse',
    run: (call) => withoutWaiting(reassignmentOf(call)),
  },
];
