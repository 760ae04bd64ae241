/** Tests every call of the client against an HTTP server: the request, the result and the rejections. */
import { afterEach, describe, expect, it } from 'vitest';
import { createLedgerClient, type LedgerClient } from '../../../src/ledger/api/client.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { readWireSchemas } from '../../conformance/wire-schemas.ts';
import { node, packages, parties, users } from './calls-manage.ts';
import { state, updates } from './calls-read.ts';
import { interactive, submission } from './calls-submit.ts';
import { startFakeLedger, type FakeLedger } from '../fake-ledger.ts';

const calls = [...node, ...packages, ...submission, ...state, ...updates, ...parties, ...users, ...interactive];

let ledger: FakeLedger | undefined;
afterEach(async () => {
  await ledger?.stop();
  ledger = undefined;
});

interface SeenRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly body: string;
}

async function clientOf(
  status: number,
  responseBody: unknown,
  seenRequests: SeenRequest[] = [],
): Promise<LedgerClient> {
  ledger = await startFakeLedger({
    http: (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
      request.on('end', () => {
        seenRequests.push({ method: request.method, url: request.url, body });
        response.writeHead(status, { 'Canton-Package-Hash': 'f00' });
        response.end(typeof responseBody === 'string' ? responseBody : JSON.stringify(responseBody));
      });
    },
  });
  const tokenSource = createTokenSource({ token: 'abc' });
  return createLedgerClient({ url: ledger.url, tokenSource, insecure: false, requestTimeoutMs: 5000 });
}

const errorBody = (code: string): object => ({ code, cause: 'x', context: {}, errorCategory: 11, grpcCodeValue: 5 });

describe('ledger client', () => {
  it.each(calls)(
    'sends the request of $operation and returns its result',
    async ({ operation, url, body, call, answer, result }) => {
      const seen: SeenRequest[] = [];
      const client = await clientOf(200, answer, seen);
      expect(await call(client)).toEqual(result);
      const sent = body === undefined || typeof body === 'string' ? (body ?? '') : JSON.stringify(body);
      // The client reads the release before a call that newer releases do not have.
      const others = seen.filter((one) => one.url === url || one.url !== '/v2/version');
      expect(others).toEqual([{ method: operation.split(' ')[0], url, body: sent }]);
    },
  );

  it.each(calls)('reports HTTP 403 for $operation as LEDGER_PERMISSION_DENIED', async ({ call }) => {
    const client = await clientOf(403, { code: 'NA', cause: 'x', errorCategory: -1, grpcCodeValue: 7 });
    await expect(call(client)).rejects.toMatchObject({ code: 'LEDGER_PERMISSION_DENIED' });
  });

  it('returns undefined for "not found" codes and rejects other 404s', async () => {
    let client = await clientOf(404, errorBody('CONTRACT_EVENTS_NOT_FOUND'));
    expect(await client.events.byContractId('00', {})).toBeUndefined();
    await expect(client.events.contractById('00')).rejects.toMatchObject({ code: 'LEDGER_REQUEST_INVALID' });
    await ledger?.stop();
    client = await clientOf(404, errorBody('CONTRACT_PAYLOAD_NOT_FOUND'));
    expect(await client.events.contractById('00')).toBeUndefined();
    await expect(client.updates.byId('x', {})).rejects.toMatchObject({ code: 'LEDGER_REQUEST_INVALID' });
    await ledger?.stop();
    client = await clientOf(404, errorBody('UPDATE_NOT_FOUND'));
    expect(await client.updates.byHash('x', {})).toBeUndefined();
    await ledger?.stop();
    client = await clientOf(200, { partyDetails: [] });
    expect(await client.parties.get('nobody')).toBeUndefined();
  });

  it.each<[string, unknown, (client: LedgerClient) => Promise<unknown>]>([
    ['completionOffset', { updateId: 'u', completionOffset: '5' }, ({ commands }) => commands.submitAndWait(none)],
    ['offset', { transaction: {} }, ({ commands }) => commands.submitAndWaitForTransaction(none)],
    ['offset', { update: { Transaction: { value: { offset: 2 ** 53 } } } }, ({ updates }) => updates.byOffset(5, {})],
    ['contractId', { transaction: { offset: 1, events: [{ CreatedEvent: {} }] } }, transactionOf],
    ['contractId', { createdEvent: { contractId: 5 } }, ({ events }) => events.contractById('00')],
    ['contractId', { created: { createdEvent: null } }, ({ events }) => events.byContractId('00', {})],
    ['offset', [{ completionResponse: { Completion: { value: {} } } }], firstCompletion],
    ['not JSON', '[nul]', firstCompletion],
    ['packageIds', { packageIds: [1] }, ({ packages }) => packages.list()],
    ['users', { users: [{}] }, ({ users }) => users.list()],
    ['rights', { rights: {} }, ({ users }) => users.rights('u')],
    [
      'highestPageOffsetInclusive',
      { lowestPageOffsetExclusive: 1 },
      ({ updates }) => updates.page({ updateFormat: {} }),
    ],
  ])('rejects an invalid response (%s): %j', async (what, answer, call) => {
    const client = await clientOf(200, answer);
    await expect(call(client)).rejects.toMatchObject({
      code: 'LEDGER_UNDECODABLE',
      message: expect.stringContaining(what) as string,
    });
  });

  it.each(['', '.', '..'])('sends no request if the id is %j', async (id) => {
    const seen: SeenRequest[] = [];
    const client = await clientOf(200, {}, seen);
    await expect(client.users.delete(id)).rejects.toMatchObject({ code: 'LEDGER_REQUEST_INVALID' });
    await expect(client.parties.get(id)).rejects.toMatchObject({ code: 'LEDGER_REQUEST_INVALID' });
    expect(seen).toEqual([]);
  });

  it.each([Number.NaN, 2 ** 53, 1.5])('rejects the offset %d', async (offset) => {
    const client = await clientOf(200, {});
    await expect(client.updates.byOffset(offset, {})).rejects.toMatchObject({ code: 'LEDGER_REQUEST_INVALID' });
    expect(() => client.updates.list({ beginExclusive: offset })).toThrow(/as beginExclusive/u);
  });
});

