/**
 * The topology transactions that onboard an external party. One gives the party's namespace to its key, and one hosts
 * the party here. Their contents are specific to the sandbox. Signers depend only on how they are hashed.
 */
import { invalidArgument, invalidField, missingField } from '../wire/failure.ts';
import { asObject, asText, parseRequest, textAt } from '../wire/json.ts';
import type { JsonObject } from '../wire/json.ts';
import { requireSynchronizer } from '../ledger/submission-request.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { base64, keyFingerprint, multiHash, parsePublicKey, purpose } from './keys.ts';

/** Contents of the two transactions. */
export interface Onboarding {
  readonly party: string;
  readonly synchronizerId: string;
  /** The raw Ed25519 key. */
  readonly key: Buffer;
  readonly observing: boolean;
}

function withLengthPrefix(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** The hash to sign instead of every transaction, 34 bytes: the hash over the sorted hashes of all transactions. */
export function combinedHash(transactions: readonly Buffer[]): Buffer {
  const hashes = transactions
    .map((transaction) => multiHash(purpose.topologyTransaction, transaction))
    .sort((a, b) => Buffer.compare(a, b));
  const count = Buffer.alloc(4);
  count.writeUInt32BE(hashes.length);
  return multiHash(purpose.topologyTransactions, Buffer.concat([count, ...hashes.map(withLengthPrefix)]));
}

function transactionsOf({ party, synchronizerId, key, observing: isObserving }: Onboarding): readonly Buffer[] {
  const [namespace, keyData] = [keyFingerprint(key), key.toString('base64')];
  const permission = isObserving ? 'PARTICIPANT_PERMISSION_OBSERVATION' : 'PARTICIPANT_PERMISSION_CONFIRMATION';
  const mappings: readonly JsonObject[] = [
    { NamespaceDelegation: { namespace, key: keyData } },
    { PartyToParticipant: { party, synchronizerId, permission, key: keyData } },
  ];
  return mappings.map((mapping) => Buffer.from(JSON.stringify(mapping)));
}

/** Serves a GenerateExternalPartyTopologyRequest. Throws INVALID_ARGUMENT, INVALID_FIELD or MISSING_FIELD. */
export function generateTopology(ledger: Ledger, body: JsonObject): string {
  const synchronizerId = asText(body['synchronizer']);
  if (synchronizerId === '') throw missingField('synchronizer');
  requireSynchronizer(ledger, synchronizerId);
  const hint = asText(body['partyHint']);
  if (hint === '') throw missingField('party_hint');
  if (!/^[A-Za-z0-9:\-_ ]{1,185}$/.test(hint) || hint.includes('::')) {
    throw invalidField('party_hint', 'it is not the beginning of a party id');
  }
  const key = parsePublicKey(body['publicKey']);
  const threshold = body['confirmationThreshold'];
  if (typeof threshold === 'number' && threshold > 1) {
    throw invalidArgument('the confirmation threshold is higher than the number of confirming participants');
  }
  const party = `${hint}::${keyFingerprint(key)}`;
  const isObserving = body['localParticipantObservationOnly'] === true;
  const transactions = transactionsOf({ party, synchronizerId, key, observing: isObserving });
  return JSON.stringify({
    partyId: party,
    publicKeyFingerprint: keyFingerprint(key),
    topologyTransactions: transactions.map((transaction) => transaction.toString('base64')),
    multiHash: combinedHash(transactions).toString('base64'),
  });
}

function mappingOf(transaction: Buffer): JsonObject {
  const mapping = asObject(parseRequest(transaction.toString()));
  if (mapping !== undefined) return mapping;
  throw invalidArgument('a topology transaction cannot be parsed');
}

/**
 * Reads the contents of onboarding transactions. Throws INVALID_ARGUMENT if they do not onboard a party with its own
 * key.
 */
export function readTopology(transactions: readonly Buffer[]): Onboarding {
  const mappings = transactions.map(mappingOf);
  const hostings = mappings
    .map((mapping) => asObject(mapping['PartyToParticipant']))
    .filter((mapping) => mapping !== undefined);
  const [hosting, extraHosting] = hostings;
  if (hosting === undefined || extraHosting !== undefined) {
    throw invalidArgument('onboarding transactions need one PartyToParticipant mapping');
  }
  const party = asText(hosting['party']);
  const key = base64(hosting['key']);
  if (party.split('::')[1] !== keyFingerprint(key)) {
    throw invalidArgument(`the namespace of the party ${party} is not the fingerprint of its key`);
  }
  const delegated = mappings
    .map((mapping) => textAt(mapping, 'NamespaceDelegation', 'namespace'))
    .filter((mapping) => mapping !== '');
  if (delegated.some((namespace) => namespace !== keyFingerprint(key))) {
    throw invalidArgument('a namespace delegation is for another namespace than the party has');
  }
  const isObserving = asText(hosting['permission']) === 'PARTICIPANT_PERMISSION_OBSERVATION';
  return { party, synchronizerId: asText(hosting['synchronizerId']), key, observing: isObserving };
}
