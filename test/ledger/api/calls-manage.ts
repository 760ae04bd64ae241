/** Test cases for administrative calls: node, packages, users, and parties of the participant. */
import { generateSigningKey, hashSignature, signingPublicKey } from '../../../src/ledger/access/signing.ts';
import { party, escapedParty, type CallCase } from './call-case.ts';

const key = generateSigningKey();
const dar = Buffer.from('PK');

export const node: readonly CallCase[] = [
  {
    operation: 'GET /v2/version',
    url: '/v2/version',
    call: ({ node }) => node.version(),
    answer: { version: '3.5.10', features: { partyManagement: { maxPartiesPageSize: 1 } } },
    result: { version: '3.5.10', features: { partyManagement: { maxPartiesPageSize: 1 } } },
  },
  { operation: 'GET /livez', url: '/livez', call: ({ node }) => node.livez(), answer: '', result: undefined },
  { operation: 'GET /readyz', url: '/readyz', call: ({ node }) => node.readyz(), answer: 'ok', result: 'ok' },
  {
    operation: 'GET /docs/openapi',
    url: '/docs/openapi',
    call: ({ node }) => node.openapi(),
    answer: 'openapi: 3.0.3',
    result: 'openapi: 3.0.3',
    later: true,
  },
  {
    operation: 'GET /docs/asyncapi',
    url: '/docs/asyncapi',
    call: ({ node }) => node.asyncapi(),
    answer: 'asyncapi: 2.6.0',
    result: 'asyncapi: 2.6.0',
    later: true,
  },
];

export const packages: readonly CallCase[] = [
  {
    operation: 'POST /v2/dars',
    url: '/v2/dars?vetAllPackages=false&synchronizerId=s%3A%3A1',
    body: 'PK',
    call: ({ packages }) => packages.uploadDar(dar, { vetAllPackages: false, synchronizerId: 's::1' }),
    answer: {},
    result: undefined,
  },
  {
    operation: 'POST /v2/dars/validate',
    url: '/v2/dars/validate',
    body: 'PK',
    call: ({ packages }) => packages.validateDar(dar),
    answer: '',
    result: undefined,
  },
  {
    operation: 'POST /v2/packages',
    url: '/v2/packages',
    body: 'PK',
    call: ({ packages }) => packages.upload(dar),
    answer: {},
    result: undefined,
  },
  {
    operation: 'GET /v2/packages',
    url: '/v2/packages',
    call: ({ packages }) => packages.list(),
    answer: { packageIds: ['a', 'b'] },
    result: ['a', 'b'],
  },
  {
    operation: 'GET /v2/packages/{package-id}',
    url: '/v2/packages/a%2Fb',
    call: ({ packages }) => packages.content('a/b'),
    answer: 'dalf',
    result: { bytes: Buffer.from('dalf'), hash: 'f00' },
  },
  {
    operation: 'GET /v2/packages/{package-id}/status',
    url: '/v2/packages/a/status',
    call: ({ packages }) => packages.status('a'),
    answer: { packageStatus: 'PACKAGE_STATUS_REGISTERED' },
    result: 'PACKAGE_STATUS_REGISTERED',
  },
  {
    operation: 'POST /v2/package-vetting/list',
    url: '/v2/package-vetting/list',
    schema: 'ListVettedPackagesRequest',
    body: { packageMetadataFilter: { packageNamePrefixes: ['p'] }, pageSize: 5 },
    call: ({ packages }) => packages.vetted({ packageMetadataFilter: { packageNamePrefixes: ['p'] }, pageSize: 5 }),
    answer: { vettedPackages: [{ participantId: 'x' }], nextPageToken: '' },
    result: { vettedPackages: [{ participantId: 'x' }], nextPageToken: undefined },
  },
  {
    operation: 'POST /v2/package-vetting/update',
    url: '/v2/package-vetting/update',
    schema: 'UpdateVettedPackagesRequest',
    body: { changes: [{ operation: { Unvet: { value: { packages: [{ packageId: 'a' }] } } } }], dryRun: true },
    call: ({ packages }) =>
      packages.updateVetted({
        changes: [{ operation: { Unvet: { value: { packages: [{ packageId: 'a' }] } } } }],
        dryRun: true,
      }),
    answer: { newVettedPackages: { topologySerial: 2 } },
    result: { topologySerial: 2 },
  },
];

const rights = [{ kind: { CanReadAs: { value: { party } } } }, { kind: { CanReadAsAnyParty: { value: {} } } }];

