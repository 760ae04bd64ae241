/**
 * Tests a party whose key is never on the participant. The client onboards the party, and prepares, signs and executes
 * its transaction. The transaction is then found in Postgres with the hash that was signed.
 */
import { Client } from 'pg';
import { beforeAll, expect, it } from 'vitest';
import { createLedgerClient, type LedgerClient } from '../../src/ledger/api/client.ts';
import {
  generateSigningKey,
  hashSignature,
  partySignature,
  signingPublicKey,
} from '../../src/ledger/access/signing.ts';
import type { SigningKey } from '../../src/ledger/access/signing.ts';
import { createTokenSource } from '../../src/ledger/access/token.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { createTestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { assertBuilt, startDaemon } from './runs/daemon.ts';

beforeAll(assertBuilt);

interface StoredRow {
  readonly external_transaction_hash: string | null;
  readonly signatories: string[];
}

async function onboard(client: LedgerClient, key: SigningKey): Promise<string> {
  const [first] = await client.state.connectedSynchronizers();
  const synchronizer = first?.synchronizerId ?? '';
  const topology = await client.parties.generateExternalTopology({
    synchronizer,
    partyHint: 'wallet',
    publicKey: signingPublicKey(key),
  });
  expect(topology.publicKeyFingerprint).toBe(key.fingerprint);
  return await client.parties.allocateExternal({
    synchronizer,
    onboardingTransactions: topology.topologyTransactions.map((transaction) => ({ transaction })),
    multiHashSignatures: [hashSignature(key, topology.multiHash)],
  });
}

async function createSigned(client: LedgerClient, key: SigningKey, party: string) {
  const synchronizerId = (await client.state.connectedSynchronizers())[0]?.synchronizerId ?? '';
  const createArguments = { issuer: party, owner: party, currency: 'USD', amount: '7.0', observers: [] };
  const preparation = await client.interactive.prepare({
    commandId: 'signed-outside',
    commands: [{ CreateCommand: { templateId: '#model-tests:Iou:Iou', createArguments } }],
    actAs: [party],
    synchronizerId,
  });
  const submitResult = await client.interactive.executeAndWait({
    preparedTransaction: preparation.preparedTransaction,
    partySignatures: { signatures: [partySignature(key, party, preparation.preparedTransactionHash)] },
    submissionId: 'one',
    hashingSchemeVersion: preparation.hashingSchemeVersion,
  });
  return { offset: submitResult.completionOffset, hash: Buffer.from(preparation.preparedTransactionHash, 'base64') };
}

async function storedRow(url: string, offset: number): Promise<StoredRow | undefined> {
  const database = new Client({ connectionString: url });
  await database.connect();
  try {
    const { rows } = await database.query<StoredRow>(
      `select u.external_transaction_hash, c.signatories
         from external.decoded_updates u join external.decoded_contracts c using ("offset") where u."offset" = $1`,
      [offset],
    );
    return rows[0];
  } catch (error) {
    // The table does not exist before the migration.
    if ((error as { code?: string }).code === '42P01') return undefined;
    throw error;
  } finally {
    await database.end();
  }
}

it('indexer stores an externally signed transaction with the signed hash', async () => {
  await using database = await createTestDatabase();
  await using sandbox = await startSandbox();
  // The indexer starts at genesis, because a seed would store the contracts of earlier updates without their updates.
  const env = { INDEXER_START: 'genesis' };
  await using daemon = startDaemon({ ledgerUrl: sandbox.url, databaseUrl: database.url, schema: 'external', env });
  const tokenSource = createTokenSource({});
  const client = createLedgerClient({ url: sandbox.url, tokenSource, insecure: false, requestTimeoutMs: 5_000 });
  const key = generateSigningKey();
  const party = await onboard(client, key);
  expect(party).toBe(`wallet::${key.fingerprint}`);
  const { offset, hash } = await createSigned(client, key, party);
  const row = await waitFor('the transaction is indexed', async () => await storedRow(database.url, offset));
  expect(row).toEqual({ external_transaction_hash: hash.toString('hex'), signatories: [party] });
  daemon.signal('SIGTERM');
  expect(await daemon.exited).toEqual({ code: 0, signal: null });
});
