/**
 * Actions of clients on the ledger, in the form of a journal. The same actions at the same times result in the same
 * history.
 */
import type { Submission } from './commands.ts';

/** A contract that leaves a synchronizer, or arrives on one. */
export type Move =
  | { readonly kind: 'unassign'; readonly contractId: string; readonly source: string; readonly target: string }
  | { readonly kind: 'assign'; readonly reassignmentId: string; readonly source: string; readonly target: string };

/** Moves that are made in one update. All are of the same kind and between the same two synchronizers. */
export interface ReassignmentSubmission {
  readonly userId: string;
  readonly submitter: string;
  readonly commandId: string;
  readonly workflowId: string;
  readonly submissionId: string;
  readonly moves: readonly Move[];
}

/** An action of a client. Times are microseconds since 1970. */
export type ClientAction =
  | { readonly submission: Submission & { readonly at: number } }
  | { readonly reassignment: ReassignmentSubmission & { readonly at: number } };
