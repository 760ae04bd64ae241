/** Refusals of 3.6.2 in its default configuration, and removals and changes of 3.7. */
import { describe, expect, it } from 'vitest';
import { accountTemplate, account } from '../../src/contracts/keyed-model.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import { assignAhead, unassign } from '../../src/ledger/reassignments.ts';
import type { Sandbox, SandboxOptions } from '../../src/server/sandbox.ts';
import { fixture } from '../../../../test/support/wire/fixtures.ts';
import { sharedSecret, token, endsIn } from '../../../../test/support/tokens.ts';
import { anyParty, at, post, stream, updateFormat } from './sockets.ts';

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
  return frames.map((frame) => Object.keys(at(JSON.parse(frame), 'contractEntry') as object)[0] ?? '').sort();
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
    await using newest = await startSandbox({ release: '3.7' });
    for (const [method, path, since] of endpoints) {
      const sent = method === 'POST' ? { method, body: 'no JSON' } : { method };
      const refused = await fetch(`${sandbox.url}${path}`, sent);
      const body = (await refused.json()) as Record<string, unknown>;
      expect([path, refused.status, body['code']]).toEqual([path, 400, 'DEPRECATED_API_DISABLED']);
      expect(body['cause']).toContain(`was deprecated in Canton ${since}, is disabled by default since Canton 3.6`);
      expect([path, (await fetch(`${newest.url}${path}`, sent)).status]).toEqual([path, 404]);
    }
  });

  it('refuses a deprecated stream with a single message', async () => {
    await using sandbox = await startSandbox({ release: '3.6' });
    for (const path of ['/v2/updates/flats', '/v2/updates/trees']) {
      const { frames, code } = await stream(sandbox.url, path, { beginExclusive: 0, filter: anyParty });
      expect([path, frames.length, code]).toEqual([path, 1, 1000]);
      expect(at(JSON.parse(frames[0] ?? ''), 'code')).toBe('DEPRECATED_API_DISABLED');
    }
  });

  it('rejects the legacy fields with the recorded error, over WebSocket and over HTTP', async () => {
    await using sandbox = await startSandbox({ release: '3.6' });
    const legacy = { activeAtOffset: 0, filter: anyParty };
    const { traceId: _, ...recorded } = disabled;
    const { frames, code } = await stream(sandbox.url, contracts, legacy);
    expect([frames.length, code]).toEqual([1, 1000]);
    expect(JSON.parse(frames[0] ?? '')).toMatchObject(recorded);
    expect(Object.keys(JSON.parse(frames[0] ?? '') as object)).toEqual(Object.keys(disabled));
    expect(await post(sandbox.url, contracts, legacy)).toMatchObject({ status: 400, body: recorded });
    const updates = await post(sandbox.url, '/v2/updates', { beginExclusive: 0, filter: anyParty });
    expect(updates.body['cause']).toContain('The fields filter/verbose of the /v2/updates requests');
  });

  it('accepts a timeout of 1 to 60 s from a header, and refuses any other', async () => {
    const ask = async (release: '3.5' | '3.6', value: string): Promise<number> => {
      await using sandbox = await startSandbox({ release });
      return (await fetch(`${sandbox.url}/v2/state/ledger-end`, { headers: { 'request-timeout': value } })).status;
    };
    const found = await Promise.all(['1000', '60000', '999', '60001', '1s'].map((value) => ask('3.6', value)));
    expect(found).toEqual([200, 200, 400, 400, 400]);
    expect(await ask('3.5', '1s')).toBe(200);
  });

  it('refuses requests that nest deeper than 110 levels', async () => {
    const nested = (levels: number): string => `{"x":${'['.repeat(levels)}${']'.repeat(levels)},"offset":1}`;
    const ask = async (release: '3.5' | '3.6', levels: number): Promise<string> => {
      await using sandbox = await startSandbox({ release });
      const sent = { method: 'POST', body: nested(levels) };
      return (await (await fetch(`${sandbox.url}/v2/updates/update-by-offset`, sent)).text()).slice(0, 40);
    };
    expect(await ask('3.6', 109)).toContain('MISSING_FIELD');
    expect(await ask('3.6', 110)).toContain('Invalid value for: body');
    expect(await ask('3.5', 200)).toContain('MISSING_FIELD');
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
      return frames.map((frame) => at(JSON.parse(frame), 'code'));
    };
    expect([await codeOf('3.5'), await codeOf('3.6')]).toEqual([['NA'], []]);
  });
});

