import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { configCommand } from '../../src/cli/command-line/config.ts';
import { parse } from '../../src/cli/command-line/parse.ts';
import { configMarkdown, describeConfig, frameLimitFor, loadConfig, memoryOfProcess } from '../../src/config/config.ts';
import type { OptionFlags } from '../../src/config/option-sources.ts';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { optionList } from '../../src/config/option-table.ts';
import { runCommand } from '../support/run-command.ts';

/** Parses the flags as every command does. */
function flags(...argv: readonly string[]): OptionFlags {
  return parse({ name: 'run', operands: [], flags: [] }, argv).options;
}

function refusal(env: NodeJS.ProcessEnv, ...argv: readonly string[]): IndexerError {
  try {
    loadConfig(env, flags(...argv));
  } catch (error) {
    if (error instanceof IndexerError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

function withFile<T>(content: string, withPath: (path: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'config-'));
  try {
    const path = join(folder, 'secret');
    writeFileSync(path, content);
    return withPath(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('loadConfig()', () => {
  it('returns the defaults of all options for an empty configuration', () => {
    expect(loadConfig({})).toEqual({
      ledger: {
        url: undefined,
        token: undefined,
        tokenFile: undefined,
        oauth: undefined,
        tokenPlacement: 'both',
        parties: [],
        templates: [],
        wantedInterfaces: [],
        createdEventBlobs: false,
        shape: 'LEDGER_EFFECTS',
        maxFrameBytes: frameLimitFor(memoryOfProcess()),
        topology: true,
        caFile: undefined,
        certFile: undefined,
        keyFile: undefined,
        insecure: false,
      },
      database: { url: undefined, schema: 'ledger', migrate: 'auto', statementTimeoutMs: 60_000 },
      indexer: {
        httpHost: '127.0.0.1',
        httpAllowedHosts: [],
        httpPort: 7580,
        corsOrigins: [],
        api: false,
        changesMaxClients: 1000,
        queryPage: true,
        queryPageUrl: undefined,
        queryPageUrlFile: undefined,
        batchUpdates: 1000,
        batchBytes: 8 * 1024 * 1024,
        bufferUpdates: 1000,
        bufferBytes: 8 * 1024 * 1024,
        writeConcurrency: 2,
        quarantine: false,
        unknownUpdates: 'auto',
        completions: 'auto',
        projections: 'all',
        notify: true,
        logLevel: 'info',
        logFormat: 'auto',
        stalledAfterMs: 300_000,
        ledgerTimeoutMs: 10_000,
        leaseMs: 10_000,
        stopTimeoutMs: 10_000,
        pingIntervalMs: 15_000,
        idleProbeAfterMs: 1_000,
        start: 'seed',
        retentionMs: undefined,
        retentionIntervalMs: 600_000,
        webhookNetworks: 'public',
        webhookAttempts: 14,
        retryMaxDelayMs: 30_000,
        progressTimeoutMs: 600_000,
        dataDir: '.ledger-indexer',
        demoUpdatesPerSecond: 5,
        demoSpeed: 1,
        demoMaxUpdates: undefined,
        demoChaos: false,
        demoSeed: 1,
      },
    });
  });

  it('prefers flags, then secret files, then the environment, then defaults', () => {
    withFile('postgres://file/db\n', (path) => {
      const env = { DATABASE_URL: 'postgres://environment/db', DATABASE_URL_FILE: path };
      expect(loadConfig(env, flags('--database-url', 'postgres://flag/db')).database.url).toBe('postgres://flag/db');
      expect(loadConfig(env).database.url).toBe('postgres://file/db');
      expect(loadConfig({ DATABASE_URL: env.DATABASE_URL }).database.url).toBe('postgres://environment/db');
    });
  });

  it('rejects an address flag with a password, without printing the password', () => {
    for (const url of [
      'postgres://me:hunter2@db/x',
      'postgres://db/x?user=me&password=hunter2',
      'postgres://:hunter2@db',
    ]) {
      const configRefusal = refusal({}, '--database-url', url, '--http-port', '0').message;
      expect(configRefusal).toContain('--database-url: expected in DATABASE_URL or DATABASE_URL_FILE');
      expect(configRefusal).not.toContain('hunter2');
      expect(refusal({}, `--query-page-database-url=${url}`).message).toContain('INDEXER_QUERY_PAGE_DATABASE_URL_FILE');
    }
    const allowedConfig = flags('--database-url', 'postgres://me@db:5432/x?sslmode=require');
    expect(loadConfig({}, allowedConfig).database.url).toContain('me@db');
  });

  it('keeps the path of the token file, and ignores LEDGER_TOKEN', () => {
    const { ledger } = loadConfig({ LEDGER_TOKEN: 'abc', LEDGER_TOKEN_FILE: '/nowhere/token' });
    expect(ledger).toMatchObject({ token: undefined, tokenFile: '/nowhere/token' });
  });

  it('parses durations, sizes, lists, offsets and booleans', () => {
    const config = loadConfig(
      { LEDGER_URL: 'https://node.example/api/json/', LEDGER_INTERFACES: '#pkg-v1:Some.Module:Holding,' },
      flags(
        '--stalled-after=500ms',
        '--retry-max-delay',
        '1h',
        '--batch-bytes=64KiB',
        '--start',
        '42',
        '--no-ledger-topology',
        '--ledger-insecure',
        '--ledger-parties',
        'a::1, b::2',
        '--ledger-parties=c::3',
      ),
    );
    expect(config.indexer).toMatchObject({
      stalledAfterMs: 500,
      retryMaxDelayMs: 3_600_000,
      batchBytes: 65_536,
      start: 42,
    });
    expect(config.ledger).toMatchObject({ topology: false, insecure: true, parties: ['a::1', 'b::2', 'c::3'] });
    expect(config.ledger).toMatchObject({
      url: 'https://node.example/api/json',
      wantedInterfaces: ['#pkg-v1:Some.Module:Holding'],
    });
  });

  it('treats an empty variable as unset', () => {
    expect(loadConfig({ INDEXER_BATCH_UPDATES: '', DATABASE_URL: ' ' }).database.url).toBeUndefined();
  });

  it('reports all problems at once, with the names of their variables or flags', () => {
    const error = refusal(
      { INDEXER_BATCH_UPDATES: '1k', POSTGRES_SCHEMA: 'Ledger', INDEXER_STALLED_AFTER: '5' },
      '--http-port=70000',
      '--ledger-token=x',
    );
    expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID', exitCode: 78, retry: 'fatal' });
    const lines = error.message.split('\n').map((line) => line.trim());
    expect(lines).toContain('INDEXER_BATCH_UPDATES: expected an integer between 1 and 100000, got "1k"');
    expect(lines).toContain('--http-port: expected an integer between 0 and 65535, got "70000"');
    expect(lines.filter((line) => line.startsWith('--ledger-token: expected in LEDGER_TOKEN'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('expected'))).toHaveLength(5);
  });

  it.each([
    'LEDGER_PARTIES',
    'LEDGER_TEMPLATES',
    'LEDGER_INTERFACES',
    'INDEXER_HTTP_ALLOWED_HOSTS',
    'INDEXER_CORS_ORIGINS',
  ])('rejects %s if it contains only commas', (name) => {
    const problem = `${name}: expected at least one entry between the commas, or an empty value, got " , ": the variables`;
    expect(() => loadConfig({ [name]: ' , ' })).toThrow(problem.replace('" , "', '","'));
    expect(() => loadConfig({ [name]: '' })).not.toThrow();
  });

  it.each([
    ['INDEXER_LEDGER_URL', 'LEDGER_URL'],
    ['INDEXER_DATABASE_URL', 'DATABASE_URL'],
    ['LEDGER_INDEXER_START', 'INDEXER_START'],
  ])('rejects %s and suggests %s', (name, expectedName) => {
    expect(() => loadConfig({ [name]: 'x' })).toThrow(`${name}: no such variable; did you mean ${expectedName}?`);
  });

  it('suggests the nearest name for an unknown variable or flag', () => {
    expect(refusal({ INDEXER_BATCH_UPDATE: '5' }).message).toContain(
      'INDEXER_BATCH_UPDATE: no such variable; did you mean INDEXER_BATCH_UPDATES?',
    );
    expect(() => flags('--htp-port', '5')).toThrow('--htp-port: no such flag; did you mean --http-port?');
  });

  it('ignores variables of other programs and Kubernetes service variables', () => {
    const env = {
      POSTGRES_PASSWORD: 'x',
      LEDGER_DARS: '/dars',
      LEDGER_INDEXER_SERVICE_HOST: '10.0.0.1',
      LEDGER_INDEXER_SERVICE_PORT_HTTP: '7580',
      LEDGER_INDEXER_PORT: 'tcp://10.0.0.1:7580',
      LEDGER_INDEXER_PORT_7580_TCP_ADDR: '10.0.0.1',
    };
    expect(() => loadConfig(env)).not.toThrow();
  });

  it('ignores the variables that docker-compose.yml reads', () => {
    const compose = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
    const names = [...compose.matchAll(/\$\{((?:LEDGER|INDEXER)_[A-Z_]+)/g)].map(([, name = '']) => name);
    expect(names).toContain('INDEXER_PORT');
    const optional = names.filter((name) => !optionList.some(({ env }) => env === name));
    expect(() => loadConfig(Object.fromEntries(optional.map((name) => [name, '1'])))).not.toThrow();
  });

  it('rejects a package id in a template filter, with the reason', () => {
    const error = refusal({ LEDGER_TEMPLATES: `#fine:A:B,${'ab'.repeat(32)}:Main:T` });
    expect(error.message).toContain('a package id names one version only');
  });

  it('rejects a token flag and credentials in addresses, without printing secrets', () => {
    const error = refusal(
      { LEDGER_URL: 'https://me:hunter2@node', DATABASE_URL: 'mysql://me:hunter2@db' },
      '--ledger-token',
      'hunter2',
    );
    expect(error.facts).toEqual({ problems: 3 });
    expect(error.message).not.toContain('hunter2');
  });

  it('prints accepted and rejected addresses without their query strings', () => {
    const addresses = ['https://node/x?api_key=hunter2', 'https://me:hun#ter2@node', 'https://node/#hunter2'];
    const invalidUrls = [
      'node/?key=hunter2',
      '"https://node/?key=hunter2"',
      'me:hunter2@node',
      'me:hun#ter2@node:7575',
    ];
    for (const address of [...addresses, ...invalidUrls]) {
      const { message } = refusal({ LEDGER_URL: address });
      expect(message).toContain('LEDGER_URL');
      expect(message).not.toMatch(/hun|ter2/);
    }
    const rows = describeConfig({
      LEDGER_OAUTH_TOKEN_URL: 'https://id.example/token?api_key=hunter2',
      LEDGER_OAUTH_CLIENT_ID: 'indexer',
      LEDGER_OAUTH_CLIENT_SECRET: 'hunter2',
    });
    expect(rows.find((row) => row.env === 'LEDGER_OAUTH_TOKEN_URL')?.value).toBe('https://id.example/token?***');
  });

  it('accepts an OAuth client with a secret from the environment or a file', () => {
    withFile('hunter2\n', (path) => {
      const env = { LEDGER_OAUTH_ISSUER: 'https://id.example/realms/x/', LEDGER_OAUTH_CLIENT_ID: 'indexer' };
      const { oauth } = loadConfig({ ...env, LEDGER_OAUTH_CLIENT_SECRET_FILE: path }).ledger;
      expect(oauth).toMatchObject({
        issuer: 'https://id.example/realms/x/',
        clientId: 'indexer',
        clientSecret: 'hunter2',
      });
      expect(oauth).toMatchObject({ tokenUrl: undefined, audience: undefined, scope: 'daml_ledger_api' });
      const withoutScope = { ...env, LEDGER_OAUTH_CLIENT_SECRET_FILE: path, LEDGER_OAUTH_SCOPE: 'none' };
      expect(loadConfig(withoutScope).ledger.oauth?.scope).toBe('');
      const rows = describeConfig({ ...env, LEDGER_OAUTH_CLIENT_SECRET: 'hunter2' });
      expect(rows.find((row) => row.env === 'LEDGER_OAUTH_CLIENT_SECRET')?.value).toBe('[set]');
    });
  });

  it('accepts an OAuth client with a private key instead of a secret', () => {
    const client = { LEDGER_OAUTH_TOKEN_URL: 'https://id.example/token', LEDGER_OAUTH_CLIENT_ID: 'indexer' };
    const env = { ...client, LEDGER_OAUTH_CLIENT_KEY_FILE: '/run/secrets/key.pem', LEDGER_OAUTH_CLIENT_KEY_ID: 'k1' };
    expect(loadConfig(env).ledger.oauth).toMatchObject({
      clientSecret: undefined,
      clientKeyFile: '/run/secrets/key.pem',
      clientKeyId: 'k1',
    });
    const noClientRefusal = refusal(client);
    expect(noClientRefusal.facts).toEqual({ problems: 1 });
    expect(noClientRefusal.message).toContain(
      'LEDGER_OAUTH_CLIENT_SECRET: expected it, LEDGER_OAUTH_CLIENT_SECRET_FILE or LEDGER_OAUTH_CLIENT_KEY_FILE, got nothing',
    );
    const conflictMessage = 'LEDGER_OAUTH_CLIENT_KEY_FILE: cannot be combined with LEDGER_OAUTH_CLIENT_SECRET';
    expect(refusal({ ...env, LEDGER_OAUTH_CLIENT_SECRET: 'hunter2' }).message).toContain(`${conflictMessage};`);
    withFile('hunter2\n', (path) => {
      expect(refusal({ ...env, LEDGER_OAUTH_CLIENT_SECRET_FILE: path }).message).toContain(`${conflictMessage}_FILE;`);
    });
    const idOnly = refusal({ ...client, LEDGER_OAUTH_CLIENT_SECRET: 'hunter2', LEDGER_OAUTH_CLIENT_KEY_ID: 'k1' });
    expect(idOnly.facts).toEqual({ problems: 1 });
    expect(idOnly.message).toContain(
      'LEDGER_OAUTH_CLIENT_KEY_FILE: expected the key of LEDGER_OAUTH_CLIENT_KEY_ID, got nothing',
    );
  });

  it.each(['-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----', '{"kty":"OKP","d":"hunter2"}'])(
    'rejects a private key instead of its path, without printing the key: %s',
    (text) => {
      for (const name of ['LEDGER_OAUTH_CLIENT_KEY_FILE', 'LEDGER_KEY_FILE']) {
        const { message } = refusal({ [name]: text });
        expect(message).toContain(`${name}: expected the path of a file, not its content`);
        expect(message).not.toContain('hunter2');
      }
    },
  );

  it('reports all incomplete and conflicting OAuth and TLS options at once', () => {
    const error = refusal({
      LEDGER_TOKEN: 'abc',
      LEDGER_OAUTH_ISSUER: 'http://id.example',
      LEDGER_OAUTH_TOKEN_URL: 'https://id.example/token',
      LEDGER_OAUTH_CLIENT_ID: 'indexer',
      LEDGER_OAUTH_CLIENT_SECRET: 'hunter2',
      LEDGER_CERT_FILE: '/nowhere/cert.pem',
    });
    expect(error.facts).toEqual({ problems: 4 });
    expect(error.message).toContain('LEDGER_TOKEN: cannot be combined with LEDGER_OAUTH_CLIENT_ID');
    expect(error.message).toContain('LEDGER_OAUTH_TOKEN_URL: cannot be combined with LEDGER_OAUTH_ISSUER');
    expect(error.message).toContain(
      'LEDGER_OAUTH_ISSUER: expected https, because the client credentials are sent to id.example',
    );
    expect(error.message).toContain('LEDGER_KEY_FILE: expected the private key of LEDGER_CERT_FILE');
    expect(error.message).not.toContain('hunter2');
    const incomplete = refusal({ LEDGER_KEY_FILE: '/nowhere/key.pem' }, '--ledger-oauth-audience=x');
    expect(incomplete.facts).toEqual({ problems: 4 });
    expect(refusal({}, '--ledger-oauth-client-secret=hunter2').message).not.toContain('hunter2');
    const local = { LEDGER_OAUTH_CLIENT_ID: 'indexer', LEDGER_OAUTH_CLIENT_SECRET: 'hunter2' };
    expect(() => loadConfig({ ...local, LEDGER_OAUTH_TOKEN_URL: 'http://localhost:1/token' })).not.toThrow();
    const lanConfig = { ...local, LEDGER_OAUTH_TOKEN_URL: 'http://id.example/token' };
    expect(() => loadConfig(lanConfig, flags('--ledger-insecure'))).not.toThrow();
  });

  it('rejects a secret file that cannot be read, with its path', () => {
    expect(refusal({ DATABASE_URL_FILE: '/nowhere/url' }).message).toContain(
      'DATABASE_URL_FILE: expected a readable file, got "/nowhere/url" (ENOENT)',
    );
  });
});

describe('describeConfig()', () => {
  it('returns the origin of each value, and masks secrets', () => {
    const env = {
      DATABASE_URL: 'postgres://me:p@ss/word@db:5432/x?sslpassword=hunter2&application_name=a',
      LEDGER_TOKEN: 'hunter2',
    };
    const rows = new Map(describeConfig(env, flags('--http-port=0')).map((row) => [row.env, row]));
    expect(rows.get('DATABASE_URL')?.value).toBe('postgres://me:***@db:5432/x?sslpassword=***&application_name=a');
    expect(rows.get('LEDGER_TOKEN')).toMatchObject({ value: '[set]', origin: 'environment' });
    expect(rows.get('INDEXER_HTTP_PORT')).toMatchObject({ name: 'http-port', value: '0', origin: 'flag' });
    expect(rows.get('LEDGER_URL')).toMatchObject({ value: '(embedded sandbox)', origin: 'default' });
  });
});

describe('the option table', () => {
  it('has unique names, and a description of each option', () => {
    expect(new Set(optionList.map((option) => option.name)).size).toBe(optionList.length);
    const lines = configMarkdown().split('\n');
    expect(lines).toHaveLength(optionList.length + 2);
    for (const option of optionList) expect(lines.some((line) => line.startsWith(`| \`${option.env}\``))).toBe(true);
  });
});

describe('the command config', () => {
  it('prints an aligned table, JSON or Markdown', async () => {
    const run = async (...argv: string[]): Promise<string> => {
      const lines: string[] = [];
      await runCommand(configCommand, argv, { LEDGER_TOKEN: 'hunter2' }, { print: (line) => lines.push(line) });
      return lines.join('\n');
    };
    expect(await run()).toMatch(/^INDEXER_HTTP_PORT +7580 +default$/m);
    expect(JSON.parse(await run('--json', '--http-port=1'))).toContainEqual({
      name: 'http-port',
      env: 'INDEXER_HTTP_PORT',
      value: '1',
      origin: 'flag',
    });
    expect(await run('--markdown')).toContain('| `INDEXER_HTTP_PORT` | `--http-port` | `7580` |');
    expect((await run()) + (await run('--json'))).not.toContain('hunter2');
  });
});
