/**
 * A server that claims to be Postgres and requests the password in a readable form does not receive it over a network.
 */
import { createServer, type AddressInfo, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { openLockConnection } from '../../../src/store/lock/lock-connection.ts';
import { needs } from '../../support/skips/needs.ts';

const networkAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
const networkSkipReason = networkAddress === undefined ? 'needs an address of a network' : undefined;

/** The authentication request: `R`, its length, and the requested method. */
const authRequests = {
  'in clear text': Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]),
  'as an MD5 hash': Buffer.from([0x52, 0, 0, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4]),
} as const;

let server: Server;
let authRequest: Buffer = authRequests['in clear text'];
/** Messages after the first one, which contains user and database. */
let messages: Promise<string>[] = [];

beforeAll(async () => {
  server = createServer((socket) => {
    let laterData = '';
    socket.once('data', () => {
      socket.write(authRequest);
      socket.on('data', (bytes) => {
        laterData += bytes.toString('latin1');
        socket.end();
      });
    });
    messages.push(
      new Promise((resolve) => socket.on('error', () => undefined).once('close', () => resolve(laterData))),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
});

/**
 * Connects through the pool and through the connection of the writer lock. Resolves to both failures and to the
 * messages that the server received.
 */
async function attempt(host: string): Promise<{ readonly codes: unknown[]; readonly messages: readonly string[] }> {
  messages = [];
  const { port } = server.address() as AddressInfo;
  const url = `postgres://writer:hunter2-password@${host}:${String(port)}/ledger`;
  const database = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 5_000, applicationName: 'test' });
  const codeOf = (error: unknown): unknown => Reflect.get(Object(error), 'code');
  try {
    const poolResult = await database.withClient(() => Promise.resolve('connected')).catch(codeOf);
    const lockError = await openLockConnection(database, 60_000).catch(codeOf);
    return { codes: [poolResult, lockError], messages: await Promise.all(messages) };
  } finally {
    await database.close();
  }
}

describe.each(Object.entries(authRequests))('database server that requests the password %s', (_, bytes) => {
  it('receives no password over a network', needs(networkSkipReason), async () => {
    authRequest = bytes;
    const attemptResult = await attempt(networkAddress ?? '');
    expect(attemptResult).toEqual({ codes: ['STORE_TLS_REFUSED', 'STORE_TLS_REFUSED'], messages: ['', ''] });
  });

  it('receives the password over loopback', async () => {
    authRequest = bytes;
    const attemptResult = await attempt('127.0.0.1');
    expect(attemptResult.codes).not.toContain('STORE_TLS_REFUSED');
    for (const text of attemptResult.messages) expect(text.startsWith('p')).toBe(true);
  });
});
