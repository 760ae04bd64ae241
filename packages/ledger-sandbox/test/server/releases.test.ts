/** Differences between 3.4, 3.5 and 3.6, and the limits and the path prefix of the HTTP server. */
import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { account, accountTemplate } from '../../src/contracts/keyed-model.ts';
import type { Release } from '../../src/wire/release.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { anyParty, valueAt, post, stream, updateFormat } from './sockets.ts';

const effects = updateFormat('LEDGER_EFFECTS');

/** A sandbox with one account whose two Optional fields are None. */
async function withAccount(release: Release): Promise<Sandbox> {
  const sandbox = await startSandbox({ seed: 3, release });
  sandbox.ledger.model.register(account);
  const payload = {
    bank: 'bank',
    owner: 'alice',
    number: '7',
    balance: '1.5',
    version: '0',
    nickname: null,
    limit: null,
  };
  sandbox.ledger.create(`#${accountTemplate}`, payload, ['bank', 'alice']);
  return sandbox;
}

async function createdIn(sandbox: Sandbox): Promise<Record<string, unknown>> {
  const { body } = await post(sandbox.url, '/v2/updates/update-by-offset', { offset: 1, updateFormat: effects });
  return valueAt(body, 'update', 'Transaction', 'value', 'events', 0, 'CreatedEvent') as Record<string, unknown>;
}

describe('a created event', () => {
  it('omits trailing Nones since 3.5 and prints them before', async () => {
    await using olderSandbox = await withAccount('3.4');
    await using current = await withAccount('3.5');
    const [createdThen, now] = [await createdIn(olderSandbox), await createdIn(current)];
    expect(Object.keys(now['createArgument'] as object)).toEqual(['bank', 'owner', 'number', 'balance', 'version']);
    expect(createdThen['createArgument']).toEqual({
      ...(now['createArgument'] as object),
      nickname: null,
      limit: null,
    });
    expect(Object.keys(now).filter((key) => !(key in createdThen))).toEqual(['contractKeyHash']);
    expect(Object.keys(createdThen)).toEqual(Object.keys(now).filter((key) => key !== 'contractKeyHash'));
  });

  it('has the package of each view only since 3.5', async () => {
    const holding = 'splice-api-token-holding-v1:Splice.Api.Token.HoldingV1:Holding';
    const value = { interfaceId: `#${holding}`, includeInterfaceView: true };
    const filters = { cumulative: [{ identifierFilter: { InterfaceFilter: { value } } }] };
    const eventFormat = { filtersByParty: {}, filtersForAnyParty: filters };
    const keys = async (release: Release): Promise<string[]> => {
      await using sandbox = await startSandbox({ release });
      const payload = { dso: 'dso', owner: 'alice', amount: { initialAmount: '1.0' } };
      sandbox.ledger.create('#splice-amulet:Splice.Amulet:Amulet', payload, ['dso', 'alice']);
      const { body } = await post(sandbox.url, '/v2/state/active-contracts', { activeAtOffset: 1, eventFormat });
      const createdEvent = valueAt(body, 0, 'contractEntry', 'JsActiveContract', 'createdEvent');
      return [...Object.keys(body[0] as object), ...Object.keys(valueAt(createdEvent, 'interfaceViews', 0) as object)];
    };
    const entry = ['workflowId', 'contractEntry'];
    const view = ['interfaceId', 'viewStatus', 'viewValue'];
    expect(await keys('3.4')).toEqual([...entry, ...view]);
    expect(await keys('3.5')).toEqual([...entry, 'streamContinuationToken', ...view, 'implementationPackageId']);
  });
});

describe('3.6', () => {
  it('returns the record times at the ledger end and the hash of a transaction', async () => {
    await using sandbox = await withAccount('3.6');
    const end = (await (await fetch(`${sandbox.url}/v2/state/ledger-end`)).json()) as object;
    expect(Object.keys(end)).toEqual(['offset', 'synchronizerTimes']);
    expect(valueAt(end, 'synchronizerTimes', 0, 'synchronizerId')).toBe(sandbox.ledger.synchronizers[0].id);
    const { body } = await post(sandbox.url, '/v2/updates/update-by-offset', { offset: 1, updateFormat: effects });
    expect(Object.keys(valueAt(body, 'update', 'Transaction', 'value') as object).at(-1)).toBe('transactionHash');
  });

  it('prints the kinds of resources without a wrapper, unlike earlier releases', async () => {
    const kind = async (release: Release): Promise<unknown> => {
      await using sandbox = await startSandbox({ release });
      const request = { offset: 7, updateFormat: effects };
      return valueAt((await post(sandbox.url, '/v2/updates/update-by-offset', request)).body, 'resources', 0, 0);
    };
    expect(await kind('3.6')).toBe('OFFSET');
    expect(await kind('3.5')).toBe('ErrorResource(OFFSET)');
  });
});

