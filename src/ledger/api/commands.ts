/**
 * The types of commands, which are sent directly or by interactive submission, and the calls for direct submission.
 * Template ids are `#package-name:M:E` or `package-id:M:E`. For a choice of an interface, the id is the id of the
 * interface. Daml values are plain JSON (Int and Numeric as text). Source: OpenAPI description of 3.5.10.
 */
import type { Transport } from '../transport/transport.ts';
import { responseField, responseOffset, responseText } from './answer.ts';
import { type Transaction, transactionIn, type UpdateValue } from './update-types.ts';
import type { EventFormat, TransactionFormat } from './format.ts';

export interface CreateCommand {
  readonly CreateCommand: { readonly templateId: string; readonly createArguments: unknown };
}

export interface ExerciseCommand {
  readonly ExerciseCommand: {
    readonly templateId: string;
    readonly contractId: string;
    readonly choice: string;
    readonly choiceArgument: unknown;
  };
}

export interface CreateAndExerciseCommand {
  readonly CreateAndExerciseCommand: {
    readonly templateId: string;
    readonly createArguments: unknown;
    readonly choice: string;
    readonly choiceArgument: unknown;
  };
}

export interface ExerciseByKeyCommand {
  readonly ExerciseByKeyCommand: {
    readonly templateId: string;
    readonly contractKey: unknown;
    readonly choice: string;
    readonly choiceArgument: unknown;
  };
}

export type Command = CreateCommand | ExerciseCommand | CreateAndExerciseCommand | ExerciseByKeyCommand;

export interface Duration {
  readonly seconds: number;
  readonly nanos: number;
}

/** The period in which a repeated command id is refused. It is a duration, or everything after an offset. */
export type DeduplicationPeriod =
  | { readonly DeduplicationDuration: { readonly value: Duration } }
  | { readonly DeduplicationOffset: { readonly value: number } };

/** A contract that the submitter discloses because the participant does not know it. */
export interface DisclosedContract {
  /** Base64, from a CreatedEvent that was requested with its blob. */
  readonly createdEventBlob: string;
  readonly templateId?: string;
  readonly contractId?: string;
  readonly synchronizerId?: string;
}

export interface PrefetchContractKey {
  readonly templateId: string;
  readonly contractKey: unknown;
  readonly limit?: number;
}

/** Common fields of direct and interactive submission. */
export interface CommandContext {
  readonly commands: readonly Command[];
  /**
   * Identifies the change, together with user and `actAs`: the same combination is accepted only once per deduplication
   * period.
   */
  readonly commandId: string;
  readonly actAs: readonly string[];
  readonly readAs?: readonly string[];
  /** Default: the user of the token. */
  readonly userId?: string;
  readonly disclosedContracts?: readonly DisclosedContract[];
  readonly synchronizerId?: string;
  readonly packageIdSelectionPreference?: readonly string[];
  readonly prefetchContractKeys?: readonly PrefetchContractKey[];
  readonly tapsMaxPasses?: number;
}

/** `JsCommands`. */
export interface Commands extends CommandContext {
  readonly workflowId?: string;
  readonly submissionId?: string;
  readonly deduplicationPeriod?: DeduplicationPeriod;
  /** ISO-8601. */
  readonly minLedgerTimeAbs?: string;
  readonly minLedgerTimeRel?: Duration;
}

export interface UnassignCommand {
  readonly UnassignCommand: {
    readonly value: { readonly contractId: string; readonly source: string; readonly target: string };
  };
}

export interface AssignCommand {
  readonly AssignCommand: {
    readonly value: { readonly reassignmentId: string; readonly source: string; readonly target: string };
  };
}

/** `ReassignmentCommands`. */
export interface ReassignmentCommands {
  readonly commands: readonly { readonly command: UnassignCommand | AssignCommand }[];
  readonly commandId: string;
  readonly submitter: string;
  readonly workflowId?: string;
  readonly userId?: string;
  readonly submissionId?: string;
}

// Direct submission of commands. All calls need the right CanActAs for every party in `actAs`, and CanReadAs for every
// party in `readAs`. A rejected command is an IndexerError with the ledger's own code in `facts.ledgerCode` (e.g.
// DUPLICATE_COMMAND, CONTRACT_NOT_FOUND, INCONSISTENT). After LEDGER_UNREACHABLE and LEDGER_UNAVAILABLE it is unknown
// whether the command was accepted. Retry with the same command id.

export interface SubmitResponse {
  readonly updateId: string;
  readonly completionOffset: number;
}

/** Reads `{updateId, completionOffset}`. @throws IndexerError */
export function submitResponseOf(response: unknown, path: string): SubmitResponse {
  const updateId = responseText(response, 'updateId', path);
  return { updateId, completionOffset: responseOffset(response, 'completionOffset', path) };
}

export interface CommandCalls {
  /** `POST /v2/commands/submit-and-wait`: resolves when the commands are on the ledger. All releases. */
  submitAndWait(commands: Commands): Promise<SubmitResponse>;
  /**
   * `POST /v2/commands/submit-and-wait-for-transaction`, whose request nests the commands one level deeper than the
   * other requests. Without a format, the shape is ACS_DELTA with the events of `actAs` and `readAs`. All releases.
   */
  submitAndWaitForTransaction(commands: Commands, transactionFormat?: TransactionFormat): Promise<Transaction>;
  /** `POST /v2/commands/async/submit`: resolves when the commands are accepted. A completion reports the outcome. */
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
      return submitResponseOf(await transport.request('POST', path, commands), path);
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
      const response = await transport.request('POST', path, { reassignmentCommands, eventFormat });
      const reassignment = responseField(response, 'reassignment', path);
      return { ...reassignment, offset: responseOffset(reassignment, 'offset', path) };
    },
    async submitReassignment(reassignmentCommands) {
      await transport.request('POST', '/v2/commands/async/submit-reassignment', { reassignmentCommands });
    },
  };
}
