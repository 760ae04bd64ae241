/**
 * Direct submission of commands. Right for all: CanActAs for every party in `actAs`, CanReadAs for those in `readAs`.
 * A rejected command is an IndexerError with the ledger's own code in `facts.ledgerCode` (e.g. DUPLICATE_COMMAND,
 * CONTRACT_NOT_FOUND, INCONSISTENT); LEDGER_UNREACHABLE and LEDGER_UNAVAILABLE leave open whether it was accepted, so
 * try again with the same command id.
 */
import type { Transport } from '../transport/transport.ts';
import { answerField, answerOffset, answerText } from './answer.ts';
import type { Commands, ReassignmentCommands } from './command.ts';
import { transactionIn, type Transaction, type UpdateValue } from './event.ts';
import type { EventFormat, TransactionFormat } from './format.ts';

export interface Submitted {
  readonly updateId: string;
  readonly completionOffset: number;
}

/** Reads `{updateId, completionOffset}`. @throws IndexerError */
export function submittedIn(answer: unknown, path: string): Submitted {
  const updateId = answerText(answer, 'updateId', path);
  return { updateId, completionOffset: answerOffset(answer, 'completionOffset', path) };
}

export interface CommandCalls {
  /** `POST /v2/commands/submit-and-wait`: resolves when the commands are on the ledger. All releases. */
  submitAndWait(commands: Commands): Promise<Submitted>;
  /**
   * `POST /v2/commands/submit-and-wait-for-transaction`, with the commands one level deeper than elsewhere. Without a
   * format: shape ACS_DELTA, events of `actAs` and `readAs`. All releases.
   */
  submitAndWaitForTransaction(commands: Commands, transactionFormat?: TransactionFormat): Promise<Transaction>;
  /** `POST /v2/commands/async/submit`: resolves when the commands are taken; the rest comes as a completion. */
  submit(commands: Commands): Promise<void>;
  /** `POST /v2/commands/submit-and-wait-for-reassignment`; without a format the events are left out. All releases. */
  submitAndWaitForReassignment(
    reassignmentCommands: ReassignmentCommands,
    eventFormat?: EventFormat,
  ): Promise<UpdateValue>;
  /** `POST /v2/commands/async/submit-reassignment`. All releases. */
  submitReassignment(reassignmentCommands: ReassignmentCommands): Promise<void>;
}

export function commandCalls(transport: Transport): CommandCalls {
  return {
    async submitAndWait(commands) {
      const path = '/v2/commands/submit-and-wait';
      return submittedIn(await transport.request('POST', path, commands), path);
    },
    async submitAndWaitForTransaction(commands, transactionFormat) {
      const path = '/v2/commands/submit-and-wait-for-transaction';
      return transactionIn(await transport.request('POST', path, { commands, transactionFormat }), path);
    },
    async submit(commands) {
      await transport.request('POST', '/v2/commands/async/submit', commands);
    },
    async submitAndWaitForReassignment(reassignmentCommands, eventFormat) {
      const path = '/v2/commands/submit-and-wait-for-reassignment';
      const answer = await transport.request('POST', path, { reassignmentCommands, eventFormat });
      const reassignment = answerField(answer, 'reassignment', path);
      return { ...reassignment, offset: answerOffset(reassignment, 'offset', path) };
    },
    async submitReassignment(reassignmentCommands) {
      await transport.request('POST', '/v2/commands/async/submit-reassignment', { reassignmentCommands });
    },
  };
}
