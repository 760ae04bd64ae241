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
export function leaveCompletions(ledger: Ledger, accepted: Accepted): void {
  const { transaction, number } = accepted;
  const change = changeOf(accepted);
  const { updateId, offset, paidTrafficCost } = transaction;
  note(ledger, accepted, { ...change, offset, updateId, refusal: undefined, paidTrafficCost: paidTrafficCost ?? 0 });
  const reason = reasons[Math.floor(number / rejectedEvery) % reasons.length];
  if (number % rejectedEvery !== 0 || reason === undefined) return;
  const refused = reason(accepted, change);
  if (refused === undefined) return;
  ledger.skipOffsets(1);
  const again = { ...change, ...refused.change, submissionId: `${change.submissionId}-again` };
  const refusal = { ...refused.failure.body, correlationId: again.submissionId };
  // The submission was interpreted and ordered before it was refused, so the traffic to reach all participants is paid
  // nevertheless.
  const cost = refused.ordered ? Math.round((paidTrafficCost ?? 0) * 0.8) : 0;
  note(ledger, accepted, { ...again, offset: ledger.ledgerEnd(), updateId: '', refusal, paidTrafficCost: cost });
}

function note(
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

interface Refused {
  readonly failure: LedgerFailure;
  readonly ordered: boolean;
  readonly change: Partial<Change>;
}

type Reason = (accepted: Accepted, change: Change) => Refused | undefined;

function exerciseOf({ commands }: Accepted) {
  return commands.find((command) => command.kind === 'exercise');
}

/** Two applications of a party exercise a choice on the same contract, and the second one is too late. */
function inactive(accepted: Accepted, { commandId }: Change): Refused | undefined {
  const exercised = accepted.transaction.events.find(
    (event) => 'ExercisedEvent' in event && event.ExercisedEvent.consuming,
  );
  if (exercised === undefined || !('ExercisedEvent' in exercised)) return undefined;
  const { contractId } = exercised.ExercisedEvent;
  const cause = `Rejected transaction is referring to inactive contracts Set(${contractId})`;
  const resources = [['CONTRACT_ID', contractId]] as const;
  const refused = failure({ code: 'LOCAL_VERDICT_INACTIVE_CONTRACTS', category: 11, cause, resources });
  return { failure: refused, ordered: true, change: { commandId: `${commandId}-late` } };
}

/** Two exercises on the same contract are in progress at the same time. */
function locked(accepted: Accepted, { commandId }: Change): Refused | undefined {
  const exercise = exerciseOf(accepted);
  if (exercise === undefined) return undefined;
  const { contractId } = exercise;
  const cause = `Rejected transaction is referring to locked contracts ${contractId}`;
  const resources = [['CONTRACT_ID', contractId]] as const;
  const refused = failure({ code: 'LOCAL_VERDICT_LOCKED_CONTRACTS', category: 2, cause, resources });
  return { failure: refused, ordered: true, change: { commandId: `${commandId}-beside` } };
}

/** An application that did not receive the first response submits again. */
function duplicate({ transaction: { offset } }: Accepted, { submissionId }: Change): Refused {
  const cause = 'A command with the given command id has already been successfully processed';
  const context = { existing_submission_id: submissionId, completion_offset: String(offset), accepted: 'true' };
  return { failure: failure({ code: 'DUPLICATE_COMMAND', category: 10, cause, context }), ordered: false, change: {} };
}

/** A payment that exceeds the balance. */
function insufficient(accepted: Accepted, { commandId }: Change): Refused | undefined {
  const exercised = accepted.transaction.events.find((event) => 'ExercisedEvent' in event);
  if (exercised === undefined || !('ExercisedEvent' in exercised)) return undefined;
  const { templateId, choice, contractId } = exercised.ExercisedEvent;
  const path = `${templateId.slice(0, 8)}${templateId.slice(templateId.indexOf(':'))}:${choice}`;
  const error = 'UNHANDLED_EXCEPTION/DA.Exception.AssertionFailed:AssertionFailed';
  const cause = `Interpretation error: Error: User failure: ${error} (error category 9): Insufficient funds`;
  const on = `on contract ${contractId.slice(0, 10)}`;
  const trace = `    in choice ${path} ${on} (#0)\n    in exercise command ${path} ${on}.\n`;
  const refused = failure({
    code: 'DAML_FAILURE',
    category: 9,
    cause,
    context: { error_id: error, exercise_trace: trace },
  });
  return { failure: refused, ordered: false, change: { commandId: `${commandId}-more` } };
}

const reasons: readonly Reason[] = [inactive, insufficient, locked, duplicate];
