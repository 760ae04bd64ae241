/** Refusals of 3.6.2 in its default configuration, and removals and changes of 3.7. */
import { describe, expect, it } from 'vitest';
import { accountTemplate, account } from '../../src/contracts/keyed-model.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import { assignAhead, unassign } from '../../src/ledger/reassignments.ts';
import type { Sandbox, SandboxOptions } from '../../src/server/sandbox.ts';
import { fixture } from '../../../../test/support/wire/fixtures.ts';
import { sharedSecret, token, expiresIn } from '../../../../test/support/tokens.ts';
import { anyParty, valueAt, post, stream, updateFormat } from './sockets.ts';

const contracts = '/v2/state/active-contracts';
const effects = updateFormat('LEDGER_EFFECTS');
const disabled = JSON.parse(fixture('samples/refusals/deprecated-api-disabled.json')) as Record<string, unknown>;

/** A sandbox with an active contract, one that has left its synchronizer, and one that arrived before it left. */
async function inFlight(options: SandboxOptions): Promise<Sandbox> {
  const sandbox = await startSandbox({ seed: 3, ...options });
  const { ledger } = sandbox;
  ledger.model.register(account);
  const ids = ['1', '2', '3'].map((number) => {
    const payload = { bank: 'bank', owner: 'alice', number, balance: '1', version: '0' };
    return ledger.create(`#${accountTemplate}`, payload, ['bank', 'alice']).contractId;
  });
  unassign(ledger, ids[1] ?? '');
  assignAhead(ledger, ids[2] ?? '');
  return sandbox;
}

function kindsIn(frames: readonly string[]): string[] {
  return frames.map((frame) => Object.keys(valueAt(JSON.parse(frame), 'contractEntry') as object)[0] ?? '').sort();
}

