/**
 * Tests docs/deploy/graphql/readers.mjs without a server. It chooses the role that reads for a request, and rejects
 * requests.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';

interface Readers {
  readonly readerOf: (
    request: unknown,
    schemas: readonly string[],
  ) => Promise<{ readonly pgSettings: Readonly<Record<string, string>> }>;
}

async function readers(env: Readonly<Record<string, string>>): Promise<Readers> {
  vi.resetModules();
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const path = '../../docs/deploy/graphql/readers.mjs';
  return (await import(path)) as Readers;
}
const requestTo = (host: string) => ({ node: { req: { headers: { host } } } });
afterEach(() => vi.unstubAllEnvs());

describe('GraphQL server without tokens', () => {
  it('runs queries read-only and with a statement timeout', async () => {
    const { readerOf } = await readers({ GRAPHQL_STATEMENT_TIMEOUT: '3s' });
    expect(await readerOf(requestTo('127.0.0.1:5678'), ['explore', 'typed'])).toEqual({
      pgSettings: {
        search_path: '"explore", "typed", "ledger"',
        statement_timeout: '3s',
        transaction_read_only: 'on',
      },
    });
  });

  it.each(['localhost:5678', '[::1]:5678', '10.0.0.7', 'graphql:5678'])('accepts the host %s', async (host) => {
    const { readerOf } = await readers({ GRAPHQL_ALLOWED_HOSTS: 'graphql,other' });
    await expect(readerOf(requestTo(host), [])).resolves.toBeTruthy();
  });

  it.each(['rebound.example:5678', '', 'localhost.evil.example'])('rejects the host "%s"', async (host) => {
    const { readerOf } = await readers({ GRAPHQL_ALLOWED_HOSTS: 'graphql,other' });
    await expect(readerOf(requestTo(host), [])).rejects.toMatchObject({ statusCode: 421 });
  });
});

describe('GraphQL server with tokens', () => {
  it('refuses to start without an audience or with a weak secret', async () => {
    await expect(readers({ GRAPHQL_JWKS_URL: 'https://login.example/jwks' })).rejects.toThrow('GRAPHQL_JWT_AUDIENCE');
    vi.unstubAllEnvs();
    await expect(readers({ GRAPHQL_JWT_SECRET_FILE: '/dev/null' })).rejects.toThrow('32 characters');
  });
});
