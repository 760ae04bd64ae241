/** Parties: known parties, new parties, and external parties, which have their own key. */
import { expect } from 'vitest';
import type { GeneratedTopology, GenerateTopologyRequest, PartiesPage } from '../../../src/ledger/api/parties.ts';
import {
  generateSigningKey,
  hashSignature,
  signingPublicKey,
  type SigningKey,
} from '../../../src/ledger/access/signing.ts';
import type { Case } from './row.ts';
import type { World } from '../world.ts';

const topologyRequest = (world: World, key: SigningKey): GenerateTopologyRequest => ({
  synchronizer: world.synchronizers[0],
  partyHint: world.unique('external'),
  publicKey: signingPublicKey(key),
});

export interface Topology extends GeneratedTopology {
  readonly key: SigningKey;
}

/** The topology transactions that a new external party must sign. */
export async function topologyOf(world: World): Promise<Topology> {
  const key = generateSigningKey();
  const { client } = world.session('admin');
  return { key, ...(await client.parties.generateExternalTopology(topologyRequest(world, key))) };
}

/** The request that allocates the party. @param signer key that signs */
export function allocation(
  { synchronizers }: World,
  { topologyTransactions, multiHash, key }: Topology,
  signer: SigningKey = key,
): Parameters<ReturnType<World['session']>['client']['parties']['allocateExternal']>[0] {
  return {
    synchronizer: synchronizers[0],
    onboardingTransactions: topologyTransactions.map((transaction) => ({ transaction })),
    multiHashSignatures: [hashSignature(signer, multiHash)],
  };
}

export const partyCases: readonly Case[] = [
  {
    operation: 'GET /v2/parties/participant-id',
    as: 'admin',
    readOnly: true,
    call: ({ client }) => client.parties.participantId(),
    check: (result) => expect(result).toContain('::'),
  },
  {
    operation: 'GET /v2/parties',
    as: 'admin',
    readOnly: true,
    call: ({ client }) => client.parties.list({ pageSize: 5 }),
    check: (result) => expect((result as PartiesPage).partyDetails.length).toBeGreaterThan(0),
    badQuery: ['pageSize'],
    refused: { INVALID_ARGUMENT: ({ client }) => client.parties.list({ pageSize: -1 }) },
  },
  {
    operation: 'POST /v2/parties',
    as: 'admin',
    call: ({ client }, { unique }) => client.parties.allocate({ partyIdHint: unique('party') }),
    check: (result) => expect(result).toMatchObject({ isLocal: true }),
    body: 'json',
    refused: {
      INVALID_ARGUMENT: ({ client }, { bank }) => client.parties.allocate({ partyIdHint: bank.split('::')[0] ?? '' }),
      USER_NOT_FOUND: ({ client }, { unique }) => client.parties.allocate({ partyIdHint: unique('p'), userId: 'none' }),
    },
  },
  {
    operation: 'GET /v2/parties/{party}',
    as: 'admin',
    call: ({ client }, { alice }) => client.parties.get(alice),
    check: (result, { alice }) => expect(result).toMatchObject({ party: alice }),
    also: {
      'an unknown party': async ({ client }) => expect(await client.parties.get('none::1220aa')).toBeUndefined(),
    },
  },
  {
    operation: 'POST /v2/parties/external/generate-topology',
    needs: 'token',
    call: ({ client }, world) => client.parties.generateExternalTopology(topologyRequest(world, generateSigningKey())),
    check: (result) => {
      const { partyId, publicKeyFingerprint } = result as GeneratedTopology;
      expect(partyId.endsWith(`::${publicKeyFingerprint}`)).toBe(true);
    },
    body: 'json',
    refused: {
      INVALID_ARGUMENT: ({ client }, world) => {
        const request = topologyRequest(world, generateSigningKey());
        const publicKey = { ...request.publicKey, keySpec: 'SIGNING_KEY_SPEC_EC_P256' };
        return client.parties.generateExternalTopology({ ...request, publicKey });
      },
      INVALID_PRESCRIBED_SYNCHRONIZER_ID: ({ client }, world) =>
        client.parties.generateExternalTopology({
          ...topologyRequest(world, generateSigningKey()),
          synchronizer: 'elsewhere::1220aa',
        }),
    },
  },
  {
    operation: 'POST /v2/parties/external/allocate',
    as: 'admin',
    call: async ({ client }, world) => client.parties.allocateExternal(allocation(world, await topologyOf(world))),
    check: (result) => expect(result).toContain('::1220'),
    body: 'json',
    refused: {
      TOPOLOGY_INVALID_SIGNATURE: async ({ client }, world) =>
        client.parties.allocateExternal(allocation(world, await topologyOf(world), generateSigningKey())),
      MISSING_FIELD: async ({ client }, world) =>
        client.parties.allocateExternal({ ...allocation(world, await topologyOf(world)), onboardingTransactions: [] }),
      INVALID_ARGUMENT: async ({ client }, world) => {
        const repeatedAllocation = allocation(world, await topologyOf(world));
        await world.session('admin').client.parties.allocateExternal(repeatedAllocation);
        return await client.parties.allocateExternal(repeatedAllocation);
      },
    },
  },
];
