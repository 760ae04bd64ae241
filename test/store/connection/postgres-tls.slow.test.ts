/**
 * Postgres over TLS with `sslmode=verify-full`: only the configured authority and a host name in the certificate are
 * accepted.
 */
import { chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../../packages/embedded-postgres/src/embedded-postgres.ts';
import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../../packages/ledger-sandbox/src/demo/traffic.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';

const certificates = join(import.meta.dirname, '../../support/certificates');
const file = (name: string): string => join(certificates, name);

let folder: string;
let server: EmbeddedPostgres;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postgres-tls-'));
  for (const name of ['server.pem', 'server-key.pem', 'ca.pem']) await copyFile(file(name), join(folder, name));
  // Only encrypted connections are accepted. Role `certified` also needs a client certificate.
  const access = ['hostssl all certified all scram-sha-256 clientcert=verify-ca', 'hostssl all all all scram-sha-256'];
  await writeFile(join(folder, 'pg_hba.conf'), `${access.join('\n')}\n`);
  for (const name of ['server-key.pem', 'pg_hba.conf']) await chmodPrivate(join(folder, name));
  server = await startEmbeddedPostgres({
    dataDir: folder,
    settings: {
      ssl: 'on',
      ssl_cert_file: '../server.pem',
      ssl_key_file: '../server-key.pem',
      ssl_ca_file: '../ca.pem',
      hba_file: '../pg_hba.conf',
      ssl_min_protocol_version: 'TLSv1.2',
      // The certificate contains 127.0.0.1 and localhost, but not the second address.
      listen_addresses: '127.0.0.1,127.0.0.2',
    },
  });
  await select(`create role certified login password 'certified'`, urlWith({}));
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const chmodPrivate = (path: string): Promise<void> => chmod(path, 0o600);

/** The URL of the server, with the given host, role and parameters. */
function urlWith(parameters: Readonly<Record<string, string>>, host = '127.0.0.1', role?: string): string {
  const url = new URL(server.url);
  url.hostname = host;
  if (role !== undefined) [url.username, url.password] = [role, role];
  const tlsParameters = { sslmode: 'verify-full', sslrootcert: file('ca.pem'), ...parameters };
  for (const [name, value] of Object.entries(tlsParameters)) if (value !== '') url.searchParams.set(name, value);
  return url.href;
}

async function select(statement: string, url: string): Promise<readonly Record<string, unknown>[]> {
  const database = openDatabase({ url, schema: 'public', statementTimeoutMs: 5_000, applicationName: 'tls' });
  try {
    return (await database.withClient((client) => client.query<Record<string, unknown>>(statement))).rows;
  } finally {
    await database.close();
  }
}

const encrypted = 'select ssl, version from pg_stat_ssl where pid = pg_backend_pid()';

describe('connection with sslmode=verify-full', () => {
  it.each(['127.0.0.1', 'localhost'])('is encrypted if the certificate contains the host %s', async (host) => {
    expect(await select(encrypted, urlWith({}, host))).toEqual([
      { ssl: true, version: expect.stringMatching(/^TLSv1\.[23]$/) as unknown },
    ]);
  });

  it('is rejected if the certificate is for another host', async () => {
    const refused = await failure(urlWith({}, '127.0.0.2'));
    expect(refused).toMatchObject({ code: 'STORE_TLS_REFUSED', retry: 'park', exitCode: 78 });
    expect(refused.message).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(refused.remedy).toContain('a name that the certificate of the server has');
  });

  it('is rejected if the certificate authority is not trusted', async () => {
    const untrustedAuthority = await failure(urlWith({ sslrootcert: file('client.pem') }));
    expect(untrustedAuthority).toMatchObject({ code: 'STORE_TLS_REFUSED', retry: 'park' });
    const unknown = await failure(urlWith({ sslrootcert: '' }));
    expect(unknown).toMatchObject({ code: 'STORE_TLS_REFUSED', retry: 'park' });
    expect(unknown.remedy).toContain('sslrootcert=FILE');
    // libpq reads this value as a keyword instead of a file name.
    expect(await failure(urlWith({ sslrootcert: 'system' }))).toMatchObject({ code: 'STORE_TLS_REFUSED' });
    for (const { message, remedy = '' } of [untrustedAuthority, unknown]) {
      expect(`${message} ${remedy}`).not.toContain(new URL(server.url).password);
    }
  });

  it('is rejected if the CA file is missing or damaged', async () => {
    const missing = await failure(urlWith({ sslrootcert: '/nowhere/ca.pem' }));
    expect(missing).toMatchObject({ code: 'STORE_URL_INVALID', retry: 'fatal' });
    expect(missing.message).toBe(
      'the database URL names a certificate file that cannot be read: /nowhere/ca.pem (ENOENT)',
    );
    const damaged = join(folder, 'damaged.pem');
    await writeFile(damaged, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    expect(await failure(urlWith({ sslrootcert: damaged }))).toMatchObject({ retry: expect.anything() as unknown });
  });

  it('sends the client certificate if the server requests one', async () => {
    const clientCertificate = { sslcert: file('client.pem'), sslkey: file('client-key.pem') };
    expect(await select(encrypted, urlWith(clientCertificate, '127.0.0.1', 'certified'))).toMatchObject([
      { ssl: true },
    ]);
    const none = await failure(urlWith({}, '127.0.0.1', 'certified'));
    expect(none).toMatchObject({ code: 'STORE_LOGIN_REFUSED', retry: 'park' });
  });
});

it('Postgres that requires TLS rejects sslmode=disable, and the error has a remedy', async () => {
  const plain = await failure(urlWith({ sslmode: 'disable', sslrootcert: '' }));
  expect(plain).toMatchObject({ code: 'STORE_LOGIN_REFUSED', retry: 'park', exitCode: 77 });
  expect(plain.remedy).toContain('sslmode=verify-full');
});

it('connection to a server without TLS is rejected if the URL requires TLS', async () => {
  const url = new URL(process.env['TEST_POSTGRES_URL'] ?? '');
  url.searchParams.set('sslmode', 'verify-full');
  const refused = await failure(url.href);
  expect(refused).toMatchObject({ code: 'STORE_TLS_REFUSED', retry: 'park' });
  expect(refused.remedy).toContain('sslmode=disable');
});

async function failure(url: string): Promise<IndexerError> {
  try {
    await select(encrypted, url);
  } catch (thrown) {
    if (thrown instanceof IndexerError) return thrown;
    throw thrown;
  }
  throw new Error('the connection was made');
}

it('indexer encrypts all database connections, including the writer lock connection', async () => {
  const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  try {
    generateHistory(sandbox.ledger, { seed: 5, updates: 50 });
    await using indexer = await runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: urlWith({}) });
    await indexer.reaches(sandbox.ledger.ledgerEnd(), 30_000);
    const open = `select count(*)::int as n from pg_stat_ssl s join pg_stat_activity a using (pid)
                   where a.application_name like 'ledger-indexer%' and not s.ssl`;
    expect(await select(open, urlWith({}))).toEqual([{ n: 0 }]);
  } finally {
    await sandbox.close();
  }
});
