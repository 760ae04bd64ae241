import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { createLedgerClient } from '../../../src/ledger/api/client.ts';
import { readTlsFiles, type TlsMaterial } from '../../../src/ledger/transport/tls.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { openRun } from './stream-run.ts';

const folder = join(import.meta.dirname, '../../support/certificates');
const file = (name: string): string => join(folder, name);

let server: Server;
let url = '';
/** A ledger that requires a client certificate signed by its CA. */
beforeEach(async () => {
  const [cert, key, ca] = await Promise.all(
    ['server.pem', 'server-key.pem', 'ca.pem'].map((name) => readFile(file(name))),
  );
  server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true }, (_request, response) => {
    response.setHeader('connection', 'close');
    response.end('{"version":"3.5.10","offset":7}');
  });
  const sockets = new WebSocketServer({ server, handleProtocols: () => 'daml.ws.auth' });
  sockets.on('connection', (socket) => {
    socket.on('message', () => {
      socket.send('{"update":{}}');
      socket.close(1000);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
});

async function version(tls: TlsMaterial): Promise<string> {
  const tokenSource = createTokenSource({});
  return createLedgerClient({ url, tokenSource, tls, insecure: false, requestTimeoutMs: 5_000 })
    .node.version()
    .then(({ version }) => version);
}

describe('ledger that requires a client certificate', () => {
  it('accepts https and wss with the client certificate and the configured authority', async () => {
    const { tls } = await readTlsFiles({
      caFile: file('ca.pem'),
      certFile: file('client.pem'),
      keyFile: file('client-key.pem'),
    });
    expect(await version(tls)).toBe('3.5.10');
    const run = openRun(url, { tls });
    expect(await run.ended).toBeUndefined();
    expect(run.frames).toEqual(['{"update":{}}']);
  });

  it('rejects a client without a certificate', async () => {
    const { tls } = await readTlsFiles({ caFile: file('ca.pem') });
    await expect(version(tls)).rejects.toMatchObject({ code: 'LEDGER_TLS', retry: 'park' });
    expect(await openRun(url, { tls }).ended).toMatchObject({ code: 'LEDGER_TLS', retry: 'park' });
  });

  it('is rejected by a client that does not trust the authority of the ledger', async () => {
    const { tls } = await readTlsFiles({ certFile: file('client.pem'), keyFile: file('client-key.pem') });
    await expect(version(tls)).rejects.toMatchObject({ code: 'LEDGER_TLS', retry: 'park' });
    expect(await openRun(url, { tls }).ended).toMatchObject({ code: 'LEDGER_TLS', retry: 'park' });
  });
});

describe('TLS certificate files', () => {
  let ownCertificate = '';
  beforeEach(() => {
    ownCertificate = mkdtempSync(join(tmpdir(), 'tls-'));
  });
  afterEach(() => {
    rmSync(ownCertificate, { recursive: true });
  });

  it('are checked together, and each problem names its option without file contents', async () => {
    writeFileSync(join(ownCertificate, 'page'), 'hunter2');
    const refusal = await readTlsFiles({
      caFile: join(ownCertificate, 'page'),
      certFile: '/nowhere/cert.pem',
      keyFile: file('client.pem'),
      oauthCaFile: file('client-key.pem'),
    }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'CONFIGURATION_INVALID', exitCode: 78, facts: { problems: 4 } });
    const text = String(refusal);
    for (const option of ['LEDGER_CA_FILE', 'LEDGER_CERT_FILE', 'LEDGER_KEY_FILE', 'LEDGER_OAUTH_CA_FILE']) {
      expect(text).toContain(`${option}: `);
    }
    expect(text).toContain('cannot read /nowhere/cert.pem (ENOENT)');
    expect(text).not.toContain('hunter2');
  });

  it('are rejected if the key does not match the certificate, or if a file is damaged', async () => {
    const mixedTlsFiles = readTlsFiles({ certFile: file('client.pem'), keyFile: file('server-key.pem') });
    await expect(mixedTlsFiles).rejects.toThrow(/LEDGER_CERT_FILE, LEDGER_KEY_FILE: not usable together/u);
    writeFileSync(join(ownCertificate, 'ca.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    await expect(readTlsFiles({ caFile: join(ownCertificate, 'ca.pem') })).rejects.toThrow(
      /LEDGER_CA_FILE: a certificate in it is not usable/u,
    );
  });
});
