/**
 * Commands as they are sent, shared by direct and by interactive submission. Template ids are `#package-name:M:E` or
 * `package-id:M:E`; for a choice of an interface the id is the interface's. Daml values are plain JSON (Int and Numeric
 * as text). Source: OpenAPI description of 3.5.10.
 */

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

/** For how long a repeated command id is refused: a duration, or everything after an offset. */
export type DeduplicationPeriod =
  | { readonly DeduplicationDuration: { readonly value: Duration } }
  | { readonly DeduplicationOffset: { readonly value: number } };

/** A contract that the submitter shows although the participant does not know it. */
export interface DisclosedContract {
  /** Base64, from a CreatedEvent that was asked for with its blob. */
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

/** What direct and interactive submission have in common. */
export interface CommandContext {
  readonly commands: readonly Command[];
  /** With user and `actAs` the identity of the change: the same three are accepted once per deduplication period. */
  readonly commandId: string;
  readonly actAs: readonly string[];
  readonly readAs?: readonly string[];
  /** Taken from the token unless given. */
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