describe('3.7', () => {
  const all = [
    'JsActiveContract',
    'JsActiveContract',
    'JsActiveContract',
    'JsIncompleteAssigned',
    'JsIncompleteUnassigned',
  ];

  it('omits reassignments in flight unless they are requested, unlike earlier releases', async () => {
    for (const [release, includeIncompleteReassignments, expected] of [
      ['3.6', false, all],
      ['3.7', true, all],
      ['3.7', false, all.slice(0, 3)],
    ] as const) {
      await using sandbox = await inFlight({ release });
      const request = {
        activeAtOffset: sandbox.ledger.ledgerEnd(),
        eventFormat: anyParty,
        ...(includeIncompleteReassignments ? { includeIncompleteReassignments } : {}),
      };
      const { frames, code } = await stream(sandbox.url, contracts, request);
      expect([release, code, kindsIn(frames)]).toEqual([release, 1000, expected]);
      const listed = (await post(sandbox.url, contracts, request)).body as unknown as unknown[];
      expect(kindsIn(listed.map((entry) => JSON.stringify(entry)))).toEqual(expected);
      const page = (await post(sandbox.url, `${contracts}-page`, request)).body['activeContracts'] as unknown[];
      expect(kindsIn(page.map((entry) => JSON.stringify(entry)))).toEqual(expected);
    }
  });

  it('refuses the tokens of another version', async () => {
    const tokensOf = async (sandbox: Sandbox): Promise<readonly [string, string]> => {
      const request = { activeAtOffset: 4, eventFormat: anyParty };
      const { frames } = await stream(sandbox.url, contracts, request);
      const page = await post(sandbox.url, `${contracts}-page`, { ...request, maxPageSize: 1 });
      return [String(at(JSON.parse(frames[0] ?? ''), 'streamContinuationToken')), String(page.body['nextPageToken'])];
    };
    await using before = await inFlight({ release: '3.6' });
    const [streamContinuationToken, pageToken] = await tokensOf(before);
    for (const [options, refused] of [
      [{ release: '3.6' }, false],
      [{ release: '3.6', version: '3.6.3' }, true],
      [{ release: '3.7' }, true],
    ] as const) {
      await using sandbox = await inFlight(options);
      const request = { activeAtOffset: 4, eventFormat: anyParty };
      const list = await post(sandbox.url, contracts, { ...request, streamContinuationToken });
      const page = await post(sandbox.url, `${contracts}-page`, { ...request, maxPageSize: 1, pageToken });
      const codes = refused ? ['INVALID_CONTINUATION_TOKEN', 'INVALID_ACS_PAGE_TOKEN'] : [undefined, undefined];
      expect([list.body['code'], page.body['code']]).toEqual(codes);
    }
  });

  it('ignores the legacy fields, so that a request with only these fields has no format', async () => {
    await using sandbox = await startSandbox({ release: '3.7' });
    const legacy = await post(sandbox.url, '/v2/updates', { beginExclusive: 0, filter: anyParty });
    expect(legacy.body).toMatchObject({ code: 'MISSING_FIELD', context: { field_name: 'update_format' } });
    const both = { beginExclusive: 0, verbose: true, updateFormat: effects };
    expect((await post(sandbox.url, '/v2/updates', both)).status).toBe(200);
  });

  it('does not accept a token because of its scope', async () => {
    const secret = 'a secret for releases';
    const ask = async (release: '3.6' | '3.7', claims: object): Promise<number> => {
      const users = [{ id: 'reader', rights: [] }];
      await using sandbox = await startSandbox({ release, auth: { secret, users } });
      const aud = `https://daml.com/jwt/aud/participant/${sandbox.participantId}`;
      const bearer = await token(sharedSecret(secret), {
        sub: 'reader',
        exp: endsIn(100_000),
        aud,
        ...claims,
      });
      const headers = { authorization: `Bearer ${bearer}` };
      return (await fetch(`${sandbox.url}/v2/state/ledger-end`, { headers })).status;
    };
    const byScope = { aud: undefined, scope: 'daml_ledger_api' };
    expect([await ask('3.6', byScope), await ask('3.7', byScope), await ask('3.7', {})]).toEqual([200, 401, 200]);
  });
});

it('a participant may refuse any offset except the ledger end while reassignments are in flight', async () => {
  await using sandbox = await inFlight({ release: '3.7' });
  sandbox.faults.refuseInFlight = {};
  const end = sandbox.ledger.ledgerEnd();
  const ask = async (activeAtOffset: number): Promise<unknown> =>
    (await post(sandbox.url, contracts, { activeAtOffset, eventFormat: anyParty })).body['code'];
  expect([await ask(end), await ask(3)]).toEqual([undefined, undefined]);
  expect(await ask(end - 1)).toBe('PARTICIPANT_PRUNED_DATA_ACCESSED');
});
