/** External parties: onboarding with their own keys, and submissions that they sign. */
import type { Call, Endpoint } from '../api/endpoint.ts';
import { allocateExternalParty } from '../external/allocate.ts';
import { execute, executionOf } from '../external/execute.ts';
import { prepare } from '../external/prepare.ts';
import { generateTopology } from '../external/topology.ts';
import { answerFormat, updateAt, transactionResponse } from '../api/transaction-answer.ts';
import { valueOf } from '../wire/wire.ts';
import { withoutWaiting } from './commands.ts';

function executeAsync(call: Call): string {
  const submission = executionOf(call);
  return withoutWaiting(() => execute(call, submission));
}

function executeAndWait(call: Call): string {
  const completionOffset = execute(call, executionOf(call));
  const { update } = updateAt(call, completionOffset);
  return JSON.stringify({ updateId: update === undefined ? '' : valueOf(update).updateId, completionOffset });
}

function executeForTransaction(call: Call): string {
  const submission = executionOf(call);
  const format = answerFormat(call, submission, call.body['transactionFormat']);
  return transactionResponse(call, execute(call, submission), format);
}

const executeWants = [
  'preparedTransaction',
  'partySignatures',
  'deduplicationPeriod',
  'submissionId',
  'hashingSchemeVersion',
];

export const externalEndpoints: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/v2/parties/external/generate-topology',
    summary: 'The topology transactions that onboard an external party, to be signed',
    request: 'GenerateExternalPartyTopologyRequest',
    response: 'GenerateExternalPartyTopologyResponse',
    run: ({ participant, body }) => generateTopology(participant.ledger, body),
  },
  {
    method: 'POST',
    path: '/v2/parties/external/allocate',
    summary: 'Allocate an external party with its signed topology transactions',
    request: 'AllocateExternalPartyRequest',
    response: 'AllocateExternalPartyResponse',
    run: allocateExternalParty,
  },
  {
    method: 'POST',
    path: '/v2/interactive-submission/prepare',
    summary: 'Prepare commands for external parties to sign',
    request: 'JsPrepareSubmissionRequest',
    wants: ['commandId', 'commands', 'actAs', 'synchronizerId', 'packageIdSelectionPreference'],
    response: 'JsPrepareSubmissionResponse',
    run: prepare,
  },
  {
    method: 'POST',
    path: '/v2/interactive-submission/execute',
    summary: 'Execute a signed transaction without waiting',
    request: 'JsExecuteSubmissionRequest',
    wants: executeWants,
    response: 'ExecuteSubmissionResponse',
    run: executeAsync,
  },
  {
    method: 'POST',
    path: '/v2/interactive-submission/executeAndWait',
    summary: 'Execute a signed transaction and wait for its update id',
    request: 'JsExecuteSubmissionAndWaitRequest',
    wants: executeWants,
    response: 'ExecuteSubmissionAndWaitResponse',
    run: executeAndWait,
  },
  {
    method: 'POST',
    path: '/v2/interactive-submission/executeAndWaitForTransaction',
    summary: 'Execute a signed transaction and wait for it',
    request: 'JsExecuteSubmissionAndWaitForTransactionRequest',
    wants: executeWants,
    response: 'JsExecuteSubmissionAndWaitForTransactionResponse',
    run: executeForTransaction,
  },
];
