/**
 * Attempts to bypass missing rights. Each attempt is refused, or returns only data that the caller may see.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { serveJwks, keyPair, token } from '../../../../test/support/tokens.ts';
import type { JwksServer, Signer } from '../../../../test/support/tokens.ts';
import { call, refusedBody, sharedSigner, startSecured } from './callers.ts';
import type { ApiResponse } from './callers.ts';
import { valueAt, stream } from '../server/sockets.ts';

const iou = '#model-tests:Iou:Iou';
const factory = '#splice-amulet:Splice.ExternalPartyAmuletRules:ExternalPartyAmuletRules';
const amulet = '#splice-amulet:Splice.Amulet:Amulet';
const audienceOwner = 'idp-owner';

let sandbox: Sandbox;
let jwks: JwksServer;
let signer: Signer;
let admin: (endpoint: string, body?: unknown) => Promise<ApiResponse>;
/** Sends requests of a user that may act as the party `eve` and has no other right. */
let eve: typeof admin;
/** Sends requests of a user that administers only the identity provider `theirs`. */
let otherAdminCall: typeof admin;
let eveToken: string;

const eveParty = 'eve::1220';
const alice = 'alice::1220';

beforeAll(async () => {
  const parties = [
    { kind: 'CanActAs' as const, party: eveParty },
    { kind: 'CanReadAs' as const, party: eveParty },
  ];
  const users = [
    { id: 'eve', rights: parties },
    { id: 'relay', rights: [] },
    { id: audienceOwner, rights: [{ kind: 'IdentityProviderAdmin' as const }], identityProviderId: 'theirs' },
  ];
  sandbox = await startSecured({ users });
  signer = await keyPair('ES256');
  jwks = await serveJwks(signer);
  const callAs = async (
    sub: string,
    tokenSigner: Signer = sharedSigner,
    claims: object = {},
  ): Promise<typeof admin> => {
    const bearer = await token(tokenSigner, { sub, ...claims });
    return async (endpoint, body) => await call(sandbox.url, bearer, endpoint, body);
  };
  admin = await callAs('participant_admin');
  eve = await callAs('eve');
  eveToken = await token(sharedSigner, { sub: 'eve' });
  const config = { identityProviderId: 'theirs', issuer: 'their-issuer', jwksUrl: jwks.url };
  expect((await admin('POST /v2/idps', { identityProviderConfig: config })).status).toBe(200);
  otherAdminCall = await callAs(audienceOwner, signer, { iss: 'their-issuer' });
  sandbox.ledger.create(iou, argumentOf(alice), [alice]);
});

afterAll(async () => {
  await sandbox.close();
  await jwks[Symbol.asyncDispose]();
});

const argumentOf = (party: string): Record<string, string | string[]> => ({
  issuer: party,
  owner: party,
  currency: 'EUR',
  amount: '1.0',
  observers: [],
});
const deniedResponse = { status: 403, body: refusedBody };

