/** Options of the programs, token files, and the first checks of HTTP requests. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readHttpOptions, readIndexerOptions } from '../src/indexer/configuration.ts';
import { tokenOfFile } from '../src/indexer/token.ts';
import { refusalReason, tokenOfHeader } from '../src/server/http-checks.ts';

const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-mcp-options-'));
afterAll(() => rmSync(folder, { recursive: true }));

const token = `lir_${'T'.repeat(43)}`;

describe('the address of the indexer', () => {
  it.each([
    [undefined, 'http://127.0.0.1:7580'],
    ['http://localhost:7580/', 'http://localhost:7580'],
    ['http://[::1]:7580', 'http://[::1]:7580'],
    ['https://indexer.example/ledger/', 'https://indexer.example/ledger'],
  ])('%s is accepted', (text, baseUrl) => {
    expect(readIndexerOptions({ INDEXER_URL: text }).baseUrl).toBe(baseUrl);
  });

  it.each([
    'http://indexer.example',
    'http://127.evil.example',
    'http://127.0.0.1.evil.example',
    'ftp://127.0.0.1',
    'https://u:p@indexer.example',
    'https://indexer.example/?token=x',
    'https://indexer.example/#x',
    'indexer',
  ])('%s is refused', (text) => {
    expect(() => readIndexerOptions({ INDEXER_URL: text })).toThrow(/^INDEXER_URL /);
  });

  it('may be plain http on another machine only if INDEXER_INSECURE is set', () => {
    const env = { INDEXER_URL: 'http://indexer.example', INDEXER_INSECURE: 'true' };
    expect(readIndexerOptions(env).baseUrl).toBe('http://indexer.example');
    expect(() => readIndexerOptions({ ...env, INDEXER_INSECURE: '1' })).toThrow(/plain http/);
  });
});

it.each([
  [{ MCP_MAX_ANSWER_BYTES: '10' }, 'MCP_MAX_ANSWER_BYTES'],
  [{ MCP_HTTP_PORT: '7x' }, 'MCP_HTTP_PORT'],
  [{ MCP_ALLOWED_HOSTS: 'a b' }, 'MCP_ALLOWED_HOSTS'],
  [{ MCP_ALLOWED_ORIGINS: '*' }, 'MCP_ALLOWED_ORIGINS'],
])('%j is refused with its name', (env, name) => {
  expect(() => [readIndexerOptions(env), readHttpOptions(env)]).toThrow(name);
});

describe('token files', () => {
  it.each([
    ['a token', `${token}\n`, undefined],
    ['nothing', '', 'does not contain one token'],
    ['two lines', `${token}\n${token}`, 'does not contain one token'],
    ['control characters', `${token}\u0000`, 'does not contain one token'],
    ['another file', 'x'.repeat(100_000), 'does not contain one token'],
  ])('with %s', async (name, text, reason) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    const read = tokenOfFile(path)();
    if (reason === undefined) expect(await read).toBe(token);
    else await expect(read).rejects.toThrow(reason);
  });

  it('that are missing or not files are refused without waiting', async () => {
    await expect(tokenOfFile(join(folder, 'missing'))()).rejects.toThrow('ENOENT');
    await expect(tokenOfFile(folder)()).rejects.toThrow('cannot read');
    await expect(tokenOfFile('/dev/zero')()).rejects.toThrow('not a regular file');
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await expect(tokenOfFile(pipe)()).rejects.toThrow('not a regular file');
  });
});

describe('HTTP requests', () => {
  const options = readHttpOptions({ MCP_ALLOWED_HOSTS: 'MCP.example', MCP_ALLOWED_ORIGINS: 'https://app.example' });

  it.each([
    ['127.0.0.1:7590', undefined, undefined],
    ['[::1]:7590', undefined, undefined],
    ['10.0.0.7', undefined, undefined],
    ['localhost', undefined, undefined],
    ['mcp.example:443', 'https://app.example', undefined],
    ['', undefined, 421],
    ['evil.example', undefined, 421],
    ['mcp.example.evil.example', undefined, 421],
    ['localhost', 'null', 403],
    ['localhost', 'http://localhost', 403],
    ['localhost', 'https://app.example.evil.example', 403],
  ])('to host "%s" from origin %s', (host, origin, status) => {
    const headers = { host, ...(origin === undefined ? {} : { origin }) };
    expect(refusalReason({ url: '/mcp', headers }, options, token)?.status).toBe(status);
  });

  it.each([
    [`Bearer ${token}`, token],
    [`bearer  ${token} `, token],
    [`Bearer ${token} ${token}`, undefined],
    ['Bearer short', undefined],
    [`Bearer ${'x'.repeat(9_000)}`, undefined],
    [token, undefined],
    [undefined, undefined],
  ])('with Authorization "%s"', (header, expected) => {
    expect(tokenOfHeader(header)).toBe(expected);
  });
});
