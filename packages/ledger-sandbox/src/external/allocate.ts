/** Allocates external parties: checks that the party's key has authorized its onboarding, and hosts the party. */
import { require } from '../identity/caller.ts';
import type { Call } from '../api/endpoint.ts';
import { failure, invalidArgument, missingField } from '../wire/failure.ts';
import { asList, asObject, asText } from '../wire/json.ts';
import type { Json } from '../wire/json.ts';
import { requireSynchronizer } from '../ledger/submission-request.ts';
import { base64, isSigned, multiHash, parseSignature, purpose } from './keys.ts';
import { combinedHash, readTopology } from './topology.ts';
import type { Onboarding } from './topology.ts';

interface SignedTransaction {
  readonly bytes: Buffer;
  readonly signatures: readonly Json[];
}

function onboardingIn(value: Json | undefined): readonly SignedTransaction[] {
  const transactions = asList(value).map((transaction) => asObject(transaction) ?? {});
  if (transactions.length === 0) throw missingField('onboarding_transactions');
  return transactions.map((transaction) => ({
    bytes: base64(transaction['transaction']),
    signatures: asList(transaction['signatures']),
  }));
}

/** Refuses unless the party's key has signed the hash of all transactions, or each transaction. */
function requireAuthorized(
  transactions: readonly SignedTransaction[],
  { key, party }: Onboarding,
  combinedSignatures: readonly Json[],
): void {
  const isCombinedSigned = combinedHash(transactions.map(({ bytes }) => bytes));
  if (
    combinedSignatures.length > 0 &&
    combinedSignatures.every((signature) => isSigned(isCombinedSigned, key, parseSignature(signature)))
  )
    return;
  const isEachSigned = transactions.every(({ bytes, signatures }) => {
    const hash = multiHash(purpose.topologyTransaction, bytes);
    return signatures.some((signature) => isSigned(hash, key, parseSignature(signature)));
  });
  if (isEachSigned && combinedSignatures.length === 0) return;
  const cause = `The onboarding of ${party} is not signed by the key of its namespace`;
  throw failure({ code: 'TOPOLOGY_INVALID_SIGNATURE', category: 8, cause });
}

/**
 * Serves POST /v2/parties/external/allocate. It is allowed to administrators of the identity provider, and to users for
 * themselves. Throws the participant's refusal.
 */
export function allocateExternalParty({ participant, caller, body }: Call): string {
  const { ledger, parties, users } = participant;
  const [userId, identityProviderId] = [asText(body['userId']), asText(body['identityProviderId'])];
  if (userId === '' || userId !== caller.userId) require(caller, [{ administer: identityProviderId }]);
  const synchronizerId = asText(body['synchronizer']);
  if (synchronizerId === '') throw missingField('synchronizer');
  requireSynchronizer(ledger, synchronizerId);
  const transactions = onboardingIn(body['onboardingTransactions']);
  const onboarding = readTopology(transactions.map(({ bytes }) => bytes));
  if (onboarding.synchronizerId !== synchronizerId) {
    throw invalidArgument('the onboarding transactions are for another synchronizer');
  }
  requireAuthorized(transactions, onboarding, asList(body['multiHashSignatures']));
  const { party, key, observing: isObserving } = onboarding;
  const permission = isObserving ? 'PARTICIPANT_PERMISSION_OBSERVATION' : 'PARTICIPANT_PERMISSION_CONFIRMATION';
  const signingKey = key.toString('base64');
  parties.requireFree(party, identityProviderId, caller.may({ administer: identityProviderId }));
  if (userId !== '') users.get(userId, 'allocating an external party');
  parties.host({ party, synchronizerId, permission, annotations: {}, identityProviderId, signingKey });
  if (userId !== '') users.grant(userId, [{ kind: 'CanActAs', party }]);
  return JSON.stringify({ partyId: party });
}
