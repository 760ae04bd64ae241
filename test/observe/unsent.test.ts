/** Tests responses that clients do not read, over real sockets, and how often metrics are rendered. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Registry } from 'prom-client';
import { Exposition } from '../../src/observe/http/exposition.ts';
import { UnsentBytes } from '../../src/observe/http/unsent.ts';
import { waitFor } from '../support/wait-for.ts';

const mebibyte = 1024 ** 2;

describe('unread responses', () => {
  const sockets: Socket[] = [];
  const openResponses: ServerResponse[] = [];
  let server: Server;

  /** @param limit in MiB */
  async function listen(limit: number): Promise<void> {
    const unsentLimit = new UnsentBytes(limit * mebibyte);
    server = createServer(({ url = '' }, response) => {
      openResponses.push(response);
      response.write(Buffer.alloc(Number(url.slice(1)) * mebibyte));
      unsentLimit.hold(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }

  /** Starts a client that reads nothing. @param size of the response in MiB */
  async function requestUnread(size: number): Promise<void> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const socketCount = sockets.push(socket.pause());
    socket.on('error', () => undefined).write(`GET /${String(size)} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await waitFor('the response has begun', () => (openResponses.length === socketCount ? true : undefined));
  }

  const whichDestroyed = (): readonly boolean[] => openResponses.map(({ destroyed }) => destroyed);

  afterEach(async () => {
    openResponses.length = 0;
    for (const socket of sockets.splice(0)) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('are dropped, the largest first, when their total exceeds the limit', async () => {
    await listen(100);
    for (const size of [40, 60, 30, 50]) await requestUnread(size);
    expect(whichDestroyed()).toEqual([false, true, false, true]);
  });

  it('may exceed the limit if there is only one client', async () => {
    await listen(100);
    await requestUnread(120);
    expect(whichDestroyed()).toEqual([false]);
  });

  it('are not counted after they are read or their client disconnects', async () => {
    await listen(100);
    await requestUnread(90);
    sockets[0]?.resume();
    await waitFor('the first is read', () => (openResponses[0]?.writableLength === 0 ? true : undefined));
    await requestUnread(80);
    sockets[1]?.destroy();
    await waitFor('the second is gone', () => (openResponses[1]?.closed === true ? true : undefined));
    await requestUnread(70);
    expect(whichDestroyed()).toEqual([false, true, false]);
  });
});

describe('metrics exposition', () => {
  afterEach(() => void vi.useRealTimers());

  it('is rendered once per second for all requests', async () => {
    vi.useFakeTimers();
    const registry = new Registry();
    const metricsSpy = vi.spyOn(registry, 'metrics');
    const exposition = new Exposition(registry, 1_000);
    const results = await Promise.all([exposition.now(), exposition.now()]);
    expect(results[0]).toBe(results[1]);
    vi.advanceTimersByTime(999);
    await exposition.now();
    expect(metricsSpy).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(1);
    await exposition.now();
    expect(metricsSpy).toHaveBeenCalledTimes(2);
  });
});
