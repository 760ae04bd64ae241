/**
 * Prepares submissions for external parties. Interprets them without changing the ledger, and returns the hash to sign.
 */
import { require } from '../identity/caller.ts';
import type { Call } from '../api/endpoint.ts';
import { failure, invalidArgument } from '../wire/failure.ts';
import { asList, asObject, type Json, type JsonObject } from '../wire/json.ts';
import { Random, fingerprint } from '../wire/random.ts';
import { parseSubmissionIds, parseTime, parseContent } from '../ledger/submission-request.ts';
import { interpret } from '../ledger/submission-run.ts';
import type { Submission } from '../ledger/commands.ts';
import type { TransactionBuilder } from '../contracts/transaction.ts';
import { formatTimestamp } from '../wire/values.ts';
import { defaultScheme, encodePrepared, hashPrepared, parseScheme, type PreparedSubmission } from './prepared.ts';

function rejectMultipleCommands(commands: readonly unknown[]): void {
  if (commands.length === 1) return;
  const cause =
    'The participant failed to prepare the transaction: Preparing multiple commands is currently not supported';
  throw failure({ code: 'FAILED_TO_PREPARE_TRANSACTION', category: 8, cause });
}

/** The cost is the number of bytes. The real traffic model is not used. */
function costEstimation(bytes: Buffer, at: number): JsonObject {
  const [request, response] = [1_000 + 4 * bytes.length, 900];
  return {
    estimationTimestamp: formatTimestamp(at),
    confirmationRequestTrafficCostEstimation: request,
    confirmationResponseTrafficCostEstimation: response,
    totalTrafficCostEstimation: request + response,
  };
}

/** The interpreted transaction, and the parts of its execution that are known before it. */
interface Preparation {
  readonly what: Pick<Submission, 'commands' | 'actAs' | 'readAs'>;
  readonly prepared: Omit<PreparedSubmission, 'commands'>;
}

/**
 * Parses a JsPrepareSubmissionRequest. Rights to read as the acting parties are enough, because nothing is executed.
 */
function preparationOf({ participant: { ledger }, caller, body }: Call): Preparation {
  const content = parseContent(ledger, body);
  const { commandId, userId } = parseSubmissionIds(ledger, body, caller);
  require(caller, [...content.actAs, ...(content.readAs ?? [])].map((readAs) => ({ readAs })));
  rejectMultipleCommands(content.commands);
  const preparedAt = ledger.clock();
  const maxRecordTime = parseTime(body['maxRecordTime'], 'max_record_time');
  if (maxRecordTime !== undefined && maxRecordTime < preparedAt) {
    throw invalidArgument('max_record_time is in the past');
  }
  const transactionUuid = randomSeed([userId, commandId, String(ledger.ledgerEnd()), String(preparedAt)]).uuid;
  const limits = maxRecordTime === undefined ? {} : { maxRecordTime };
  const synchronizerId = content.synchronizerId ?? ledger.synchronizers[0].id;
  const { actAs } = content;
  return { what: content, prepared: { actAs, ...limits, commandId, synchronizerId, preparedAt, transactionUuid } };
}

/**
 * The command of a request in the form in which it is executed: a key is replaced by the contract that it was resolved
 * to.
 */
function settledResult(command: Json | undefined, { events: [root] }: TransactionBuilder): Json {
  const exerciseByKey = asObject(asObject(command)?.['ExerciseByKeyCommand']);
  if (exerciseByKey === undefined || root === undefined || !('ExercisedEvent' in root)) return command ?? null;
  const { contractId } = root.ExercisedEvent;
  const { templateId = null, choice = null, choiceArgument = null } = exerciseByKey;
  return { ExerciseCommand: { templateId, contractId, choice, choiceArgument } };
}

/** Serves POST /v2/interactive-submission/prepare. Throws the participant's refusal. */
export function prepare(call: Call): string {
  const { participant, body } = call;
  const { ledger, release } = participant;
  const scheme = parseScheme(body['hashingSchemeVersion'], release) ?? defaultScheme;
  const { what: content, prepared: preparedSubmission } = preparationOf(call);
  const { preparedAt, transactionUuid } = preparedSubmission;
  const builder = ledger.transaction(formatTimestamp(preparedAt), new Random(randomSeed([transactionUuid]).seed));
  interpret(builder, ledger.model, content);
  const commands = [settledResult(asList(body['commands'])[0], builder)];
  const synchronizerId = builder.synchronizerId ?? preparedSubmission.synchronizerId;
  const bytes = encodePrepared({ ...preparedSubmission, commands, synchronizerId });
  const hash = hashPrepared(bytes, scheme);
  const details = `scheme ${scheme.slice(-2)}, ${bytes.length} bytes, hash ${hash.toString('hex')}`;
  const estimate = asObject(body['estimateTrafficCost'])?.['disabled'] !== true;
  return JSON.stringify({
    preparedTransaction: bytes.toString('base64'),
    preparedTransactionHash: hash.toString('base64'),
    hashingSchemeVersion: scheme,
    hashingDetails: body['verboseHashing'] === true ? details : null,
    costEstimation: estimate ? costEstimation(bytes, preparedAt) : null,
  });
}

// Random numbers that depend only on the request, so that a preparation does not change the ledger's next draw.

/** A seed for `Random` and a UUID, which are the same for the same texts. */
function randomSeed(texts: readonly string[]): { readonly seed: number; readonly uuid: string } {
  const hex = fingerprint(JSON.stringify(texts));
  const uuid = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
  return { seed: Number.parseInt(hex.slice(32, 44), 16), uuid };
}