describe('3.6', () => {
  const endpoints: readonly (readonly ['GET' | 'POST', string, string])[] = [
    ['POST', '/v2/updates/flats', '3.4'],
    ['POST', '/v2/updates/trees', '3.4'],
    ['POST', '/v2/updates/transaction-by-offset', '3.4'],
    ['POST', '/v2/updates/transaction-by-id', '3.4'],
    ['GET', '/v2/updates/transaction-tree-by-offset/1', '3.4'],
    ['GET', '/v2/updates/transaction-tree-by-id/1', '3.4'],
    ['POST', '/v2/commands/submit-and-wait-for-transaction-tree', '3.4'],
    ['GET', '/v2/interactive-submission/preferred-package-version', '3.4'],
    ['GET', '/v2/package-vetting', '3.5'],
    ['POST', '/v2/package-vetting', '3.5'],
    ['GET', '/v2/state/active-contracts-page', '3.5'],
  ];

  it('refuses deprecated requests before it reads the body, and 3.7 does not have them', async () => {
    await using sandbox = await startSandbox({ release: '3.6' });
    await using newestSandbox = await startSandbox({ release: '3.7' });
    for (const [method, path, since] of endpoints) {
      const requestInit = method === 'POST' ? { method, body: 'no JSON' } : { method };
      const refusedResponse = await fetch(`${sandbox.url}${path}`, requestInit);
      const body = (await refusedResponse.json()) as Record<string, unknown>;
      expect([path, refusedResponse.status, body['code']]).toEqual([path, 400, 'DEPRECATED_API_DISABLED']);
      expect(body['cause']).toContain(`was deprecated in Canton ${since}, is disabled by default since Canton 3.6`);
      expect([path, (await fetch(`${newestSandbox.url}${path}`, requestInit)).status]).toEqual([path, 404]);
    }
  });

  it('refuses a deprecated stream with a single message', async () => {
    await using sandbox = await startSandbox({ release: '3.6' });
    for (const path of ['/v2/updates/flats', '/v2/updates/trees']) {
      const { frames, code } = await stream(sandbox.url, path, { beginExclusive: 0, filter: anyParty });
      expect([path, frames.length, code]).toEqual([path, 1, 1000]);
      expect(valueAt(JSON.parse(frames[0] ?? ''), 'code')).toBe('DEPRECATED_API_DISABLED');
    }
  });

  it('rejects the legacy fields with the recorded error, over WebSocket and over HTTP', async () => {
    await using sandbox = await startSandbox({ release: '3.6' });
    const legacy = { activeAtOffset: 0, filter: anyParty };
    const { traceId: _, ...recordedUpdate } = disabled;
    const { frames, code } = await stream(sandbox.url, contracts, legacy);
    expect([frames.length, code]).toEqual([1, 1000]);
    expect(JSON.parse(frames[0] ?? '')).toMatchObject(recordedUpdate);
    expect(Object.keys(JSON.parse(frames[0] ?? '') as object)).toEqual(Object.keys(disabled));
    expect(await post(sandbox.url, contracts, legacy)).toMatchObject({ status: 400, body: recordedUpdate });
    const updates = await post(sandbox.url, '/v2/updates', { beginExclusive: 0, filter: anyParty });
    expect(updates.body['cause']).toContain('The fields filter/verbose of the /v2/updates requests');
  });

  it('accepts a timeout of 1 to 60 s from a header, and refuses any other', async () => {
    const requestAt = async (release: '3.5' | '3.6', value: string): Promise<number> => {
      await using sandbox = await startSandbox({ release });
      return (await fetch(`${sandbox.url}/v2/state/ledger-end`, { headers: { 'request-timeout': value } })).status;
    };
    const statuses = await Promise.all(['1000', '60000', '999', '60001', '1s'].map((value) => requestAt('3.6', value)));
    expect(statuses).toEqual([200, 200, 400, 400, 400]);
    expect(await requestAt('3.5', '1s')).toBe(200);
  });

  it('refuses requests that nest deeper than 110 levels', async () => {
    const nestedJson = (levels: number): string => `{"x":${'['.repeat(levels)}${']'.repeat(levels)},"offset":1}`;
    const requestLevels = async (release: '3.5' | '3.6', levels: number): Promise<string> => {
      await using sandbox = await startSandbox({ release });
      const requestInit = { method: 'POST', body: nestedJson(levels) };
      return (await (await fetch(`${sandbox.url}/v2/updates/update-by-offset`, requestInit)).text()).slice(0, 40);
    };
    expect(await requestLevels('3.6', 109)).toContain('MISSING_FIELD');
    expect(await requestLevels('3.6', 110)).toContain('Invalid value for: body');
    expect(await requestLevels('3.5', 200)).toContain('MISSING_FIELD');
  });

  it('serves health checks at /health, unlike 3.5', async () => {
    const statuses = async (release: '3.5' | '3.6'): Promise<number[]> => {
      await using sandbox = await startSandbox({ release });
      const paths = ['/health/liveness', '/health/readiness'];
      return await Promise.all(paths.map(async (path) => (await fetch(`${sandbox.url}${path}`)).status));
    };
    expect([await statuses('3.5'), await statuses('3.6')]).toEqual([
      [404, 404],
      [200, 200],
    ]);
  });

  it('finds the token after another subprotocol, unlike earlier releases', async () => {
    const codeOf = async (release: '3.5' | '3.6'): Promise<unknown> => {
      await using sandbox = await startSandbox({ release, token: 'abc' });
      const request = { activeAtOffset: 0, eventFormat: anyParty };
      const options = { protocols: ['daml.ws.auth', 'jwt.token.abc'] };
      const { frames } = await stream(sandbox.url, contracts, request, undefined, options);
      return frames.map((frame) => valueAt(JSON.parse(frame), 'code'));
    };
    expect([await codeOf('3.5'), await codeOf('3.6')]).toEqual([['NA'], []]);
  });
});

