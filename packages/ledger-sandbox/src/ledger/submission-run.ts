/**
 * Executes a submission: runs its commands, searches for an earlier submission of the same change, and appends the
 * transaction and its completion. A refusal before the submission was ordered leaves no trace. One after that takes an
 * offset of its own, leaves a completion, and is thrown as `Rejection`.
 */
import { runCommand } from './commands.ts';
import type { Submission } from './commands.ts';
import { changeId } from './completions.ts';
import type { Change, Completion, Completions } from './completions.ts';
import { longestPeriod } from './deduplication.ts';
import { LedgerFailure, failure } from '../wire/failure.ts';
import type { Model } from '../contracts/model.ts';
import type { Random } from '../wire/random.ts';
import type { TransactionBuilder } from '../contracts/transaction.ts';
import { formatTimestamp } from '../wire/values.ts';
import type { TraceContext, Transaction, Update } from '../wire/wire.ts';

/** The part of the ledger that submissions need. */
export interface SubmissionLedger {
  readonly model: Model;
  readonly random: Random;
  readonly completions: Completions;
  readonly synchronizers: readonly { readonly id: string }[];
  clock(at?: number): number;
  ledgerEnd(): number;
  transaction(createdAt: string): TransactionBuilder;
  commit(update: Update): number;
  skipOffsets(count: number): void;
  recordTime(synchronizerId: string, at: number): string;
  traceContext(): TraceContext;
}

/** A refusal after the submission was ordered. The completion has the same error. */
export class Rejection extends LedgerFailure {}

/** The part of a submission that its completion repeats. */
function changeOf(submission: Submission & { readonly userId: string }): Change {
  const { userId, actAs, commandId = '', submissionId = '', deduplication = longestPeriod, externalHash } = submission;
  return { userId, actAs, commandId, submissionId, deduplication, externalHash: externalHash ?? null };
}

/** Leaves the completion of a refused submission at an offset of its own. Returns the error to throw. */
function reject(
  ledger: SubmissionLedger,
  change: Change,
  refusal: LedgerFailure,
  location: { readonly synchronizerId: string; readonly at: number },
): Rejection {
  const { synchronizerId, at } = location;
  const facts = { recordTime: ledger.recordTime(synchronizerId, at), traceContext: ledger.traceContext() };
  ledger.skipOffsets(1);
  const offset = ledger.ledgerEnd();
  const outcome = { offset, at, synchronizerId, refusal: refusal.body, updateId: '', paidTrafficCost: 0 };
  ledger.completions.add({ ...change, ...facts, ...outcome });
  return new Rejection(refusal.body, refusal.status);
}

function duplicate(change: Change, { submissionId, offset }: Completion): LedgerFailure {
  const cause = 'A command with the given command id has already been successfully processed';
  const context = {
    existing_submission_id: submissionId,
    completion_offset: String(offset),
    changeId: changeId(change),
    accepted: 'true',
  };
  return failure({ code: 'DUPLICATE_COMMAND', category: 10, cause, context });
}

function expiredSubmission(): LedgerFailure {
  const cause = 'The transaction was not sequenced before its maximum record time and has therefore timed out.';
  return failure({ code: 'NOT_SEQUENCED_TIMEOUT', category: 2, cause });
}

/**
 * Throws a Rejection for a repeated change, and for one that is too late. Changes without a user are never looked up.
 * `at`: microseconds since 1970.
 */
export function admit(
  ledger: SubmissionLedger,
  submission: Submission,
  location: { readonly synchronizerId: string; readonly at: number },
): Change | undefined {
  const { userId, maxRecordTime } = submission;
  if (userId === undefined) return undefined;
  const change = changeOf({ ...submission, userId });
  const earlierCompletion = ledger.completions.duplicateOf(change, location.at);
  if (earlierCompletion !== undefined) throw reject(ledger, change, duplicate(change, earlierCompletion), location);
  if (maxRecordTime !== undefined && location.at > maxRecordTime)
    throw reject(ledger, change, expiredSubmission(), location);
  return change;
}

/** Traffic cost of a submission; null if the participant does not measure it. */
function trafficCost(random: Random): number | null {
  return random.chance(0.2) ? null : random.between(2_000, 40_000);
}

/** Appends a filled transaction. `at`: its effective time, microseconds since 1970. */
function seal(
  ledger: SubmissionLedger,
  builder: TransactionBuilder,
  facts: Submission & { readonly at: number; readonly synchronizerId: string },
): Transaction {
  const value: Transaction = {
    updateId: ledger.random.updateId(),
    commandId: facts.commandId ?? '',
    workflowId: facts.workflowId ?? '',
    effectiveAt: builder.createdAt,
    events: builder.events,
    offset: 0,
    synchronizerId: facts.synchronizerId,
    traceContext: facts.traced === false ? null : ledger.traceContext(),
    recordTime: ledger.recordTime(facts.synchronizerId, facts.at),
    externalTransactionHash: facts.externalHash ?? null,
    paidTrafficCost: facts.paidTrafficCost === undefined ? trafficCost(ledger.random) : facts.paidTrafficCost,
  };
  ledger.commit({ Transaction: { value } });
  return value;
}

/** Runs the commands of a submission in a transaction that is not visible yet. Throws a LedgerFailure. */
export function interpret(builder: TransactionBuilder, model: Model, submission: Submission): void {
  for (const command of submission.commands) runCommand(builder, model, command, submission);
}

/**
 * Runs a submission as one transaction and appends it. A transaction signed by external parties is looked up before it
 * runs, because its commands were interpreted when it was prepared. Other submissions are interpreted first.
 */
export function runSubmission(ledger: SubmissionLedger, submission: Submission): Transaction {
  const at = submission.at === undefined ? ledger.clock() : ledger.clock(submission.at);
  const builder = ledger.transaction(formatTimestamp(at));
  const preferredSynchronizer = submission.synchronizerId ?? ledger.synchronizers[0]?.id ?? '';
  const isPrepared = submission.externalHash !== undefined;
  const change = isPrepared ? admit(ledger, submission, { synchronizerId: preferredSynchronizer, at }) : undefined;
  interpret(builder, ledger.model, submission);
  const synchronizerId = builder.synchronizerId ?? preferredSynchronizer;
  const admittedChange = isPrepared ? change : admit(ledger, submission, { synchronizerId, at });
  const sealedTransaction = seal(ledger, builder, { ...submission, synchronizerId, at });
  if (admittedChange !== undefined) complete(ledger, admittedChange, sealedTransaction, at);
  return sealedTransaction;
}

/** Leaves the completion of an accepted submission. */
export function complete(
  ledger: SubmissionLedger,
  change: Change,
  update: Pick<
    Transaction,
    'updateId' | 'offset' | 'synchronizerId' | 'recordTime' | 'traceContext' | 'paidTrafficCost'
  >,
  at: number,
): void {
  const { updateId, offset, synchronizerId, recordTime, traceContext, paidTrafficCost } = update;
  const facts = { updateId, offset, synchronizerId, recordTime, traceContext, at };
  ledger.completions.add({ ...change, ...facts, refusal: undefined, paidTrafficCost: paidTrafficCost ?? 0 });
}
