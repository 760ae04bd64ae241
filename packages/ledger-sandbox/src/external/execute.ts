/** Executes prepared transactions: checks the signatures, and submits the transaction with the signed hash. */
import { require } from '../identity/caller.ts';
import type { Call } from '../api/endpoint.ts';
import { parseDeduplication } from '../ledger/deduplication.ts';
import { failure, invalidArgument, missingField } from '../wire/failure.ts';
import { asList, asObject, asText } from '../wire/json.ts';
import type { Json } from '../wire/json.ts';
import type { Parties } from '../parties/parties.ts';
import { performJournaled } from '../ledger/perform.ts';
import { naming, parseSubmissionIds, parseWhat } from '../ledger/submission-request.ts';
import type { ClientSubmission } from '../ledger/submission-request.ts';
import { base64, isSigned, parseSignature } from './keys.ts';
import type { Signature } from './keys.ts';
import { decodePrepared, hashPrepared, lifetimeMicros, parseScheme } from './prepared.ts';
import type { Prepared } from './prepared.ts';

function refuseExecution(reason: string): never {
  const cause = `The participant failed to execute the transaction: ${reason}`;
  throw failure({ code: 'FAILED_TO_EXECUTE_TRANSACTION', category: 8, cause });
}

/** The signatures of a request by party. */
function signaturesIn(value: Json | undefined): ReadonlyMap<string, readonly Signature[]> {
  const entries = asList(asObject(value)?.['signatures']).map((one) => asObject(one) ?? {});
  if (entries.length === 0) throw missingField('party_signatures');
  return new Map(entries.map((one) => [asText(one['party']), asList(one['signatures']).map(parseSignature)]));
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
    const valid = partySignatures.filter((one) => isSigned(hash, Buffer.from(key, 'base64'), one));
    if (valid.length > 0 && valid.length === partySignatures.length) continue;
    const found = `Received ${valid.length > 0 ? 1 : 0} valid signatures from distinct keys (${partySignatures.length - valid.length} invalid)`;
    refuseExecution(
      `${found}, but expected at least 1 valid for ${party}. Transaction hash to be signed: ${hash.toString('hex')}.`,
    );
  }
  const nonActingParties = [...signatures.keys()].filter((party) => !actAs.includes(party));
  if (nonActingParties.length > 0)
    refuseExecution(`signatures were given for parties that do not act: ${nonActingParties.join()}`);
}

function requireYoung({ preparedAt }: Prepared, at: number): void {
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
  const prepared = decodePrepared(bytes);
  const { commands, actAs } = parseWhat(ledger, { ...prepared });
  if (asText(body['submissionId']) === '') throw missingField('submission_id');
  const submissionIds = parseSubmissionIds(ledger, { ...body, commandId: prepared.commandId }, caller);
  require(caller, actAs.map((executeAs) => ({ executeAs })));
  const hash = hashPrepared(bytes, scheme);
  requireSigned(parties, actAs, hash, signaturesIn(body['partySignatures']));
  const at = ledger.clock();
  requireYoung(prepared, at);
  const deduplication = parseDeduplication(body['deduplicationPeriod'], ledger.prunedTo());
  const { synchronizerId, maxRecordTime } = prepared;
  const limits = maxRecordTime === undefined ? {} : { maxRecordTime };
  const signed = { commands, actAs, readAs: [], synchronizerId, ...limits, externalHash: hash.toString('hex') };
  return { ...signed, ...submissionIds, deduplication, at };
}

/** Submits the transaction. Returns its offset. */
export function execute({ participant: { ledger } }: Call, submission: ClientSubmission): number {
  return naming(submission, () => performJournaled(ledger, { submission }));
}