describe('reading as a party without the right', () => {
  const eventFormat = { filtersByParty: { [alice]: {} } };
  const transactions = { eventFormat, transactionShape: 'TRANSACTION_SHAPE_LEDGER_EFFECTS' };
  const updateFormat = { includeTransactions: transactions };
  const reassignments = { includeReassignments: eventFormat };
  const topology = (parties: readonly string[]): object => ({
    includeTopologyEvents: { includeParticipantAuthorizationEvents: { parties } },
  });
  const ownFormat = { filtersByParty: { [eveParty]: {} } };
  const readRequests: readonly (readonly [string, unknown])[] = [
    ['POST /v2/updates', { beginExclusive: 0, updateFormat }],
    ['POST /v2/updates', { beginExclusive: 0, updateFormat: reassignments }],
    ['POST /v2/updates', { beginExclusive: 0, updateFormat: topology([alice]) }],
    ['POST /v2/updates', { beginExclusive: 0, updateFormat: topology([]) }],
    ['POST /v2/updates', { beginExclusive: 0, updateFormat: topology([eveParty, alice]) }],
    ['POST /v2/updates', { beginExclusive: 0, filter: eventFormat }],
    ['POST /v2/updates/flats', { beginExclusive: 0, filter: eventFormat }],
    ['POST /v2/updates/trees', { beginExclusive: 0, filter: { ...ownFormat, filtersForAnyParty: {} } }],
    ['POST /v2/state/active-contracts', { activeAtOffset: 1, filter: eventFormat }],
    ['POST /v2/state/active-contracts', { activeAtOffset: 1, eventFormat: { ...ownFormat, filtersForAnyParty: {} } }],
    ['POST /v2/state/active-contracts-page', { eventFormat }],
    ['POST /v2/updates/get-updates-page', { updateFormat }],
    ['POST /v2/updates/update-by-offset', { offset: 1, updateFormat }],
    ['POST /v2/updates/update-by-id', { updateId: 'x', updateFormat: reassignments }],
    ['POST /v2/updates/transaction-by-offset', { offset: 1, requestingParties: [alice] }],
    ['POST /v2/updates/transaction-by-offset', { offset: 1, transactionFormat: transactions }],
    ['POST /v2/updates/transaction-by-id', { updateId: 'x', requestingParties: [eveParty, alice] }],
    [`GET /v2/updates/transaction-tree-by-offset/1?parties=${alice}`, undefined],
    [`GET /v2/updates/transaction-tree-by-id/x?parties=${eveParty}&parties=${alice}`, undefined],
    ['POST /v2/events/events-by-contract-id', { contractId: '00', eventFormat }],
    ['POST /v2/contracts/contract-by-id', { contractId: '00', queryingParties: [alice] }],
    ['POST /v2/contracts/contract-by-id', { contractId: '00', queryingParties: [] }],
    ['POST /v2/contracts/contract-by-id', { contractId: '00', queryingParties: [7] }],
    ['POST /v2/commands/completions', { parties: [alice], beginExclusive: 0 }],
    ['POST /v2/commands/completions', { userId: 'participant_admin', parties: [eveParty], beginExclusive: 0 }],
    ['POST /v2/commands/command-completions', { parties: [eveParty, alice], beginExclusive: 0 }],
    ['POST /v2/commands/command-completions', { beginExclusive: 0 }],
    [`GET /v2/state/connected-synchronizers?party=${alice}`, undefined],
    ['GET /v2/parties', undefined],
    [`GET /v2/parties/${alice}`, undefined],
    ['GET /v2/users', undefined],
    ['GET /v2/users/relay', undefined],
    ['GET /v2/users/relay/rights', undefined],
    ['GET /v2/idps', undefined],
    [
      'POST /v2/interactive-submission/prepare',
      {
        commands: [{ CreateCommand: { templateId: iou, createArguments: {} } }],
        commandId: 'c',
        actAs: [alice],
        synchronizerId: '',
        packageIdSelectionPreference: [],
      },
    ],
    [
      'POST /v2/commands/submit-and-wait-for-transaction',
      {
        commands: {
          commands: [{ CreateCommand: { templateId: iou, createArguments: argumentOf(eveParty) } }],
          commandId: 'read',
          actAs: [eveParty],
          readAs: [alice],
        },
      },
    ],
    [
      'POST /v2/commands/submit-and-wait-for-transaction',
      {
        commands: {
          commands: [{ CreateCommand: { templateId: iou, createArguments: argumentOf(eveParty) } }],
          commandId: 'format',
          actAs: [eveParty],
        },
        transactionFormat: transactions,
      },
    ],
  ];

  it.each(readRequests.map(([endpoint, body]) => ({ what: endpoint, body })))(
    'is refused by $what',
    async ({ what: endpoint, body }) => {
      expect(await eve(endpoint, body)).toMatchObject(deniedResponse);
    },
  );

  it.each([
    ['/v2/updates', { beginExclusive: 0, updateFormat }],
    ['/v2/updates/trees', { beginExclusive: 0, filter: eventFormat }],
    ['/v2/state/active-contracts', { activeAtOffset: 1, eventFormat }],
    ['/v2/commands/completions', { parties: [alice] }],
    ['/v2/commands/command-completions', {}],
  ])('is refused by the stream %s', async (path, request) => {
    const headers = { authorization: `Bearer ${eveToken}` };
    const { frames, code } = await stream(sandbox.url, path, request, undefined, { headers });
    expect([code, frames.map((frame) => JSON.parse(frame) as unknown)]).toEqual([
      1000,
      [expect.objectContaining(refusedBody)],
    ]);
  });

  it('is refused with a page token of a user with more rights', async () => {
    const reader = await token(sharedSigner, { sub: 'reader' });
    const rights = [{ kind: { CanReadAsAnyParty: { value: {} } } }];
    expect((await admin('POST /v2/users', { user: { id: 'reader' }, rights })).status).toBe(200);
    for (const amount of ['2.0', '3.0']) sandbox.ledger.create(iou, { ...argumentOf(alice), amount }, [alice]);
    const request = {
      activeAtOffset: sandbox.ledger.ledgerEnd(),
      eventFormat: { filtersForAnyParty: {} },
      maxPageSize: 1,
    };
    const page = await call(sandbox.url, reader, 'POST /v2/state/active-contracts-page', request);
    const pageToken = valueAt(page.body, 'nextPageToken');
    expect(pageToken).toEqual(expect.stringMatching(/./));
    expect(await eve('POST /v2/state/active-contracts-page', { ...request, pageToken })).toMatchObject(deniedResponse);
    const narrowRequest = { ...request, eventFormat: ownFormat, pageToken };
    expect(await eve('POST /v2/state/active-contracts-page', narrowRequest)).toMatchObject({
      status: 400,
      body: { code: 'INVALID_ACS_PAGE_TOKEN' },
    });
  });
});

