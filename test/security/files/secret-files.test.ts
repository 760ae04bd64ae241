/**
 * Secret files that an operator configures. If a file is not a small regular file, the error contains its name and its
 * kind. The program does not wait for it or load it into memory.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { startProgram, type ProcessResult } from '../../cli/program.ts';

const address = 'postgres://127.0.0.1:9/ledger';
const kinds = {
  fifo: 'a pipe',
  folder: 'a folder',
  large: 'larger than 1 MiB',
  socket: 'a socket',
  device: 'a device',
} as const;
type Kind = keyof typeof kinds;

let folder: string;
let server: Server;
const file = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'secret-files-'));
  spawnSync('mkfifo', [file('fifo')]);
  mkdirSync(file('folder'));
  writeFileSync(file('large'), '');
  // The file is sparse. Its size is one gigabyte, but it uses no disk space.
  truncateSync(file('large'), 1024 ** 3);
  symlinkSync('/dev/zero', file('device'));
  server = createServer().listen(file('socket'));
  await new Promise((resolve) => server.once('listening', resolve));
  writeFileSync(file('url'), `${address}\n`);
  symlinkSync('url', file('link'));
  // Kubernetes mounts a secret behind two symbolic links.
  mkdirSync(file('..data'));
  writeFileSync(file('..data/mounted'), `${address}\n`);
  symlinkSync('..data/mounted', file('mounted'));
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const hangTimeoutMs = 20_000;

/** Runs the built program, because opening a pipe in the test process would block until the test run ends. */
async function run(argv: readonly string[], env: Readonly<Record<string, string>>): Promise<ProcessResult> {
  const runningProgram = startProgram(argv, env, folder);
  const timer = setTimeout(() => runningProgram.signal('SIGKILL'), hangTimeoutMs);
  try {
    return await runningProgram.ended;
  } finally {
    clearTimeout(timer);
  }
}

/** Options and URL parameters that name a file. */
const fileVariables = ['DATABASE_URL_FILE', 'INDEXER_QUERY_PAGE_DATABASE_URL_FILE', 'LEDGER_OAUTH_CLIENT_SECRET_FILE'];
const paths = [
  'LEDGER_TOKEN_FILE',
  'LEDGER_CA_FILE',
  'LEDGER_CERT_FILE',
  'LEDGER_KEY_FILE',
  'LEDGER_OAUTH_CLIENT_KEY_FILE',
  'LEDGER_OAUTH_CA_FILE',
];
const certificates = ['sslrootcert', 'sslcert', 'sslkey'];

describe.each(Object.keys(kinds) as readonly Kind[])('secret file of kind %s', (name) => {
  it('is reported for every file option in one error, with other problems', async () => {
    const env = Object.fromEntries([...fileVariables, ...paths].map((option) => [option, file(name)]));
    const { code, stderr } = await run(['config'], { ...env, INDEXER_HTTP_PORT: 'x' });
    expect(code).toBe(78);
    for (const option of fileVariables) {
      expect(stderr).toContain(
        `${option}: expected a regular file of at most 1 MiB, got "${file(name)}" (${kinds[name]})`,
      );
    }
    for (const option of paths) {
      expect(stderr).toContain(`${option}: expected a regular file of at most 1 MiB, not one that is ${kinds[name]}`);
    }
    expect(stderr).toContain('INDEXER_HTTP_PORT');
  });

  it.each(certificates)('is rejected as %s of a database URL', async (parameter) => {
    const fileParameter = `${parameter}=${file(name)}`;
    const url = `${address}?sslmode=verify-full&${fileParameter}`;
    const { code, stderr } = await run(['config'], { DATABASE_URL: url });
    expect(code).toBe(78);
    expect(stderr).toContain(`${fileParameter} is ${kinds[name]}`);
    // Database URLs from other sources, such as `rebuild --into`.
    const openSecretDatabase = () =>
      openDatabase({ url, schema: 'ledger', applicationName: 'test', statementTimeoutMs: 1_000 });
    expect(openSecretDatabase).toThrow(
      expect.objectContaining({
        code: 'STORE_URL_INVALID',
        message: expect.stringContaining(`${fileParameter} is ${kinds[name]}`) as string,
      }),
    );
  });

  it('is rejected by --password-file, --into-file and --url-file', async () => {
    const env = { DATABASE_URL: address };
    const calls = [
      ['grant-reader', 'people', '--password-file', file(name)],
      ['rebuild', '--into-file', file(name)],
      ['webhook', 'add', 'w', '--role', 'people', '--url-file', file(name)],
    ];
    for (const argv of calls) {
      const { code, stderr } = await run(argv, env);
      expect(stderr, argv.join(' ')).toContain(kinds[name]);
      expect(code, argv.join(' ')).toBe(2);
    }
  });
});

it('a secret file behind the symbolic links of Kubernetes is read', () => {
  for (const name of ['url', 'link', 'mounted']) {
    expect(loadConfig({ DATABASE_URL_FILE: file(name) }).database.url).toBe(address);
  }
});

it('grant-roles rejects a password file that is a pipe', async () => {
  const passwords = mkdtempSync(join(folder, 'passwords-'));
  spawnSync('mkfifo', [join(passwords, 'writer')]);
  const { code, stderr } = await run(['grant-roles', '--password-dir', passwords], { DATABASE_URL: address });
  expect(stderr).toContain(`${join(passwords, 'writer')} cannot be read: a pipe`);
  expect(code).toBe(2);
});
