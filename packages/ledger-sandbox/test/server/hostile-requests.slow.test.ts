/** Every hostile request gets a response. If it is refused, the response is a client error, and no state is changed. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { generateHistory } from '../../src/demo/traffic.ts';
import { samples } from './odd-requests.ts';
import { mutations } from './odd-values.ts';
import { requestJson } from './raw.ts';

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 3, limits: { listWaitMs: 5 } });
  generateHistory(sandbox.ledger, { seed: 2, updates: 20 });
});

afterAll(() => sandbox.close());

/** Writes a text to the port unchanged. Returns the first line of the response; empty if none arrives for a while. */
function firstLine(text: string): Promise<string> {
  const { hostname, port } = new URL(sandbox.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let received = '';
    const end = (): void => {
      socket.destroy();
      resolve(received.split('\r\n')[0] ?? '');
    };
    socket.setTimeout(1_000, end);
    socket.on('data', (chunk) => {
      received += chunk.toString();
      if (received.includes('\r\n')) end();
    });
    socket.on('error', end);
    socket.on('close', end);
  });
}

async function statusOf(endpoint: string, text: string): Promise<number> {
  const [method = '', path = ''] = endpoint.split(' ');
  const response = await fetch(`${sandbox.url}${path}`, { method, body: text });
  await response.arrayBuffer();
  return response.status;
}

/** Every nth of the mutations of a request, with another offset for each request. */
function sampleTexts(values: Iterable<unknown>, divisor: number, from: number): string[] {
  return [...values].filter((_, index) => index % divisor === from % divisor).map((sample) => JSON.stringify(sample));
}

describe('requests with odd values', () => {
  it.each(samples.map(({ what: endpoint, body }, index) => ({ what: endpoint, body, index })))(
    'never cause an internal error: $what ($index)',
    async ({ what: endpoint, body, index }) => {
      const failedBodies: string[] = [];
      for (const text of sampleTexts(mutations(body), 29, index)) {
        if ((await statusOf(endpoint, text)) >= 500) failedBodies.push(text);
      }
      expect(failedBodies).toEqual([]);
    },
  );

  it.each(['constructor', '__proto__', 'toString'])('are refused for a choice named %s', async (choice) => {
    const createArguments = { issuer: 'alice', owner: 'alice', currency: 'EUR', amount: '1.0', observers: [] };
    const command = { templateId: '#model-tests:Iou:Iou', createArguments, choice, choiceArgument: {} };
    const commands = [{ CreateAndExerciseCommand: command }];
    const { status, body } = await requestJson(sandbox.url, '/v2/commands/submit-and-wait', {
      commands,
      commandId: choice,
      actAs: ['alice'],
    });
    expect([status, body]).toEqual([404, expect.stringContaining('TEMPLATES_OR_INTERFACES_NOT_FOUND')]);
  });

  it('are refused if values are nested too deeply, even where the response would contain them', async () => {
    const deepJson = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const format = `{"filtersForAnyParty":{},"filtersByParty":{},"deep":${deepJson}}`;
    const requests = [
      ['POST /v2/state/active-contracts', `{"activeAtOffset":1,"eventFormat":${format}}`],
      ['POST /v2/state/active-contracts-page', `{"eventFormat":${format}}`],
      ['POST /v2/users', `{"user":{"id":"deep","metadata":{"annotations":${deepJson}}}}`],
    ];
    for (const [endpoint = '', text = ''] of requests) expect(await statusOf(endpoint, text)).toBe(400);
  });

  it('may contain strings with brackets, which do not count as nesting', async () => {
    const annotations = { brackets: `\\"${'['.repeat(20_000)}` };
    const user = { id: 'brackets', metadata: { annotations } };
    expect(await statusOf('POST /v2/users', JSON.stringify({ user }))).toBe(200);
  });
});

describe('the endpoint that sets faults', () => {
  it.each(['constructor', '__proto__', 'toString'])('has no fault and no field named %s', async (name) => {
    await using ownSandbox = await startSandbox({ seed: 1, admin: true });
    for (const text of [`{"${name}":true}`, `{"cut":{"${name}":1}}`]) {
      const response = await fetch(`${ownSandbox.url}/sandbox/faults`, { method: 'POST', body: text });
      expect([text, response.status]).toEqual([text, 400]);
    }
    expect(ownSandbox.faults).toEqual({});
  });
});

