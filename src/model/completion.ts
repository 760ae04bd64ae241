/** What became of submitted commands, as the ledger tells it and as it is stored. Pure. */
import type { Microseconds } from './binary-timestamp.ts';

/** Why a command was rejected. */
export interface Rejection {
  /** gRPC code, never 0. */
  readonly statusCode: number;
  readonly message: string | null;
  /** Such as CONTRACT_NOT_FOUND; null where the ledger does not tell. */
  readonly code: string | null;
  readonly category: number | null;
  /** The first contract that the error names. */
  readonly contractId: string | null;
  /** `package:Module:Template:Choice` of the command, the package id shortened, where its trace was told. */
  readonly choicePath: string | null;
  /** By the clock of the participant, where the error tells it. */
  readonly submittedAt: string | null;
}

export interface Completion {
  readonly kind: 'completion';
  readonly offset: number;
  readonly commandId: string | null;
  readonly submissionId: string | null;
  readonly userId: string | null;
  /** As far as they were shown. */
  readonly actAs: readonly string[];
  readonly updateId: string | null;
  readonly synchronizerId: string | null;
  readonly recordTime: string | null;
  /** Null: accepted. */
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

/** Where completions are read from, and whose. */
export interface CompletionStart {
  /** Exclusive: where the stream's own history begins, if nothing was read yet. */
  readonly begin: number;
  /** Empty: of all parties. */
  readonly parties: readonly string[];
}

/** Completions that nobody shows any more. */
export interface CompletionGap {
  /** The checkpoint so far. */
  readonly from: number;
  /** Completions are shown from here on (exclusive). */
  readonly to: number;
  readonly reason: string;
}
