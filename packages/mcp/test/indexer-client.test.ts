/** Requests to servers that are not, or not only, an indexer. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { ApiDescription } from '../src/indexer/api-description.ts';
import { IndexerClient } from '../src/indexer/indexer-client.ts';
import { McpError, type Failure } from '../src/indexer/mcp-error.ts';

const token = `lir_${'T'.repeat(43)}`;

/** Runs a server that responds like this for the duration of the use. */
async function withServer<T>(listener: RequestListener, use: (client: IndexerClient) => Promise<T>): Promise<T> {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  try {
    return await use(new IndexerClient(`http://127.0.0.1:${String(port)}`, () => Promise.resolve(token)));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function failureOf(request: Promise<unknown>): Promise<Failure> {
  try {
    await request;
  } catch (thrown) {
    if (thrown instanceof McpError) return thrown.failure;
    throw thrown;
  }
  throw new Error('the request succeeded');
}

it('encodes parameters and sends the token in a header', async () => {
  const seen: unknown[] = [];
  const listener: RequestListener = ({ url, headers: { authorization } }, response) => {
    seen.push([url, authorization]);
    response.end('{"rows": []}');
  };
  await withServer(listener, (client) => client.get('/api/contracts', { where: `a = 'x&y=1#'`, limit: 5 }));
  expect(seen).toEqual([['/api/contracts?where=a+%3D+%27x%26y%3D1%23%27&limit=5', `Bearer ${token}`]]);
});

it('removes the token from responses', async () => {
  const listener: RequestListener = ({ headers: { authorization } }, response) =>
    response.end(JSON.stringify({ rows: [authorization] }));
  expect(await withServer(listener, (client) => client.get('/api/x'))).toEqual({ rows: ['Bearer [token]'] });
});

it.each([
  ['text', 200, 'hello', 'INDEXER_RESPONSE_INVALID'],
  ['a list', 200, '[]', 'INDEXER_RESPONSE_INVALID'],
  ['a redirect', 307, '{}', 'INDEXER_REDIRECTS'],
  ['a status without a code', 418, '{"error": "no"}', 'HTTP_418'],
  ['a problem', 404, '{"code": "NAME_UNKNOWN", "detail": "no", "nearest": ["a"]}', 'NAME_UNKNOWN'],
])('fails after %s', async (_, status, body, code) => {
  const failure = await withServer(
    (_request, response) => response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(body),
    (client) => failureOf(client.get('/api/x')),
  );
  expect(failure).toMatchObject({ code, remedy: expect.any(String) as string });
});

it('sends no token to another host that a path of the description names', async () => {
  const seen: unknown[] = [];
  const other = createServer(({ headers: { authorization } }, response) => {
    seen.push(authorization);
    response.end('{}');
  });
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
  const { port } = other.address() as AddressInfo;
  // As https://indexer.example and .other.example/api would be another host.
  const client = new IndexerClient('http://127.0.0', () => Promise.resolve(token));
  const failure = await failureOf(client.get(`.1:${String(port)}/api/x`)).finally(() => other.close());
  expect([failure.code, seen]).toEqual(['INDEXER_RESPONSE_INVALID', []]);
});

it('ends a response without an end at its limit', async () => {
  const listener: RequestListener = (_request, response) => {
    const block = Buffer.alloc(1024 * 1024, ' ');
    const write = (): void => {
      while (response.write(block));
      response.once('drain', write);
    };
    write();
  };
  const failure = await withServer(listener, (client) => failureOf(client.get('/api/x')));
  expect(failure.message).toMatch(/more than \d+ bytes/);
});

it('ends a request that the agent cancels', async () => {
  const stop = new AbortController();
  const listener: RequestListener = () => stop.abort();
  const failure = await withServer(listener, (client) => failureOf(client.get('/api/x', {}, stop.signal)));
  expect(failure).toMatchObject({ code: 'INDEXER_UNREACHABLE', message: expect.not.stringContaining(token) as string });
});

it('names the option if the indexer does not serve /api', async () => {
  const listener: RequestListener = (_request, response) => response.writeHead(404).end('{"error": "not found"}');
  const failure = await withServer(listener, (client) => failureOf(new ApiDescription().operation(client, 'balances')));
  expect(failure).toMatchObject({
    code: 'API_DISABLED',
    remedy: expect.stringContaining('INDEXER_API=true') as string,
  });
});

it('names the address of a server that does not respond', async () => {
  const client = new IndexerClient('http://127.0.0.1:1', () => Promise.resolve(token));
  expect((await failureOf(client.get('/api/x'))).message).toMatch(/^cannot request http:\/\/127\.0\.0\.1:1: /);
});