describe('3.4', () => {
  it('accepts package ids in filters, which later releases refuse', async () => {
    const requestRelease = async (release: Release): Promise<[number, unknown]> => {
      await using sandbox = await withAccount(release);
      const templateId = String((await createdIn(sandbox))['templateId']);
      const cumulative = [{ identifierFilter: { TemplateFilter: { value: { templateId } } } }];
      const eventFormat = { filtersByParty: {}, filtersForAnyParty: { cumulative } };
      const { status, body } = await post(sandbox.url, '/v2/state/active-contracts', {
        activeAtOffset: 1,
        eventFormat,
      });
      return [status, status === 200 ? valueAt(body, 'length') : body['code']];
    };
    expect(await requestRelease('3.4')).toEqual([200, 1]);
    expect(await requestRelease('3.5')).toEqual([400, 'INVALID_FIELD']);
  });

  it('does not support pages, descending order or the onboarding of a party', async () => {
    await using sandbox = await withAccount('3.4');
    sandbox.ledger.create(`#${accountTemplate}`, { bank: 'bank', owner: 'alice', balance: '1', version: '0' }, [
      'bank',
    ]);
    const value = { partyId: 'alice', participantId: 'p', participantPermission: 'PARTICIPANT_PERMISSION_SUBMISSION' };
    const events = [{ event: { ParticipantAuthorizationOnboarding: { value } } }];
    sandbox.ledger.append({ TopologyTransaction: { value: { events } } });
    expect((await post(sandbox.url, '/v2/updates/get-updates-page', { updateFormat: effects })).status).toBe(404);
    const request = { beginExclusive: 0, endInclusive: 3, updateFormat: effects };
    const plainStream = await stream(sandbox.url, '/v2/updates', request);
    expect(plainStream.frames).toHaveLength(2);
    const descending = await stream(sandbox.url, '/v2/updates', { ...request, descendingOrder: true });
    expect(descending.frames).toEqual(plainStream.frames);
  });
});

describe('the HTTP server', () => {
  it('puts its prefix before every path, including health checks and API descriptions', async () => {
    await using sandbox = await startSandbox({ pathPrefix: '/participant1' });
    expect(sandbox.url.endsWith('/participant1')).toBe(true);
    const root = sandbox.url.replace('/participant1', '');
    for (const path of ['/livez', '/readyz', '/docs/openapi', '/v2/version', '/v2/state/ledger-end']) {
      expect([path, (await fetch(`${sandbox.url}${path}`)).status]).toEqual([path, 200]);
      expect([path, (await fetch(`${root}${path}`)).status]).toEqual([path, 404]);
    }
    const request = { activeAtOffset: 0, eventFormat: anyParty };
    expect(await stream(sandbox.url, '/v2/state/active-contracts', request)).toMatchObject({ frames: [], code: 1000 });
    await expect(stream(root, '/v2/state/active-contracts', request)).rejects.toThrow('404');
  });

  it('responds to a plain GET on the path of a stream with its JSON 404', async () => {
    await using sandbox = await startSandbox();
    const response = await fetch(`${sandbox.url}/v2/updates`);
    expect([response.status, await response.json()]).toEqual([
      404,
      { errors: [`HttpMethod(GET), uri: ${sandbox.url}/v2/updates`], status: 404, ledgerApiError: null },
    ]);
  });

  it('responds to a request with 503 text/plain after its timeout', async () => {
    await using sandbox = await startSandbox({ limits: { requestTimeoutMs: 30, listWaitMs: 5000 } });
    const body = JSON.stringify({ beginExclusive: 0, updateFormat: effects });
    const response = await fetch(`${sandbox.url}/v2/updates`, { method: 'POST', body });
    expect([response.status, response.headers.get('content-type')]).toEqual([503, 'text/plain; charset=UTF-8']);
    expect(await response.text()).toMatch(
      /^The server was not able to produce a timely response to your request\.\r\n/,
    );
  });

  it('refuses bodies above 8 MiB, and above 10 MiB since 3.6', async () => {
    const body = ' '.repeat(9 * 1024 * 1024);
    for (const [release, status] of [
      ['3.5', 413],
      ['3.6', 400],
    ] as const) {
      await using sandbox = await startSandbox({ release });
      expect([release, await statusOf(`${sandbox.url}/v2/updates`, 'POST', {}, body)]).toEqual([release, status]);
    }
  });

  it('refuses header values above 8 KiB and more than 64 headers', async () => {
    await using sandbox = await startSandbox();
    const end = `${sandbox.url}/v2/state/ledger-end`;
    expect(await statusOf(end, 'GET', { authorization: `Bearer ${'x'.repeat(8000)}` })).toBe(200);
    expect(await statusOf(end, 'GET', { authorization: `Bearer ${'x'.repeat(9000)}` })).toBe(431);
    const manyHeaders = Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`x-${index}`, '1']));
    expect(await statusOf(end, 'GET', manyHeaders)).toBe(400);
    const headers = { authorization: `Bearer ${'x'.repeat(9000)}` };
    await expect(stream(sandbox.url, '/v2/updates', {}, undefined, { headers })).rejects.toThrow('431');
  });
});

function statusOf(
  url: string,
  method: string,
  headers: Record<string, string>,
  body = '',
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const clientRequest = httpRequest(url, { method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    clientRequest.on('error', reject);
    clientRequest.end(body);
  });
}
