/** Executes prepared transactions: checks the signatures, and submits the transaction with the signed hash. */
import { require } from '../identity/caller.ts';
import type { Call } from '../api/endpoint.ts';
import { parseDeduplication } from '../ledger/deduplication.ts';
import { failure, invalidArgument, missingField } from '../wire/failure.ts';
import { asList, asObject, asText } from '../wire/json.ts';
import type { Json } from '../wire/json.ts';
import type { Parties } from '../parties/parties.ts';
import { performJournaled } from '../ledger/perform.ts';
import { withTraceNames, parseSubmissionIds, parseContent } from '../ledger/submission-request.ts';
import type { ClientSubmission } from '../ledger/submission-request.ts';
import { base64, isSigned, parseSignature } from './keys.ts';
import type { Signature } from './keys.ts';
import { decodePrepared, hashPrepared, lifetimeMicros, parseScheme } from './prepared.ts';
import type { PreparedSubmission } from './prepared.ts';

function refuseExecution(reason: string): never {
  const cause = `The participant failed to execute the transaction: ${reason}`;
  throw failure({ code: 'FAILED_TO_EXECUTE_TRANSACTION', category: 8, cause });
}

/** The signatures of a request by party. */
function signaturesIn(value: Json | undefined): ReadonlyMap<string, readonly Signature[]> {
  const entries = asList(asObject(value)?.['signatures']).map((entry) => asObject(entry) ?? {});
  if (entries.length === 0) throw missingField('party_signatures');
  return new Map(entries.map((entry) => [asText(entry['party']), asList(entry['signatures']).map(parseSignature)]));
}

/** Refuses unless every acting party has signed the hash with its own key, and no other party has signed it. */
function requireSigned(
  parties: Parties,
  actAs: readonly string[],
  hash: Buffer,
  signatures: ReadonlyMap<string, readonly Signature[]>,
): void {
  for (const party of actAs) {
    const key = parties.signingKey(party);
    if (key === undefined) refuseExecution(`the party ${party} has no signing keys on this participant`);
    const partySignatures = signatures.get(party) ?? [];
    const valid = partySignatures.filter((signature) => isSigned(hash, Buffer.from(key, 'base64'), signature));
    if (valid.length > 0 && valid.length === partySignatures.length) continue;
    const cause = `Received ${valid.length > 0 ? 1 : 0} valid signatures from distinct keys (${partySignatures.length - valid.length} invalid)`;
    refuseExecution(
      `${cause}, but expected at least 1 valid for ${party}. Transaction hash to be signed: ${hash.toString('hex')}.`,
    );
  }
  const nonActingParties = [...signatures.keys()].filter((party) => !actAs.includes(party));
  if (nonActingParties.length > 0)
    refuseExecution(`signatures were given for parties that do not act: ${nonActingParties.join()}`);
}

function requireNotExpired({ preparedAt }: PreparedSubmission, at: number): void {
  if (at - preparedAt > lifetimeMicros) refuseExecution('it was prepared more than 24 hours ago');
  if (preparedAt - at > lifetimeMicros) refuseExecution('it was prepared in the future');
}

/**
 * Parses a JsExecuteSubmissionRequest (or one of its waiting variants) and checks rights, form and signatures. Returns
 * a submission to be executed. Throws the participant's refusal.
 */
export function executionOf({ participant, caller, body }: Call): ClientSubmission {
  const { ledger, parties, release } = participant;
  const scheme = parseScheme(body['hashingSchemeVersion'], release);
  if (scheme === undefined) throw invalidArgument('the hashing scheme version is not specified');
  const bytes = base64(body['preparedTransaction']);
  if (bytes.length === 0) throw missingField('prepared_transaction');
  const preparedSubmission = decodePrepared(bytes);
  const { commands, actAs } = parseContent(ledger, { ...preparedSubmission });
  if (asText(body['submissionId']) === '') throw missingField('submission_id');
  const submissionIds = parseSubmissionIds(ledger, { ...body, commandId: preparedSubmission.commandId }, caller);
  require(caller, actAs.map((executeAs) => ({ executeAs })));
  const hash = hashPrepared(bytes, scheme);
  requireSigned(parties, actAs, hash, signaturesIn(body['partySignatures']));
  const at = ledger.clock();
  requireNotExpired(preparedSubmission, at);
  const deduplication = parseDeduplication(body['deduplicationPeriod'], ledger.prunedTo());
  const { synchronizerId, maxRecordTime } = preparedSubmission;
  const limits = maxRecordTime === undefined ? {} : { maxRecordTime };
  const signedSubmission = {
    commands,
    actAs,
    readAs: [],
    synchronizerId,
    ...limits,
    externalHash: hash.toString('hex'),
  };
  return { ...signedSubmission, ...submissionIds, deduplication, at };
}

/** Submits the transaction. Returns its offset. */
export function execute({ participant: { ledger } }: Call, submission: ClientSubmission): number {
  return withTraceNames(submission, () => performJournaled(ledger, { submission }));
}
