/** Command submission: the client waits for the update, waits for the transaction, or does not wait. */
import type { Call, Endpoint } from '../api/endpoint.ts';
import { failure } from '../wire/failure.ts';
import { asObject } from '../wire/json.ts';
import type { JsonObject } from '../wire/json.ts';
import { performJournaled } from '../ledger/perform.ts';
import { withTraceNames, parseSubmission } from '../ledger/submission-request.ts';
import type { ClientSubmission } from '../ledger/submission-request.ts';
import { Rejection } from '../ledger/submission-run.ts';
import { answerFormat, updateAt, transactionResponse, treeResponse } from '../api/transaction-answer.ts';
import { valueOf } from '../wire/wire.ts';

/** Refuses external parties, which sign themselves, because the participant cannot authorize their actions. */
function requireOwnParties({ participant: { parties } }: Call, actAs: readonly string[]): void {
  const external = actAs.filter((party) => parties.signingKey(party) !== undefined);
  if (external.length === 0) return;
  const cause = `This participant cannot submit as the given submitters ${external.join(', ')}: they sign themselves`;
  throw failure({ code: 'NO_SYNCHRONIZER_ON_WHICH_ALL_SUBMITTERS_CAN_SUBMIT', category: 9, cause });
}

/** Reads and authorizes `JsCommands`. */
function submissionOf(call: Call, commands: JsonObject): ClientSubmission {
  const submission = parseSubmission(call.participant.ledger, commands, call.caller);
  requireOwnParties(call, submission.actAs);
  return submission;
}

/** Runs a submission and returns the offset of its update. */
function run({ participant: { ledger } }: Call, submission: ClientSubmission): number {
  return withTraceNames(submission, () => performJournaled(ledger, { submission }));
}

function submitAndWait(call: Call): string {
  const completionOffset = run(call, submissionOf(call, call.body));
  const { update } = updateAt(call, completionOffset);
  return JSON.stringify({ updateId: update === undefined ? '' : valueOf(update).updateId, completionOffset });
}

function submitForTransaction(call: Call): string {
  const submission = submissionOf(call, asObject(call.body['commands']) ?? {});
  const format = answerFormat(call, submission, call.body['transactionFormat']);
  return transactionResponse(call, run(call, submission), format);
}

function submitForTree(call: Call): string {
  const submission = submissionOf(call, call.body);
  return treeResponse(call, run(call, submission), submission);
}

/** Refusals before the submission was ordered are thrown. Later ones are only reported in its completion. */
export function withoutWaiting(submit: () => unknown): string {
  try {
    submit();
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
  }
  return '{}';
}

function submitAsync(call: Call): string {
  const submission = submissionOf(call, call.body);
  return withoutWaiting(() => run(call, submission));
}

const requiredFields = ['commands', 'commandId', 'actAs'];

export const commandEndpoints: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/v2/commands/submit-and-wait',
    summary: 'Submit commands and wait for their update id',
    request: 'JsCommands',
    wants: requiredFields,
    response: 'SubmitAndWaitResponse',
    run: submitAndWait,
  },
  {
    method: 'POST',
    path: '/v2/commands/submit-and-wait-for-transaction',
    summary: 'Submit commands and wait for their transaction',
    request: 'JsSubmitAndWaitForTransactionRequest',
    wants: requiredFields.map((name) => `commands.${name}`),
    response: 'JsSubmitAndWaitForTransactionResponse',
    run: submitForTransaction,
  },
  {
    method: 'POST',
    path: '/v2/commands/submit-and-wait-for-transaction-tree',
    summary: 'Submit commands and wait for their transaction tree',
    last: '3.6',
    deprecatedIn: '3.4',
    request: 'JsCommands',
    wants: requiredFields,
    response: 'JsSubmitAndWaitForTransactionTreeResponse',
    run: submitForTree,
  },
  {
    method: 'POST',
    path: '/v2/commands/async/submit',
    summary: 'Submit commands without waiting',
    request: 'JsCommands',
    wants: requiredFields,
    response: 'SubmitResponse',
    run: submitAsync,
  },
];
