/** The writer lock: one holder, gone with its connection, and never a reason to hang. */
import { createServer, connect, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/database.ts';
import { tryWriterLock } from '../../src/store/writer-lock.ts';
import { createTestDatabase } from '../support/database.ts';

function database(url: string) {
  return openDatabase({ url, schema: 'ledger', statementTimeoutMs: 5_000, applicationName: 'test' });
}

/** A road to Postgres on which everything can be made to stand still. */
async function freezable(url: string) {
  const target = new URL(url);
  const port = Number(target.port);
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: target.hostname, allowHalfOpen: true });
    for (const socket of [near, far]) socket.on('error', () => undefined);
    sockets.push(near, far);
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  target.port = String((server.address() as AddressInfo).port);
  return {
    url: target.href,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe('the writer lock', () => {
  it('is held by one at a time and free again after its release', async () => {
    await using created = await createTestDatabase();
    const store = database(created.url);
    const first = await tryWriterLock(created.url, store);
    expect(await tryWriterLock(created.url, store)).toBeUndefined();
    await first?.release();
    const second = await tryWriterLock(created.url, store);
    expect(second).toBeDefined();
    await second?.release();
    await store.close();
  });

  it('is let go within two seconds although Postgres no longer answers', async () => {
    await using created = await createTestDatabase();
    const road = await freezable(created.url);
    const store = database(created.url);
    const lock = await tryWriterLock(road.url, store);
    expect(lock).toBeDefined();
    road.freeze();
    const started = performance.now();
    await lock?.release();
    expect(performance.now() - started).toBeLessThan(2_000);
    road.close();
    await store.close();
  });
});
