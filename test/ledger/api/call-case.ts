/**
 * One call of the client as a test case: the request, a response, and the expected result. Responses contain keys of
 * several releases and unknown keys on purpose.
 */
import type { LedgerClient } from '../../../src/ledger/api/client.ts';

export interface CallCase {
  /** Name in the API descriptions, such as `GET /v2/packages/{package-id}`. */
  readonly operation: string;
  /** Expected path and query of the request. */
  readonly url: string;
  /** Name of the schema of the request in the API descriptions. */
  readonly schema?: string;
  readonly body?: unknown;
  readonly call: (client: LedgerClient) => Promise<unknown>;
  readonly answer: unknown;
  readonly result: unknown;
  /** True if the API descriptions of release 3.5 do not contain the operation. */
  readonly later?: boolean;
}

export const party = 'Alice::1220ab';
export const escapedParty = 'Alice%3A%3A1220ab';
export const eventFormat = { filtersByParty: { [party]: {} } };
export const transactionFormat = { eventFormat, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' };
export const updateFormat = { includeTransactions: transactionFormat };
export const templateId = '#p:M:T';
export const created = {
  contractId: '00',
  templateId: 'id:M:T',
  createArgument: { n: '1' },
  contractKey: null,
  later: 1,
};
export const transaction = { offset: 7, updateId: '1220', events: [{ CreatedEvent: created }, { LaterEvent: {} }] };
export const update = { update: { Transaction: { value: transaction } } };
export const submitResult = { updateId: '1220', completionOffset: 11 };
export const commands = {
  commandId: 'c',
  actAs: [party],
  deduplicationPeriod: { DeduplicationDuration: { value: { seconds: 30, nanos: 0 } } },
  commands: [
    { CreateCommand: { templateId, createArguments: {} } },
    { ExerciseCommand: { templateId, contractId: '00', choice: 'C', choiceArgument: {} } },
    { CreateAndExerciseCommand: { templateId, createArguments: {}, choice: 'C', choiceArgument: {} } },
    { ExerciseByKeyCommand: { templateId, contractKey: 'k', choice: 'C', choiceArgument: {} } },
  ],
} as const;
