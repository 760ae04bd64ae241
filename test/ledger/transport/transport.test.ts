/** Tests the transport over real connections: the sent bytes, the read responses, and a timeout for every wait. */
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { buffer as body, text as bodyText } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import type { IndexerError } from '../../../src/errors/indexer-error.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { createTransport, type Transport } from '../../../src/ledger/transport/transport.ts';
import { collect } from '../../support/all.ts';
import { startFakeLedger, type FakeLedger } from '../fake-ledger.ts';

let ledger: FakeLedger | undefined;
afterEach(async () => {
  await ledger?.stop();
  ledger = undefined;
});

type RequestHandler = (...exchange: Parameters<RequestListener>) => void | Promise<void>;

async function transportTo(handler: RequestHandler, requestTimeoutMs = 5000, signal?: AbortSignal): Promise<Transport> {
  ledger = await startFakeLedger({ http: (request, response) => void handler(request, response) });
  const tokenSource = createTokenSource({ token: 'abc' });
  return createTransport({ url: `${ledger.url}/prefix`, tokenSource, insecure: false, requestTimeoutMs, signal });
}

const list = ['POST', '/v2/updates', {}] as const;

describe('transport request', () => {
  it('sends method, query, token and JSON body to a path below the prefix', async () => {
    const seenRequests: unknown[] = [];
    const transport = await transportTo(async (request, response) => {
      const { method, url, headers } = request;
      const { accept, authorization, 'content-type': type } = headers;
      seenRequests.push({ method, url, accept, authorization, type, body: await bodyText(request) });
      response.end('{"ä":1}');
    });
    const query = { party: 'Alice::12 20', limit: 3, vetAllPackages: false, parties: ['a', 'b'], absent: undefined };
    expect(await transport.request('PATCH', '/v2/x', { text: 'ü' }, query)).toEqual({ ä: 1 });
    expect(seenRequests).toEqual([
      {
        method: 'PATCH',
        url: '/prefix/v2/x?party=Alice%3A%3A12+20&limit=3&vetAllPackages=false&parties=a&parties=b',
        accept: 'application/json',
        authorization: 'Bearer abc',
        type: 'application/json',
        body: '{"text":"ü"}',
      },
    ]);
  });

  it('sends bytes unchanged, and returns the bytes and headers of the response', async () => {
    const dar = Buffer.from([0, 255, 10, 13, 128]).subarray(1);
    const transport = await transportTo(async (request, response) => {
      response.writeHead(200, { 'Canton-Package-Hash': 'f00', 'x-type': request.headers['content-type'] ?? '' });
      response.end(await body(request));
    });
    const { bytes, headers } = await transport.requestBytes('POST', '/v2/dars', dar);
    expect(bytes).toEqual(dar);
    expect(headers).toMatchObject({ 'canton-package-hash': 'f00', 'x-type': 'application/octet-stream' });
  });

  it('accepts a byte order mark before an object and before a list', async () => {
    const transport = await transportTo((request, response) => {
      response.end(`\uFEFF${request.method === 'GET' ? '{"a":"\uFEFF"}' : '[1,2]'}`);
    });
    expect(await transport.request('GET', '/v2/x')).toEqual({ a: '\uFEFF' });
    expect(await collect(transport.requestElements(...list))).toEqual(['1', '2']);
  });

  it('accepts an empty response as text, but not as JSON', async () => {
    const transport = await transportTo((_request, response) => void response.end());
    expect(await transport.requestText('GET', '/livez')).toBe('');
    await expect(transport.request('GET', '/livez')).rejects.toMatchObject({ code: 'LEDGER_NOT_A_LEDGER' });
  });

  it('fails at once after an abort, even if the request has not started', async () => {
    const abort = new AbortController();
    const transport = await transportTo(() => abort.abort(), 5000, abort.signal);
    await expect(transport.request('GET', '/v2/version')).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' });
    await expect(transport.request('GET', '/v2/version')).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' });
    await expect(collect(transport.requestElements(...list))).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' });
  });
});

describe('transport rejection', () => {
  it.each([
    ['a number of seconds', 429, { 'retry-after': '120' }, 120],
    [
      'a date by the clock of the sender',
      503,
      { date: new Date(0).toUTCString(), 'retry-after': new Date(90_000).toUTCString() },
      90,
    ],
    ['a date in the past', 503, { date: new Date(9_000).toUTCString(), 'retry-after': new Date(0).toUTCString() }, 0],
    ['neither a number nor a date', 503, { 'retry-after': 'soon' }, undefined],
    ['a negative number', 503, { 'retry-after': '-5' }, undefined],
    ['a number of seconds with status 401', 401, { 'retry-after': '120' }, undefined],
  ])(
    'reports Retry-After only if it is valid and the status permits it: %s',
    async (_what, status, headers, seconds) => {
      const transport = await transportTo((_request, response) => void response.writeHead(status, headers).end());
      for (const ask of [() => transport.request('GET', '/v2/x'), () => collect(transport.requestElements(...list))]) {
        const error = (await ask().catch((thrown: unknown) => thrown)) as IndexerError;
        expect(error.facts['retryAfterSeconds']).toBe(seconds);
      }
    },
  );
});