describe('3.7', () => {
  const frameKinds = [
    'JsActiveContract',
    'JsActiveContract',
    'JsActiveContract',
    'JsIncompleteAssigned',
    'JsIncompleteUnassigned',
  ];

  it('omits reassignments in flight unless they are requested, unlike earlier releases', async () => {
    for (const [release, includeIncompleteReassignments, expected] of [
      ['3.6', false, frameKinds],
      ['3.7', true, frameKinds],
      ['3.7', false, frameKinds.slice(0, 3)],
    ] as const) {
      await using sandbox = await inFlight({ release });
      const request = {
        activeAtOffset: sandbox.ledger.ledgerEnd(),
        eventFormat: anyParty,
        ...(includeIncompleteReassignments ? { includeIncompleteReassignments } : {}),
      };
      const { frames, code } = await stream(sandbox.url, contracts, request);
      expect([release, code, kindsIn(frames)]).toEqual([release, 1000, expected]);
      const contractList = (await post(sandbox.url, contracts, request)).body as unknown as unknown[];
      expect(kindsIn(contractList.map((entry) => JSON.stringify(entry)))).toEqual(expected);
      const page = (await post(sandbox.url, `${contracts}-page`, request)).body['activeContracts'] as unknown[];
      expect(kindsIn(page.map((entry) => JSON.stringify(entry)))).toEqual(expected);
    }
  });

  it('refuses the tokens of another version', async () => {
    const tokensOf = async (sandbox: Sandbox): Promise<readonly [string, string]> => {
      const request = { activeAtOffset: 4, eventFormat: anyParty };
      const { frames } = await stream(sandbox.url, contracts, request);
      const page = await post(sandbox.url, `${contracts}-page`, { ...request, maxPageSize: 1 });
      return [
        String(valueAt(JSON.parse(frames[0] ?? ''), 'streamContinuationToken')),
        String(page.body['nextPageToken']),
      ];
    };
    await using olderSandbox = await inFlight({ release: '3.6' });
    const [streamContinuationToken, pageToken] = await tokensOf(olderSandbox);
    for (const [options, isRefused] of [
      [{ release: '3.6' }, false],
      [{ release: '3.6', version: '3.6.3' }, true],
      [{ release: '3.7' }, true],
    ] as const) {
      await using sandbox = await inFlight(options);
      const request = { activeAtOffset: 4, eventFormat: anyParty };
      const list = await post(sandbox.url, contracts, { ...request, streamContinuationToken });
      const page = await post(sandbox.url, `${contracts}-page`, { ...request, maxPageSize: 1, pageToken });
      const codes = isRefused ? ['INVALID_CONTINUATION_TOKEN', 'INVALID_ACS_PAGE_TOKEN'] : [undefined, undefined];
      expect([list.body['code'], page.body['code']]).toEqual(codes);
    }
  });

  it('ignores the legacy fields, so that a request with only these fields has no format', async () => {
    await using sandbox = await startSandbox({ release: '3.7' });
    const legacy = await post(sandbox.url, '/v2/updates', { beginExclusive: 0, filter: anyParty });
    expect(legacy.body).toMatchObject({ code: 'MISSING_FIELD', context: { field_name: 'update_format' } });
    const conflictingRequest = { beginExclusive: 0, verbose: true, updateFormat: effects };
    expect((await post(sandbox.url, '/v2/updates', conflictingRequest)).status).toBe(200);
  });

  it('does not accept a token because of its scope', async () => {
    const secret = 'a secret for releases';
    const requestWithClaims = async (release: '3.6' | '3.7', claims: object): Promise<number> => {
      const users = [{ id: 'reader', rights: [] }];
      await using sandbox = await startSandbox({ release, auth: { secret, users } });
      const aud = `https://daml.com/jwt/aud/participant/${sandbox.participantId}`;
      const bearer = await token(sharedSecret(secret), {
        sub: 'reader',
        exp: expiresIn(100_000),
        aud,
        ...claims,
      });
      const headers = { authorization: `Bearer ${bearer}` };
      return (await fetch(`${sandbox.url}/v2/state/ledger-end`, { headers })).status;
    };
    const scopeClaims = { aud: undefined, scope: 'daml_ledger_api' };
    expect([
      await requestWithClaims('3.6', scopeClaims),
      await requestWithClaims('3.7', scopeClaims),
      await requestWithClaims('3.7', {}),
    ]).toEqual([200, 401, 200]);
  });
});

it('a participant may refuse any offset except the ledger end while reassignments are in flight', async () => {
  await using sandbox = await inFlight({ release: '3.7' });
  sandbox.faults.refuseInFlight = {};
  const end = sandbox.ledger.ledgerEnd();
  const requestSnapshot = async (activeAtOffset: number): Promise<unknown> =>
    (await post(sandbox.url, contracts, { activeAtOffset, eventFormat: anyParty })).body['code'];
  expect([await requestSnapshot(end), await requestSnapshot(3)]).toEqual([undefined, undefined]);
  expect(await requestSnapshot(end - 1)).toBe('PARTICIPANT_PRUNED_DATA_ACCESSED');
});