describe('the HTTP server', () => {
  it.each(['[', 'a b', ':::', 'x:99999', '\u00e9'])('survives a host header of %j', async (host) => {
    expect(await firstLine(`GET /v2/version HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 [24]\d\d /);
    expect((await requestJson(sandbox.url, '/livez')).status).toBe(200);
  });

  it.each([
    '//',
    '///v2/version',
    '//v2/version',
    '//127.0.0.1/v2/version',
    '/v2/version/',
    '/V2/version',
    '/v2//version',
    '/v2/x/../version',
    '/v2/%2e%2e/v2/version',
    '/v2/./version',
    '/v2/version%2f',
    '/v2/version;a=b',
    '/v2/ver%73ion%',
    '\\v2\\version',
    '/v2/parties/%2e%2e%2f%2e%2e',
    '*',
  ])('does not serve another endpoint for the path %s', async (path) => {
    const line = await firstLine(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    // Two of these paths contain values of `{party}` that denote no party.
    expect(line).toMatch(path.startsWith('/v2/parties/') ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 40[04] /);
    expect((await requestJson(sandbox.url, '/livez')).status).toBe(200);
  });

  it.each(['http://other', 'http://['])('serves the target %s and a path as the path', async (authority) => {
    expect(await firstLine(`GET ${authority}/v2/version?x=1 HTTP/1.1\r\nHost: a\r\n\r\n`)).toBe('HTTP/1.1 200 OK');
  });

  it('refuses too many headers before any other check', async () => {
    const flood = Array.from({ length: 5_000 }, (_, index) => `X-${index}: y\r\n`).join('');
    expect(await firstLine(`GET /v2/version HTTP/1.1\r\nHost: a\r\n${flood}\r\n`)).toMatch(/^HTTP\/1\.1 4\d\d /);
  });

  it('does not treat an incomplete body as an internal error', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): unknown => warnings.push(message);
    process.on('warning', onWarning);
    expect(await firstLine('POST /v2/updates HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{')).toBe('');
    expect((await requestJson(sandbox.url, '/livez')).status).toBe(200);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });
});

describe('lists', () => {
  const streamRequest = { beginExclusive: 0, updateFormat: {} };
  const path = '/v2/updates?stream_idle_timeout_ms=300';

  it('end after a time without a matching element, although the ledger changes', async () => {
    const timer = setInterval(() => sandbox.ledger.skipOffsets(1), 50);
    const response = await requestJson(sandbox.url, path, streamRequest, { waitMs: 40_000 });
    clearInterval(timer);
    expect(response.status).toBe(200);
  });

  it('of completions also end after a time without an element', async () => {
    const timer = setInterval(() => sandbox.ledger.skipOffsets(1), 50);
    const body = { parties: ['nobody'], beginExclusive: 0 };
    const list = '/v2/commands/command-completions?stream_idle_timeout_ms=300';
    const response = await requestJson(sandbox.url, list, body, { waitMs: 40_000 });
    clearInterval(timer);
    expect(response).toMatchObject({ status: 200, body: '[]' });
  });

  it('restart the wait after every element', async () => {
    const ownSandbox = await startSandbox({ seed: 1 });
    const argument = { issuer: 'a', owner: 'a', currency: 'EUR', amount: '1.0', observers: [] };
    let requestCount = 0;
    const timer = setInterval(() => {
      if (requestCount < 4) ownSandbox.ledger.create('#model-tests:Iou:Iou', argument, ['a']);
      requestCount += 1;
    }, 200);
    const eventFormat = { filtersForAnyParty: {} };
    const includeTransactions = { eventFormat, transactionShape: 'TRANSACTION_SHAPE_ACS_DELTA' };
    const { body } = await requestJson(ownSandbox.url, path, {
      beginExclusive: 0,
      updateFormat: { includeTransactions },
    });
    clearInterval(timer);
    await ownSandbox.close();
    expect(JSON.parse(body ?? '')).toHaveLength(4);
  });

  it('never wait longer than the time limit of a request', async () => {
    const ownSandbox = await startSandbox({ seed: 1, limits: { requestTimeoutMs: 200 } });
    const response = await requestJson(
      ownSandbox.url,
      '/v2/updates?stream_idle_timeout_ms=999999999999',
      streamRequest,
    );
    await ownSandbox.close();
    expect(response.status).toBe(503);
  });
});