describe('requestElements()', () => {
  it('returns each element while the ledger is still sending the list', async () => {
    const written: ServerResponse[] = [];
    const transport = await transportTo((_request, response) => {
      response.write('[{"n":1},{"n"');
      written.push(response);
    });
    const elements = transport.requestElements(...list)[Symbol.asyncIterator]();
    expect(await elements.next()).toEqual({ done: false, value: '{"n":1}' });
    written[0]?.end(':2}]');
    expect(await elements.next()).toEqual({ done: false, value: '{"n":2}' });
    expect(await elements.next()).toEqual({ done: true, value: undefined });
  });

  it('sends no request before the first read', async () => {
    let requests = 0;
    const transport = await transportTo((_request, response) => {
      requests += 1;
      response.end('[]');
    });
    const elements = transport.requestElements(...list);
    await transport.requestText('GET', '/livez').catch(() => undefined);
    expect(requests).toBe(1);
    expect(await collect(elements)).toEqual([]);
    expect(requests).toBe(2);
  });

  it('applies backpressure during a pause that is longer than the timeout, then continues', async () => {
    const element = `"${'x'.repeat(100_000)}"`;
    let written = 0;
    const transport = await transportTo(async (_request, response) => {
      response.write('[');
      for (; written < 300; written += 1) {
        if (!response.write(`${element},`)) await once(response, 'drain');
      }
      response.end('1]');
    }, 2_000);
    const elements = transport.requestElements(...list)[Symbol.asyncIterator]();
    await elements.next();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(written).toBeLessThan(250);
    let count = 1;
    while ((await elements.next()).done !== true) count += 1;
    expect(count).toBe(301);
  });

  it('times out if the ledger sends nothing or stops in the middle of the list', async () => {
    const transport = await transportTo((request, response) => {
      if (request.url?.endsWith('silent') !== true) response.write('[1,2');
    }, 80);
    const silent = { code: 'LEDGER_UNREACHABLE', message: expect.stringMatching(/did not respond within 80 ms/u) };
    await expect(collect(transport.requestElements('POST', '/silent'))).rejects.toMatchObject(silent);
    await expect(collect(transport.requestElements(...list))).rejects.toMatchObject(silent);
  });

  it('closes the connection when the consumer stops early', async () => {
    const transport = await transportTo((_request, response) => void response.write('[1,2,3,'));
    for await (const element of transport.requestElements(...list)) {
      expect(element).toBe('1');
      break;
    }
    const [socket] = ledger?.connections ?? [];
    if (socket?.destroyed === false) await once(socket, 'close');
    expect(socket?.destroyed).toBe(true);
  });

  it('keeps the connection open for the next request after a complete read', async () => {
    const transport = await transportTo((_request, response) => void response.end('[1]'));
    expect(await collect(transport.requestElements(...list))).toEqual(['1']);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await collect(transport.requestElements(...list))).toEqual(['1']);
    expect(ledger?.connections).toHaveLength(1);
  });

  it.each([
    [413, '{"code":"JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED","cause":"x"}', 'LEDGER_REQUEST_INVALID'],
    [302, '[1]', 'LEDGER_NOT_A_LEDGER'],
    [200, '{"code":"x"}', 'LEDGER_NOT_A_LEDGER'],
    [200, '[1', 'LEDGER_UNDECODABLE'],
    [200, '[1]]', 'LEDGER_UNDECODABLE'],
  ])('rejects a response with HTTP %d and the body %s', async (status, body, code) => {
    const transport = await transportTo((_request, response) => {
      response.writeHead(status, { location: '/elsewhere' }).end(body);
    });
    await expect(collect(transport.requestElements(...list))).rejects.toMatchObject({ code });
    expect(ledger?.connections).toHaveLength(1);
  });

  it('fails if the connection is interrupted', async () => {
    const transport = await transportTo((_request, response) => {
      response.write('[1,2]');
      setTimeout(() => response.destroy(), 20);
    });
    await expect(collect(transport.requestElements(...list))).rejects.toMatchObject({ code: 'LEDGER_UNREACHABLE' });
  });
});
