/** Prepares submissions for external parties: interprets them without leaving a trace, and says what to sign. */
import { randomSeed } from './seed.ts';
import { require } from '../caller.ts';
import type { Call } from '../endpoint.ts';
import { failure, invalidArgument } from '../failure.ts';
import { asObject } from '../json.ts';
import type { JsonObject } from '../json.ts';
import { Random } from '../random.ts';
import { parseAsked, parseTime, parseWhat } from '../submission-request.ts';
import { interpret } from '../submission-run.ts';
import { formatTimestamp } from '../values.ts';
import { defaultScheme, encodePrepared, hashPrepared, parseScheme } from './prepared.ts';
import type { Prepared } from './prepared.ts';

function refuseMany(commands: readonly unknown[]): void {
  if (commands.length === 1) return;
  const cause =
    'The participant failed to prepare the transaction: Preparing multiple commands is currently not supported';
  throw failure({ code: 'FAILED_TO_PREPARE_TRANSACTION', category: 8, cause });
}

/** Bytes stand in for what the real traffic model counts. */
function costEstimation(bytes: Buffer, at: number): JsonObject {
  const [request, response] = [1_000 + 4 * bytes.length, 900];
  return {
    estimationTimestamp: formatTimestamp(at),
    confirmationRequestTrafficCostEstimation: request,
    confirmationResponseTrafficCostEstimation: response,
    totalTrafficCostEstimation: request + response,
  };
}

/** Reads a JsPrepareSubmissionRequest; reading as the acting parties is enough, as nothing is executed. */
function preparationOf({ participant: { ledger }, caller, body }: Call): Prepared {
  const what = parseWhat(ledger, body);
  const { commandId, userId } = parseAsked(ledger, body, caller);
  require(caller, [...what.actAs, ...(what.readAs ?? [])].map((readAs) => ({ readAs })));
  refuseMany(what.commands);
  const preparedAt = ledger.clock();
  const maxRecordTime = parseTime(body['maxRecordTime'], 'max_record_time');
  if (maxRecordTime !== undefined && maxRecordTime < preparedAt) {
    throw invalidArgument('max_record_time is in the past');
  }
  const transactionUuid = randomSeed([userId, commandId, String(ledger.ledgerEnd()), String(preparedAt)]).uuid;
  const limits = maxRecordTime === undefined ? {} : { maxRecordTime };
  const synchronizerId = what.synchronizerId ?? ledger.synchronizers[0].id;
  return { ...what, ...limits, commandId, synchronizerId, preparedAt, transactionUuid };
}

/** Answers POST /v2/interactive-submission/prepare. Throws the participant's refusal. */
export function prepare(call: Call): string {
  const { participant, body } = call;
  const { ledger, release } = participant;
  const scheme = parseScheme(body['hashingSchemeVersion'], release) ?? defaultScheme;
  const asked = preparationOf(call);
  const chance = new Random(randomSeed([asked.transactionUuid]).seed);
  const builder = ledger.transaction(formatTimestamp(asked.preparedAt), chance);
  interpret(builder, ledger.model, asked);
  const prepared = { ...asked, synchronizerId: builder.synchronizerId ?? asked.synchronizerId };
  const bytes = encodePrepared(prepared);
  const hash = hashPrepared(bytes, scheme);
  const details = `scheme ${scheme.slice(-2)}, ${bytes.length} bytes, hash ${hash.toString('hex')}`;
  const estimate = asObject(body['estimateTrafficCost'])?.['disabled'] !== true;
  return JSON.stringify({
    preparedTransaction: bytes.toString('base64'),
    preparedTransactionHash: hash.toString('base64'),
    hashingSchemeVersion: scheme,
    hashingDetails: body['verboseHashing'] === true ? details : null,
    costEstimation: estimate ? costEstimation(bytes, asked.preparedAt) : null,
  });
}
