/** The query page of an indexer with a Postgres: its responses, and which clients receive them. */
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { contract, startQueryWorld, type QueryWorld } from './query-world.ts';

let world: QueryWorld;
beforeAll(async () => {
  world = await startQueryWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

interface PageRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends a request like those of the page, with the given changes. Resolves to status and body. */
function sendRequest({
  method = 'POST',
  path = '/query',
  headers = {},
  body = '{"statement":"select 1 as n"}',
}: PageRequest = {}) {
  const ownHeaders = { 'content-type': 'application/json', origin: world.indexer.httpUrl };
  return new Promise<readonly [number | undefined, string]>((resolve, reject) => {
    const request = httpRequest(
      `${world.indexer.httpUrl}${path}`,
      { method, headers: { ...ownHeaders, ...headers } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve([response.statusCode, text]));
      },
    );
    request.on('error', reject);
    request.end(method === 'POST' ? body : undefined);
  });
}

describe('/query', () => {
  it('accepts the requests of its own page', async () => {
    const [status, text] = await sendRequest();
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ columns: [{ name: 'n', isNumber: true }], rows: [['1']], complete: true });
    const csv = await sendRequest({
      path: '/query/csv',
      body: `{"statement":"select 1 as n, '=1+1' as text, null as none, 'a;=1+1' as separated, ' =1' as blank, -5 as negative"}`,
    });
    const row = "1,'=1+1,,a;'=1+1,' =1,-5";
    expect(csv).toEqual([200, `n,text,none,separated,blank,negative\r\n${row}\r\n`]);
  });

  it.each([
    ['a form of another page', { 'content-type': 'text/plain' }],
    ['a form with the content type of forms', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['no origin', { origin: '' }],
    ['a page without an origin', { origin: 'null' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['another site, according to the browser', { 'sec-fetch-site': 'same-site' }],
    ['a name that resolves to this machine', { host: 'evil.example', origin: 'http://evil.example' }],
    ['an address outside of loopback', { host: '10.1.2.3', origin: 'http://10.1.2.3' }],
    ['a proxy', { 'x-forwarded-for': '10.1.2.3' }],
    ['another proxy', { forwarded: 'for=10.1.2.3' }],
    ['a gateway', { via: '1.1 gateway' }],
    ...['client-ip', 'x-azure-socketip', 'fly-client-ip', 'x-remote-addr', 'x-amzn-trace-id', 'cdn-loop'].map(
      (name): [string, Record<string, string>] => [`a proxy that adds ${name}`, { [name]: '10.1.2.3' }],
    ),
  ])('returns no rows to %s', async (_clientName, headers) => {
    const [status, text] = await sendRequest({ headers });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).not.toContain('rows');
  });

  it('returns a page without data to any client, and accepts statements only with POST', async () => {
    const [status, text] = await sendRequest({ method: 'GET', headers: { 'x-forwarded-for': '10.1.2.3' } });
    expect([status, text]).toEqual([200, (await sendRequest({ method: 'GET' }))[1]]);
    expect(text).not.toContain(contract);
    expect((await sendRequest({ method: 'GET', path: '/query/csv' }))[0]).toBe(405);
    expect((await sendRequest({ method: 'PUT' }))[0]).toBe(405);
    // A browser sends a preflight request for another origin first.
    expect((await sendRequest({ method: 'OPTIONS', headers: { origin: 'https://evil.example' } }))[0]).toBe(405);
  });

  it('rejects invalid input, and returns error messages of Postgres', async () => {
    expect((await sendRequest({ body: '[]' }))[0]).toBe(400);
    expect((await sendRequest({ body: '{"statement":1}' }))[0]).toBe(400);
    expect((await sendRequest({ path: '/query/nothing' }))[0]).toBe(404);
    expect((await sendRequest({ body: `{"statement":"${'x'.repeat(70_000)}"}` }))[0]).toBe(413);
    const [status, text] = await sendRequest({ body: '{"statement":"select owner from nowhere"}' });
    expect([status, JSON.parse(text)]).toMatchObject([
      400,
      { code: 'QUERY_REFUSED', error: expect.stringMatching(/line 1, column 19/) as unknown },
    ]);
    const [firstResponse, refusedResponse] = await sendRequest({
      path: '/query/csv',
      body: '{"statement":"select generate_series(1, 100001)"}',
    });
    expect([firstResponse, refusedResponse]).toEqual([413, expect.stringContaining('query \\"…\\" --csv')]);
  });

  it('returns 404 if the page is disabled', async () => {
    const env = { LEDGER_URL: world.sandbox.url, DATABASE_URL: world.database.url, INDEXER_QUERY_PAGE: 'false' };
    await using plainIndexer = await runIndexer(env);
    expect((await fetch(`${plainIndexer.httpUrl}/query`)).status).toBe(404);
  });
});

it.each(['/', '/query'])('the scripts of %s declare each function once', async (path) => {
  const document = await (await fetch(`${world.indexer.httpUrl}${path}`)).text();
  const names = [...document.matchAll(/^(?:async )?function (\w+)/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