export const users: readonly CallCase[] = [
  {
    operation: 'GET /v2/users',
    url: '/v2/users?pageSize=2',
    call: ({ users }) => users.list({ pageSize: 2 }),
    answer: { users: [{ id: 'u' }] },
    result: { users: [{ id: 'u' }], nextPageToken: undefined },
  },
  {
    operation: 'POST /v2/users',
    url: '/v2/users',
    schema: 'CreateUserRequest',
    body: { user: { id: 'u', primaryParty: party }, rights },
    call: ({ users }) => users.create({ id: 'u', primaryParty: party }, rights),
    answer: { user: { id: 'u' } },
    result: { id: 'u' },
  },
  {
    operation: 'GET /v2/users/{user-id}',
    url: '/v2/users/u%40x?identity-provider-id=i',
    call: ({ users }) => users.get('u@x', 'i'),
    answer: { user: { id: 'u@x', metadata: null } },
    result: { id: 'u@x', metadata: null },
  },
  {
    operation: 'DELETE /v2/users/{user-id}',
    url: '/v2/users/u',
    call: ({ users }) => users.delete('u'),
    answer: {},
    result: undefined,
  },
  {
    operation: 'GET /v2/users/{user-id}/rights',
    url: '/v2/users/u/rights',
    call: ({ users }) => users.rights('u'),
    answer: { rights: [...rights, { kind: { LaterRight: {} } }] },
    result: [...rights, { kind: { LaterRight: {} } }],
  },
  {
    operation: 'POST /v2/users/{user-id}/rights',
    url: '/v2/users/u/rights',
    schema: 'GrantUserRightsRequest',
    body: { userId: 'u', identityProviderId: '', rights },
    call: ({ users }) => users.grant('u', rights),
    answer: { newlyGrantedRights: rights },
    result: rights,
  },
  {
    operation: 'PATCH /v2/users/{user-id}/rights',
    url: '/v2/users/u/rights',
    schema: 'RevokeUserRightsRequest',
    body: { userId: 'u', identityProviderId: '', rights },
    call: ({ users }) => users.revoke('u', rights),
    answer: {},
    result: [],
  },
  {
    operation: 'GET /v2/authenticated-user',
    url: '/v2/authenticated-user',
    call: ({ users }) => users.authenticated(),
    answer: { user: { id: 'u' } },
    result: { id: 'u' },
  },
];

const publicKey = signingPublicKey(key);
const multiHashSignatures = [hashSignature(key, 'EiA=')];

export const parties: readonly CallCase[] = [
  {
    operation: 'GET /v2/parties',
    url: '/v2/parties?filter-party=Ali&pageSize=10&pageToken=x',
    call: ({ parties }) => parties.list({ filterParty: 'Ali', pageSize: 10, pageToken: 'x' }),
    answer: { partyDetails: [{ party, isLocal: true, later: 1 }], nextPageToken: 'y' },
    result: { partyDetails: [{ party, isLocal: true, later: 1 }], nextPageToken: 'y' },
  },
  {
    operation: 'POST /v2/parties',
    url: '/v2/parties',
    schema: 'AllocatePartyRequest',
    body: { partyIdHint: 'Alice', userId: 'u', localMetadata: { annotations: { a: 'b' } } },
    call: ({ parties }) =>
      parties.allocate({ partyIdHint: 'Alice', userId: 'u', localMetadata: { annotations: { a: 'b' } } }),
    answer: { partyDetails: { party } },
    result: { party },
  },
  {
    operation: 'GET /v2/parties/{party}',
    url: `/v2/parties/${escapedParty}?identity-provider-id=i`,
    call: ({ parties }) => parties.get(party, 'i'),
    answer: { partyDetails: [{ party }] },
    result: { party },
  },
  {
    operation: 'GET /v2/parties/participant-id',
    url: '/v2/parties/participant-id',
    call: ({ parties }) => parties.participantId(),
    answer: { participantId: 'p::1' },
    result: 'p::1',
  },
  {
    operation: 'POST /v2/parties/external/generate-topology',
    url: '/v2/parties/external/generate-topology',
    schema: 'GenerateExternalPartyTopologyRequest',
    body: { synchronizer: 's::1', partyHint: 'Alice', publicKey },
    call: ({ parties }) => parties.generateExternalTopology({ synchronizer: 's::1', partyHint: 'Alice', publicKey }),
    answer: {
      partyId: party,
      publicKeyFingerprint: key.fingerprint,
      topologyTransactions: ['dA=='],
      multiHash: 'EiA=',
    },
    result: {
      partyId: party,
      publicKeyFingerprint: key.fingerprint,
      topologyTransactions: ['dA=='],
      multiHash: 'EiA=',
    },
  },
  {
    operation: 'POST /v2/parties/external/allocate',
    url: '/v2/parties/external/allocate',
    schema: 'AllocateExternalPartyRequest',
    body: { synchronizer: 's::1', onboardingTransactions: [{ transaction: 'dA==' }], multiHashSignatures },
    call: ({ parties }) =>
      parties.allocateExternal({
        synchronizer: 's::1',
        onboardingTransactions: [{ transaction: 'dA==' }],
        multiHashSignatures,
      }),
    answer: { partyId: party },
    result: party,
  },
];