describe('acting as a party without the right', () => {
  it('is refused if a user hosts a party of another user on another synchronizer', async () => {
    const [global, otherSynchronizer] = sandbox.ledger.synchronizers;
    const allocation = { partyIdHint: 'victim', synchronizerId: global.id };
    const { body } = await admin('POST /v2/parties', allocation);
    const victim = valueAt(body, 'partyDetails', 'party');
    const takenHint = await eve('POST /v2/parties', {
      ...allocation,
      synchronizerId: otherSynchronizer.id,
      userId: 'eve',
    });
    expect(takenHint.status).toBe(400);
    expect((await eve('GET /v2/users/eve/rights')).text).not.toContain(String(victim));
    expect((await admin('POST /v2/parties', { ...allocation, synchronizerId: otherSynchronizer.id })).status).toBe(200);
  });

  it('is refused to an administrator of another identity provider', async () => {
    const [global, otherSynchronizer] = sandbox.ledger.synchronizers;
    const allocation = { partyIdHint: 'ours', synchronizerId: global.id };
    const party = String(valueAt((await admin('POST /v2/parties', allocation)).body, 'partyDetails', 'party'));
    const identityProviderId = 'theirs';
    const otherAllocation = { ...allocation, synchronizerId: otherSynchronizer.id, identityProviderId };
    expect(await otherAdminCall('POST /v2/parties', otherAllocation)).toMatchObject(deniedResponse);
    const partyDetails = { party, identityProviderId, localMetadata: { annotations: { mine: 'yes' } } };
    const change = { partyDetails, updateMask: { paths: ['local_metadata'] } };
    expect(await otherAdminCall(`PATCH /v2/parties/${party}`, change)).toMatchObject(deniedResponse);
    const rights = [{ kind: { CanActAs: { value: { party } } } }];
    const user = { id: 'puppet', identityProviderId };
    expect((await otherAdminCall('POST /v2/users', { user, rights })).status).toBe(400);
    expect((await otherAdminCall('POST /v2/users', { user })).status).toBe(200);
    const grant = { userId: 'puppet', identityProviderId, rights };
    expect((await otherAdminCall('POST /v2/users/puppet/rights', grant)).status).toBe(400);
    expect((await otherAdminCall('GET /v2/users/puppet/rights')).body).toEqual({ rights: [] });
    const allocatedParty = await otherAdminCall('POST /v2/parties', { partyIdHint: 'their-own', identityProviderId });
    const otherParty = String(valueAt(allocatedParty.body, 'partyDetails', 'party'));
    const validRights = [{ kind: { CanActAs: { value: { party: otherParty } } } }];
    expect((await otherAdminCall('POST /v2/users/puppet/rights', { ...grant, rights: validRights })).status).toBe(200);
    expect((await admin('POST /v2/users/puppet/rights', grant)).status).toBe(200);
  });

  it('is refused if a transfer of the user archives the holdings of others', async () => {
    const { ledger } = sandbox;
    const rules = ledger.create(factory, { dso: 'dso' }, ['dso']);
    const holding = { dso: 'dso', owner: alice, amount: { initialAmount: '5.0' } };
    const { contractId } = ledger.create(amulet, holding, ['dso', alice]);
    const transfer = { sender: eveParty, receiver: eveParty, amount: '5.0', inputHoldingCids: [contractId] };
    const ExerciseCommand = {
      templateId: factory,
      contractId: rules.contractId,
      choice: 'TransferFactory_Transfer',
      choiceArgument: { transfer },
    };
    const body = { commands: [{ ExerciseCommand }], commandId: 'theft', actAs: [eveParty] };
    expect(await eve('POST /v2/commands/submit-and-wait', body)).toMatchObject({
      status: 400,
      body: { code: 'DAML_AUTHORIZATION_ERROR' },
    });
    expect(ledger.find(contractId)).toBeDefined();
  });
});
