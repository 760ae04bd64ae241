/**
 * Interactive submission: the participant prepares a transaction, the party signs it, and the participant executes it.
 */
import { expect } from 'vitest';
import type { ExecuteRequest, PrepareResponse, PrepareRequest } from '../../../src/ledger/api/interactive.ts';
import { generateSigningKey, partySignature, type SigningKey } from '../../../src/ledger/access/signing.ts';
import type { Call, Case, Session } from './row.ts';
import { allocation, topologyOf } from './rows-parties.ts';
import type { World } from '../world.ts';

interface External {
  readonly party: string;
  readonly key: SigningKey;
}

/** Creates an external party. */
async function external(world: World): Promise<External> {
  const topology = await topologyOf(world);
  const party = await world.session('admin').client.parties.allocateExternal(allocation(world, topology));
  return { party, key: topology.key };
}

function preparation(world: World, party: string): PrepareRequest {
  const createArguments = { issuer: party, owner: party, currency: 'USD', amount: '1', observers: [] };
  const commands = [{ CreateCommand: { templateId: '#model-tests:Iou:Iou', createArguments } }];
  const [synchronizerId] = world.synchronizers;
  return { commands, commandId: world.unique('prepared'), actAs: [party], synchronizerId, verboseHashing: true };
}

/** A signed transaction that can be executed. @param signer key that signs; by default the key of the party */
async function signPreparation(world: World, signer?: SigningKey): Promise<ExecuteRequest> {
  const { party, key } = await external(world);
  const preparedResponse = await world.session('admin').client.interactive.prepare(preparation(world, party));
  const { preparedTransaction, preparedTransactionHash, hashingSchemeVersion } = preparedResponse;
  const signatures = [partySignature(signer ?? key, party, preparedTransactionHash)];
  const submissionId = world.unique('submission');
  return { preparedTransaction, hashingSchemeVersion, partySignatures: { signatures }, submissionId };
}

/** Executes a transaction and returns its hash in Base64, as lookups expect it. */
export async function hashOfExecuted(world: World): Promise<string> {
  const { client } = world.session('admin');
  const transaction = await client.interactive.executeAndWaitForTransaction(await signPreparation(world));
  return Buffer.from(transaction.transactionHash ?? '', 'hex').toString('base64');
}

type Execute = (session: Session, request: ExecuteRequest) => Promise<unknown>;

const execution =
  (executeVia: Execute, change: Partial<ExecuteRequest> = {}): Call =>
  async (session, world) =>
    executeVia(session, { ...(await signPreparation(world)), ...change });

function refusals(executeVia: Execute): NonNullable<Case['refused']> {
  return {
    FAILED_TO_EXECUTE_TRANSACTION: async (session, world) =>
      executeVia(session, await signPreparation(world, generateSigningKey())),
    MISSING_FIELD: execution(executeVia, { submissionId: '' }),
    INVALID_ARGUMENT: execution(executeVia, { preparedTransaction: Buffer.from('nothing').toString('base64') }),
  };
}

const repeatedCall =
  (executeVia: Execute): Call =>
  async (session, world) => {
    const request = await signPreparation(world);
    await world.session('admin').client.interactive.executeAndWait(request);
    return await executeVia(session, { ...request, submissionId: world.unique('submission') });
  };

const executeAsync: Execute = ({ client }, request) => client.interactive.execute(request);
const executeAndWait: Execute = ({ client }, request) => client.interactive.executeAndWait(request);
const executeForTransaction: Execute = ({ client }, request) =>
  client.interactive.executeAndWaitForTransaction(request);

/** Prepares a transaction of a new party. `change` replaces request fields. */
const prepareWith =
  (change: (world: World, party: string) => Partial<PrepareRequest>): Call =>
  async ({ client }, world) => {
    const { party } = await external(world);
    return await client.interactive.prepare({ ...preparation(world, party), ...change(world, party) });
  };

/** Requests the newest package with this name that the bank's participant has vetted. */
function preferredFor(packageName: string): Call {
  return ({ client }, { bank }) =>
    client.interactive.preferredPackages({ packageVettingRequirements: [{ parties: [bank], packageName }] });
}

export const interactiveCases: readonly Case[] = [
  {
    operation: 'POST /v2/interactive-submission/preferred-packages',
    needs: 'token',
    call: preferredFor('sandbox-test'),
    check: (result) => expect(JSON.stringify(result)).toContain('"packageName":"sandbox-test"'),
    body: 'json',
    refused: {
      NO_PREFERRED_PACKAGES_FOUND: preferredFor('was-not-uploaded'),
      MISSING_FIELD: ({ client }) => client.interactive.preferredPackages({ packageVettingRequirements: [] }),
    },
  },
  {
    operation: 'POST /v2/interactive-submission/prepare',
    as: 'admin',
    call: prepareWith(() => ({})),
    check: (result) => {
      const { preparedTransactionHash, hashingDetails } = result as PrepareResponse;
      expect(Buffer.from(preparedTransactionHash, 'base64')).toHaveLength(32);
      expect(hashingDetails).toBeTypeOf('string');
    },
    body: 'json',
    refused: {
      FAILED_TO_PREPARE_TRANSACTION: prepareWith((world, party) => {
        const { commands } = preparation(world, party);
        return { commands: [...commands, ...commands] };
      }),
      MISSING_FIELD: prepareWith(() => ({ commandId: '' })),
      INVALID_ARGUMENT: prepareWith(() => ({ maxRecordTime: '2001-01-01T00:00:00Z' })),
      '400 text/plain': prepareWith(() => ({ hashingSchemeVersion: 'HASHING_SCHEME_VERSION_V99' })),
    },
  },
  {
    operation: 'POST /v2/interactive-submission/execute',
    as: 'admin',
    call: execution(executeAsync),
    also: { 'a change made before, reported by its completion': repeatedCall(executeAsync) },
    body: 'json',
    refused: refusals(executeAsync),
  },
  {
    operation: 'POST /v2/interactive-submission/executeAndWait',
    as: 'admin',
    call: execution(executeAndWait),
    check: (result) => expect(result).toMatchObject({ updateId: expect.stringMatching(/^1220/u) }),
    body: 'json',
    refused: { ...refusals(executeAndWait), DUPLICATE_COMMAND: repeatedCall(executeAndWait) },
  },
  {
    operation: 'POST /v2/interactive-submission/executeAndWaitForTransaction',
    as: 'admin',
    call: execution(executeForTransaction),
    check: (result) => expect(result).toMatchObject({ externalTransactionHash: expect.stringMatching(/^[0-9a-f]+$/u) }),
    body: 'json',
    refused: { ...refusals(executeForTransaction), DUPLICATE_COMMAND: repeatedCall(executeForTransaction) },
  },
];
