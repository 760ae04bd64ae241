/**
 * Completions of the demo's commands. Every submission of this participant has a completion, and some are rejected.
 * The choice is a function of the number of submissions, so it uses no random numbers and does not change the history.
 * Earlier submissions are not stored for deduplication, because command ids are never repeated, and a demo that runs
 * for weeks would store millions.
 */
import type { Command } from '../../ledger/commands.ts';
import { longestPeriod } from '../../ledger/deduplication.ts';
import type { Change, Completion } from '../../ledger/completions.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { failure } from '../../wire/failure.ts';
import type { LedgerFailure } from '../../wire/failure.ts';
import type { Transaction } from '../../wire/wire.ts';

/** One submission in this many is followed by a rejected one. */
const rejectedEvery = 23;

/** A submission and its transaction. */
export interface Accepted {
  readonly actAs: readonly string[];
  readonly commands: readonly Command[];
  readonly transaction: Transaction;
  /** Sequence number among the submissions of this participant. */
  readonly number: number;
}

/** Adds the completion of an accepted submission, sometimes followed by the completion of a rejected submission. */
export function leaveCompletions(ledger: Ledger, submission: Accepted): void {
  const { transaction, number } = submission;
  const change = changeOf(submission);
  const { updateId, offset, paidTrafficCost } = transaction;
  recordCompletion(ledger, submission, {
    ...change,
    offset,
    updateId,
    refusal: undefined,
    paidTrafficCost: paidTrafficCost ?? 0,
  });
  const reason = reasons[Math.floor(number / rejectedEvery) % reasons.length];
  if (number % rejectedEvery !== 0 || reason === undefined) return;
  const rejection = reason(submission, change);
  if (rejection === undefined) return;
  ledger.skipOffsets(1);
  const duplicateChange = { ...change, ...rejection.change, submissionId: `${change.submissionId}-again` };
  const refusal = { ...rejection.failure.body, correlationId: duplicateChange.submissionId };
  // The submission was interpreted and ordered before it was refused, so the traffic to reach all participants is paid
  // nevertheless.
  const cost = rejection.ordered ? Math.round((paidTrafficCost ?? 0) * 0.8) : 0;
  recordCompletion(ledger, submission, {
    ...duplicateChange,
    offset: ledger.ledgerEnd(),
    updateId: '',
    refusal,
    paidTrafficCost: cost,
  });
}

function recordCompletion(
  ledger: Ledger,
  { transaction }: Accepted,
  outcome: Omit<Completion, 'at' | 'synchronizerId' | 'recordTime' | 'traceContext' | 'deduplicatedAfter'>,
): void {
  const { synchronizerId, recordTime, traceContext } = transaction;
  ledger.completions.note({ ...outcome, at: 1000 * Date.parse(recordTime), synchronizerId, recordTime, traceContext });
}

/** The change of a submission. Each party has one application that submits for it. */
function changeOf({ actAs, transaction: { commandId } }: Accepted): Change {
  const hint = (actAs[0] ?? '').split('::')[0] ?? '';
  return {
    userId: `${hint.toLowerCase()}-app`,
    actAs,
    commandId,
    submissionId: `${commandId}-1`,
    deduplication: longestPeriod,
    externalHash: null,
  };
}

interface RejectedChange {
  readonly failure: LedgerFailure;
  readonly ordered: boolean;
  readonly change: Partial<Change>;
}

type Reason = (submission: Accepted, change: Change) => RejectedChange | undefined;

function exerciseOf({ commands }: Accepted) {
  return commands.find((command) => command.kind === 'exercise');
}

/** Two applications of a party exercise a choice on the same contract, and the second one is too late. */
function inactiveContract(submission: Accepted, { commandId }: Change): RejectedChange | undefined {
  const exercisedEvent = submission.transaction.events.find(
    (event) => 'ExercisedEvent' in event && event.ExercisedEvent.consuming,
  );
  if (exercisedEvent === undefined || !('ExercisedEvent' in exercisedEvent)) return undefined;
  const { contractId } = exercisedEvent.ExercisedEvent;
  const cause = `Rejected transaction is referring to inactive contracts Set(${contractId})`;
  const resources = [['CONTRACT_ID', contractId]] as const;
  const rejection = failure({ code: 'LOCAL_VERDICT_INACTIVE_CONTRACTS', category: 11, cause, resources });
  return { failure: rejection, ordered: true, change: { commandId: `${commandId}-late` } };
}

/** Two exercises on the same contract are in progress at the same time. */
function lockedContract(submission: Accepted, { commandId }: Change): RejectedChange | undefined {
  const exercise = exerciseOf(submission);
  if (exercise === undefined) return undefined;
  const { contractId } = exercise;
  const cause = `Rejected transaction is referring to locked contracts ${contractId}`;
  const resources = [['CONTRACT_ID', contractId]] as const;
  const rejection = failure({ code: 'LOCAL_VERDICT_LOCKED_CONTRACTS', category: 2, cause, resources });
  return { failure: rejection, ordered: true, change: { commandId: `${commandId}-beside` } };
}

/** An application that did not receive the first response submits again. */
function duplicate({ transaction: { offset } }: Accepted, { submissionId }: Change): RejectedChange {
  const cause = 'A command with the given command id has already been successfully processed';
  const context = { existing_submission_id: submissionId, completion_offset: String(offset), accepted: 'true' };
  return { failure: failure({ code: 'DUPLICATE_COMMAND', category: 10, cause, context }), ordered: false, change: {} };
}

/** A payment that exceeds the balance. */
function insufficientFunds(submission: Accepted, { commandId }: Change): RejectedChange | undefined {
  const exercisedEvent = submission.transaction.events.find((event) => 'ExercisedEvent' in event);
  if (exercisedEvent === undefined || !('ExercisedEvent' in exercisedEvent)) return undefined;
  const { templateId, choice, contractId } = exercisedEvent.ExercisedEvent;
  const path = `${templateId.slice(0, 8)}${templateId.slice(templateId.indexOf(':'))}:${choice}`;
  const error = 'UNHANDLED_EXCEPTION/DA.Exception.AssertionFailed:AssertionFailed';
  const cause = `Interpretation error: Error: User failure: ${error} (error category 9): Insufficient funds`;
  const contractText = `on contract ${contractId.slice(0, 10)}`;
  const trace = `    in choice ${path} ${contractText} (#0)\n    in exercise command ${path} ${contractText}.\n`;
  const rejection = failure({
    code: 'DAML_FAILURE',
    category: 9,
    cause,
    context: { error_id: error, exercise_trace: trace },
  });
  return { failure: rejection, ordered: false, change: { commandId: `${commandId}-more` } };
}

const reasons: readonly Reason[] = [inactiveContract, insufficientFunds, lockedContract, duplicate];