const none = { commands: [], commandId: 'c', actAs: [] };

function transactionOf({ interactive }: LedgerClient): Promise<unknown> {
  const request = { preparedTransaction: '', partySignatures: { signatures: [] }, submissionId: 's' };
  return interactive.executeAndWaitForTransaction({ ...request, hashingSchemeVersion: '' });
}

async function firstCompletion({ completions }: LedgerClient): Promise<unknown> {
  for await (const completion of completions.list({ parties: [] })) return completion;
  return undefined;
}

describe('API descriptions of the participant', () => {
  const schemas = readWireSchemas();

  it.each(calls.filter(({ later }) => later !== true))(
    'contain $operation and accept its request',
    ({ operation, schema, body }) => {
      expect(schemas.operations).toContain(operation);
      expect(schema === undefined ? [] : schemas.problems(schema, body)).toEqual([]);
    },
  );

  it('contain only operations that the client implements or deliberately omits', () => {
    const known = new Set(calls.map(({ operation }) => operation));
    const missing = [...schemas.operations].filter((name) => !name.startsWith('WS ') && !known.has(name));
    expect(missing.sort()).toEqual([
      // Administration of the participant: identity providers, and changes of parties and users.
      'DELETE /v2/idps/{idp-id}',
      'GET /v2/idps',
      'GET /v2/idps/{idp-id}',
      // These are deprecated. The client implements their successors.
      'GET /v2/interactive-submission/preferred-package-version',
      'GET /v2/package-vetting',
      'GET /v2/updates/transaction-tree-by-id/{update-id}',
      'GET /v2/updates/transaction-tree-by-offset/{offset}',
      'PATCH /v2/idps/{idp-id}',
      'PATCH /v2/parties/{party}',
      'PATCH /v2/users/{user-id}',
      'PATCH /v2/users/{user-id}/identity-provider-id',
      'POST /v2/commands/submit-and-wait-for-transaction-tree',
      'POST /v2/idps',
      'POST /v2/package-vetting',
      'POST /v2/updates/transaction-by-id',
      'POST /v2/updates/transaction-by-offset',
    ]);
  });
});
