/** Test cases for calls that submit commands, directly or with signatures of external parties, and for completions. */
import { generateSigningKey, partySignature } from '../../../src/ledger/access/signing.ts';
import { collect } from '../../support/all.ts';
import {
  party,
  eventFormat,
  transactionFormat,
  transaction,
  submitResult,
  commands,
  type CallCase,
} from './call-case.ts';

const key = generateSigningKey();
const reassignment = {
  commandId: 'c',
  submitter: party,
  commands: [{ command: { UnassignCommand: { value: { contractId: '00', source: 'a::1', target: 'b::1' } } } }],
} as const;

export const submission: readonly CallCase[] = [
  {
    operation: 'POST /v2/commands/submit-and-wait',
    url: '/v2/commands/submit-and-wait',
    schema: 'JsCommands',
    body: commands,
    call: (client) => client.commands.submitAndWait(commands),
    answer: { ...submitResult, later: 1 },
    result: submitResult,
  },
  {
    operation: 'POST /v2/commands/submit-and-wait-for-transaction',
    url: '/v2/commands/submit-and-wait-for-transaction',
    schema: 'JsSubmitAndWaitForTransactionRequest',
    body: { commands, transactionFormat },
    call: (client) => client.commands.submitAndWaitForTransaction(commands, transactionFormat),
    answer: { transaction },
    result: transaction,
  },
  {
    operation: 'POST /v2/commands/async/submit',
    url: '/v2/commands/async/submit',
    schema: 'JsCommands',
    body: commands,
    call: (client) => client.commands.submit(commands),
    answer: {},
    result: undefined,
  },
  {
    operation: 'POST /v2/commands/submit-and-wait-for-reassignment',
    url: '/v2/commands/submit-and-wait-for-reassignment',
    schema: 'SubmitAndWaitForReassignmentRequest',
    body: { reassignmentCommands: reassignment, eventFormat },
    call: (client) => client.commands.submitAndWaitForReassignment(reassignment, eventFormat),
    answer: { reassignment: { offset: 3, updateId: 'u' } },
    result: { offset: 3, updateId: 'u' },
  },
  {
    operation: 'POST /v2/commands/async/submit-reassignment',
    url: '/v2/commands/async/submit-reassignment',
    schema: 'SubmitReassignmentRequest',
    body: { reassignmentCommands: reassignment },
    call: (client) => client.commands.submitReassignment(reassignment),
    answer: {},
    result: undefined,
  },
  {
    operation: 'POST /v2/commands/completions',
    url: '/v2/commands/completions?limit=2&stream_idle_timeout_ms=100',
    schema: 'CompletionStreamRequest',
    body: { parties: [party], userId: 'u', beginExclusive: 0 },
    call: ({ completions }) =>
      collect(
        completions.list({ parties: [party], userId: 'u', beginExclusive: 0 }, { limit: 2, streamIdleTimeoutMs: 100 }),
      ),
    answer: [
      { completionResponse: { Completion: { value: { offset: 3, commandId: 'c', updateId: '' } } } },
      { completionResponse: { OffsetCheckpoint: { value: { offset: 4 } } } },
    ],
    result: [
      { Completion: { value: { offset: 3, commandId: 'c', updateId: '' } } },
      { OffsetCheckpoint: { value: { offset: 4 } } },
    ],
  },
  {
    operation: 'POST /v2/commands/completion-by-hash',
    url: '/v2/commands/completion-by-hash',
    body: { transactionHash: 'EiA=' },
    call: ({ completions }) => completions.byHash('EiA='),
    answer: {
      acceptedCompletion: { offset: 3, commandId: 'c' },
      lastRejectedCompletions: [{ offset: 2, commandId: 'c' }],
    },
    result: {
      acceptedCompletion: { offset: 3, commandId: 'c' },
      lastRejectedCompletions: [{ offset: 2, commandId: 'c' }],
    },
    later: true,
  },
  {
    operation: 'POST /v2/commands/command-completions',
    url: '/v2/commands/command-completions',
    schema: 'GetCompletionsRequest',
    body: { beginExclusive: 5 },
    call: ({ completions }) => collect(completions.commandCompletions({ beginExclusive: 5 })),
    answer: [],
    result: [],
  },
];

const prepareRequest = {
  ...commands,
  deduplicationPeriod: undefined,
  synchronizerId: 's::1',
  verboseHashing: true,
  maxRecordTime: '2026-01-01T00:00:00Z',
};
const withoutPeriod = JSON.parse(JSON.stringify(prepareRequest)) as Omit<typeof prepareRequest, 'deduplicationPeriod'>;
const preparation = {
  preparedTransaction: 'dA==',
  preparedTransactionHash: 'EiA=',
  hashingSchemeVersion: 'HASHING_SCHEME_VERSION_V2',
  hashingDetails: null,
  costEstimation: { totalTrafficCostEstimation: 5 },
};
const executeRequest = {
  preparedTransaction: 'dA==',
  partySignatures: { signatures: [partySignature(key, party, 'EiA=')] },
  submissionId: 's',
  hashingSchemeVersion: 'HASHING_SCHEME_VERSION_V2',
};

export const interactive: readonly CallCase[] = [
  {
    operation: 'POST /v2/interactive-submission/prepare',
    url: '/v2/interactive-submission/prepare',
    schema: 'JsPrepareSubmissionRequest',
    body: { ...withoutPeriod, packageIdSelectionPreference: [] },
    call: ({ interactive }) => interactive.prepare(withoutPeriod),
    answer: preparation,
    result: preparation,
  },
  {
    operation: 'POST /v2/interactive-submission/execute',
    url: '/v2/interactive-submission/execute',
    schema: 'JsExecuteSubmissionRequest',
    body: { ...executeRequest, deduplicationPeriod: { Empty: {} } },
    call: ({ interactive }) => interactive.execute(executeRequest),
    answer: {},
    result: undefined,
  },
  {
    operation: 'POST /v2/interactive-submission/executeAndWait',
    url: '/v2/interactive-submission/executeAndWait',
    schema: 'JsExecuteSubmissionAndWaitRequest',
    body: { ...executeRequest, deduplicationPeriod: { Empty: {} } },
    call: ({ interactive }) => interactive.executeAndWait(executeRequest),
    answer: submitResult,
    result: submitResult,
  },
  {
    operation: 'POST /v2/interactive-submission/executeAndWaitForTransaction',
    url: '/v2/interactive-submission/executeAndWaitForTransaction',
    schema: 'JsExecuteSubmissionAndWaitForTransactionRequest',
    body: { ...executeRequest, deduplicationPeriod: { Empty: {} }, transactionFormat },
    call: ({ interactive }) => interactive.executeAndWaitForTransaction(executeRequest, transactionFormat),
    answer: { transaction },
    result: transaction,
  },
  {
    operation: 'POST /v2/interactive-submission/preferred-packages',
    url: '/v2/interactive-submission/preferred-packages',
    schema: 'GetPreferredPackagesRequest',
    body: { packageVettingRequirements: [{ parties: [party], packageName: 'p' }] },
    call: ({ interactive }) =>
      interactive.preferredPackages({ packageVettingRequirements: [{ parties: [party], packageName: 'p' }] }),
    answer: { packageReferences: [{ packageId: 'a' }], synchronizerId: 's::1' },
    result: { packageReferences: [{ packageId: 'a' }], synchronizerId: 's::1' },
  },
];
