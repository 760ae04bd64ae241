/**
 * A server that claims to be Postgres and requests the password in a readable form does not receive it over a network.
 */
import { createServer, type AddressInfo, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { openLockConnection } from '../../../src/store/lock/lock-connection.ts';
import { needs } from '../../support/skips/needs.ts';

const away = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
const noNetwork = away === undefined ? 'needs an address of a network' : undefined;

/** The authentication request: `R`, its length, and the requested method. */
const asking = {
  'in clear text': Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]),
  'as an MD5 hash': Buffer.from([0x52, 0, 0, 0, 12, 0, 0, 0, 5, 1, 2, 3, 4]),
} as const;

let server: Server;
let ask: Buffer = asking['in clear text'];
/** Messages after the first one, which contains user and database. */
let messages: Promise<string>[] = [];

beforeAll(async () => {
  server = createServer((socket) => {
    let later = '';
    socket.once('data', () => {
      socket.write(ask);
      socket.on('data', (bytes) => {
        later += bytes.toString('latin1');
        socket.end();
      });
    });
    messages.push(new Promise((resolve) => socket.on('error', () => undefined).once('close', () => resolve(later))));
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
  const codeOf = (thrown: unknown): unknown => Reflect.get(Object(thrown), 'code');
  try {
    const byPool = await database.withClient(() => Promise.resolve('connected')).catch(codeOf);
    const byLock = await openLockConnection(database, 60_000).catch(codeOf);
    return { codes: [byPool, byLock], messages: await Promise.all(messages) };
  } finally {
    await database.close();
  }
}

describe.each(Object.entries(asking))('database server that requests the password %s', (_, bytes) => {
  it('receives no password over a network', needs(noNetwork), async () => {
    ask = bytes;
    const answer = await attempt(away ?? '');
    expect(answer).toEqual({ codes: ['STORE_TLS_REFUSED', 'STORE_TLS_REFUSED'], messages: ['', ''] });
  });

  it('receives the password over loopback', async () => {
    ask = bytes;
    const answer = await attempt('127.0.0.1');
    expect(answer.codes).not.toContain('STORE_TLS_REFUSED');
    for (const text of answer.messages) expect(text.startsWith('p')).toBe(true);
  });
});
