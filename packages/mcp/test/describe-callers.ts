/** Tests of callers: which tokens are used, what the HTTP server accepts, and which configurations are refused. */
import { writeFileSync } from 'node:fs';
import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { McpSetup } from './setup.ts';
import { called, refused, type McpReader, type McpWorld } from './world.ts';

export function describeCallers(setup: () => McpSetup): void {
  describe('tokens', () => {
    it('are read from the file for each request', async () => {
      const [one, two] = setup().readers;
      const path = `${one.tokenFile}.rotated`;
      writeFileSync(path, one.token);
      const client = await setup().world.overStdio({ tokenFile: path });
      const statement = 'select count(*) from explore.contracts';
      for (const { token, role } of [one, two]) {
        writeFileSync(path, token);
        expect((await called(client, 'query', { statement })).data['rows']).toEqual(
          await setup().world.sql(role, statement),
        );
      }
      writeFileSync(path, 'not a token');
      expect(await refused(client, 'query', { statement })).toMatchObject({ code: 'CONFIGURATION_INVALID' });
      writeFileSync(path, `lir_${'A'.repeat(43)}`);
      expect(await refused(client, 'query', { statement })).toMatchObject({ status: 401 });
    });

    it('of an HTTP caller are needed, and are used only for its requests', async () => {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      for (const authorization of ['', 'Bearer short', 'Basic YTpi']) {
        const response = await fetch(setup().address, { method: 'POST', headers: { ...headers, authorization }, body });
        expect(response.status).toBe(401);
        expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
      }
      const unknown = await setup().world.overHttp(setup().address, `lir_${'B'.repeat(43)}`);
      expect(await refused(unknown, 'balances', {})).toMatchObject({ code: 'UNAUTHENTICATED' });
      expect(await refused(unknown, 'query', { statement: 'select 1' })).toMatchObject({ status: 401 });
      const statement = 'select count(*) from explore.contracts';
      const calls = Array.from(
        { length: 12 },
        (_, index) => setup().clients[index % setup().clients.length] ?? setup().first,
      );
      for (let index = 0; index < calls.length; index += 3) {
        await Promise.all(
          calls.slice(index, index + 3).map(async ([{ role }, client]) => {
            expect((await called(client, 'query', { statement })).data['rows']).toEqual(
              await setup().world.sql(role, statement),
            );
          }),
        );
      }
    });

    it('are sent to no other address', async () => {
      const seen: IncomingHttpHeaders[] = [];
      const elsewhere = createServer(({ headers }, response) => {
        seen.push(headers);
        response.end('{}');
      });
      const redirecting = createServer((_request, response) => {
        const { port } = elsewhere.address() as AddressInfo;
        response.writeHead(302, { location: `http://127.0.0.1:${String(port)}/` }).end();
      });
      for (const server of [elsewhere, redirecting])
        await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      const url = `http://127.0.0.1:${String((redirecting.address() as AddressInfo).port)}`;
      const client = await setup().world.overStdio(setup().first[0], { INDEXER_URL: url });
      expect(await refused(client, 'query', { statement: 'select 1' })).toMatchObject({ code: 'INDEXER_REDIRECTS' });
      expect(seen).toEqual([]);
      for (const server of [elsewhere, redirecting]) server.close();
    });

    it('that a wrong address returns do not reach the agent', async () => {
      const echo = createServer(({ headers }, response) => {
        response.writeHead(403, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: `refused: ${headers.authorization ?? ''}` }));
      });
      await new Promise<void>((done) => echo.listen(0, '127.0.0.1', done));
      const [reader] = setup().first;
      const url = `http://127.0.0.1:${String((echo.address() as AddressInfo).port)}`;
      const client = await setup().world.overStdio(reader, { INDEXER_URL: url });
      const error = await refused(client, 'query', { statement: 'select 1' });
      expect(error).toMatchObject({ message: 'refused: Bearer [token]' });
      echo.close();
    });

    it('are never printed', () => {
      expect(setup().world.printed.join('')).toContain('listening');
      for (const { token } of setup().readers) expect(setup().world.printed.join('')).not.toContain(token);
    });
  });

  describe('the HTTP server', () => {
    const reader = (): McpReader => setup().readers[0];

    it.each([
      [421, { host: 'evil.example' }],
      [403, { origin: 'https://evil.example' }],
      [403, { origin: 'http://127.0.0.1:3000' }],
      [200, { host: 'localhost' }],
    ])('returns %i to %j', async (status, headers) => {
      const { token } = reader();
      const { port } = new URL(setup().address);
      const answer = await post(Number(port), { authorization: `Bearer ${token}`, ...headers });
      expect(answer).toBe(status);
    });

    it('accepts named hosts and origins', async () => {
      const own = await setup().world.serveHttp({
        MCP_ALLOWED_HOSTS: 'mcp.example',
        MCP_ALLOWED_ORIGINS: 'https://app.example',
      });
      const authorization = `Bearer ${reader().token}`;
      const port = Number(new URL(own).port);
      expect(await post(port, { authorization, host: 'mcp.example:443', origin: 'https://app.example' })).toBe(200);
    });

    it('refuses other paths and large bodies', async () => {
      const authorization = `Bearer ${reader().token}`;
      expect((await fetch(new URL('/', setup().address), { headers: { authorization } })).status).toBe(404);
      const headers = {
        authorization,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      };
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: { _meta: { x: 'x'.repeat(300_000) } },
      });
      expect((await fetch(setup().address, { method: 'POST', headers, body })).status).toBe(413);
    });
  });

  describe('a wrong configuration', () => {
    it.each([
      ['stdio', {}, 'INDEXER_TOKEN_FILE is not set'],
      ['stdio', { INDEXER_TOKEN_FILE: 't', INDEXER_URL: 'http://indexer.example' }, 'plain http'],
      ['stdio', { INDEXER_TOKEN_FILE: 't', INDEXER_URL: 'https://user:pass@indexer.example' }, 'without user'],
      ['http', { INDEXER_TOKEN_FILE: 't' }, 'each caller sends its own token'],
      ['http', { MCP_HTTP_PORT: '99999' }, 'MCP_HTTP_PORT'],
    ] as const)('of %s %j ends with a remedy', async (name, env, reason) => {
      const { code, stderr } = await ended(setup().world, name, env);
      expect(code).toBe(78);
      expect(stderr).toContain(reason);
      expect(stderr).toContain('what to do:');
      expect(stderr).not.toContain('user:pass');
    });

    it('with a token as an argument does not print it', async () => {
      const { code, stderr } = await ended(setup().world, 'stdio', {}, '--token', 'lir_secret');
      expect(code).toBe(2);
      expect(stderr).not.toContain('lir_secret');
    });
  });
}

function ended(
  world: McpWorld,
  name: 'stdio' | 'http',
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const child = world.program(name, env, ...args);
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stderr })));
}

/** Sends `tools/list` with these headers, which may have another host name. @returns the status */
function post(port: number, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const media = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const sent = request(
      { port, host: '127.0.0.1', path: '/mcp', method: 'POST', headers: { ...media, ...headers } },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.once('error', reject);
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));
  });
}
