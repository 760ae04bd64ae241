/**
 * Contents of the ledger's streams: updates (four kinds, and those that this version does not know), seed entries, and
 * outcomes of submitted commands.
 */
import type { Microseconds } from './binary-timestamp.ts';
import type {
  ArchivedEvent,
  AssignedEvent,
  CreatedEvent,
  ExercisedEvent,
  TopologyEvent,
  UnassignedEvent,
} from './event.ts';
import type { TextOrUtf8 } from './utf8.ts';

/** Fields common to every stored update. Times are ISO-8601 text in UTC. */
export interface UpdateHeader {
  readonly offset: number;
  readonly updateId: TextOrUtf8 | null;
  readonly synchronizerId: string;
  readonly recordTime: TextOrUtf8 | null;
  readonly traceParent: TextOrUtf8 | null;
  readonly traceState: TextOrUtf8 | null;
  readonly commandId: TextOrUtf8 | null;
  readonly workflowId: TextOrUtf8 | null;
  readonly paidTrafficCost: number | bigint | null;
}

export interface Transaction extends UpdateHeader {
  readonly kind: 'transaction';
  readonly effectiveAt: TextOrUtf8 | null;
  readonly externalTransactionHash: TextOrUtf8 | null;
  readonly transactionHash: TextOrUtf8 | null;
  readonly events: readonly (CreatedEvent | ArchivedEvent | ExercisedEvent)[];
}

export interface Reassignment extends UpdateHeader {
  readonly kind: 'reassignment';
  readonly events: readonly (AssignedEvent | UnassignedEvent)[];
}

export interface TopologyTransaction extends UpdateHeader {
  readonly kind: 'topology';
  readonly events: readonly TopologyEvent[];
}

/** An update of a kind that this version does not know. It is stored raw, so that nothing is skipped. */
export interface UnknownUpdate extends UpdateHeader {
  readonly kind: 'unknown';
  /** The ledger's own name of the kind. */
  readonly name: string;
  readonly raw: string;
  readonly events: readonly [];
}

/**
 * The ledger's promise that everything visible up to `offset` has been delivered. It moves the checkpoint but has no
 * row.
 */
export interface OffsetCheckpoint {
  readonly kind: 'offset_checkpoint';
  readonly offset: number;
  readonly synchronizerTimes: readonly { readonly synchronizerId: string; readonly recordTime: string }[];
}

export type StoredUpdate = Transaction | Reassignment | TopologyTransaction | UnknownUpdate;
export type Update = StoredUpdate | OffsetCheckpoint;

/** One entry of the active contracts. */
export type ActiveContractEntry = SeedHeader &
  (
    | {
        readonly kind: 'active';
        readonly created: CreatedEvent;
        readonly synchronizerId: string;
        readonly reassignmentCounter: number | null;
      }
    | {
        readonly kind: 'incomplete_unassigned';
        readonly created: CreatedEvent;
        readonly unassigned: UnassignedEvent;
      }
    | {
        readonly kind: 'incomplete_assigned';
        readonly assigned: AssignedEvent;
        /** The created event as the ledger sent it. It does not imply that the contract is active. */
        readonly createdText: string;
      }
    | { readonly kind: 'empty' }
  );

interface SeedHeader {
  readonly workflowId: TextOrUtf8 | null;
  /**
   * Opaque token that resumes an interrupted seed after this entry (since release 3.5); null if the ledger does not
   * send one.
   */
  readonly continuationToken: string | null;
}

/** Why a command was rejected. */
export interface Rejection {
  /** gRPC code, never 0. */
  readonly statusCode: number;
  readonly message: string | null;
  /** Error code of the ledger, such as CONTRACT_NOT_FOUND; null if the ledger does not send it. */
  readonly code: string | null;
  readonly category: number | null;
  /** The first contract that the error names. */
  readonly contractId: string | null;
  /**
   * `package:Module:Template:Choice` of the command, with the package id shortened; null if the ledger does not send
   * its trace.
   */
  readonly choicePath: string | null;
  /** Time by the clock of the participant, if the error contains it. */
  readonly submittedAt: string | null;
}

export interface Completion {
  readonly kind: 'completion';
  readonly offset: number;
  readonly commandId: string | null;
  readonly submissionId: string | null;
  readonly userId: string | null;
  /** The acting parties that are visible to the reader. */
  readonly actAs: readonly string[];
  readonly updateId: string | null;
  readonly synchronizerId: string | null;
  readonly recordTime: string | null;
  /** Null if the command was accepted. */
  readonly rejection: Rejection | null;
  readonly deduplicationOffset: number | bigint | null;
  readonly deduplicationMicroseconds: Microseconds | null;
  readonly paidTrafficCost: number | bigint | null;
  readonly traceParent: string | null;
  readonly traceState: string | null;
  readonly transactionHash: string | null;
}

/** The promise that every completion up to `offset` has been delivered. */
export interface CompletionCheckpoint {
  readonly kind: 'offset_checkpoint';
  readonly offset: number;
}

export type CompletionFrame = Completion | CompletionCheckpoint;
