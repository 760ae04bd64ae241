/**
 * The responses of these receivers are not HTTP or do not end. The indexer sends them only one event at a time. The
 * receivers are raw sockets.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Change } from '../../src/model/push/changes.ts';
import type { Webhook } from '../../src/model/push/webhook.ts';
import { HookRun } from '../../src/webhooks/hook-run.ts';
import type { DeliveryOptions } from '../../src/webhooks/ports.ts';
import { waitFor } from '../support/wait-for.ts';

/** Maximum number of deliveries in progress. */
const concurrentPosts = 16;
const events = concurrentPosts + 8;

const responsesByName = {
  'endless hints': 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000),
  'bytes that are not HTTP': '\0\u0001'.repeat(1_000),
  'an endless header': `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(40_000)}`,
  'an endless error': `HTTP/1.1 500 No\r\n\r\n${'x'.repeat(200_000)}`,
};

/** For each N, change N belongs to contract N. */
const changes: readonly Change[] = Array.from({ length: events }, (_, index) => ({
  offset: index + 1,
  node: 0,
  json: JSON.stringify({ event_type: 'created', contract_id: String(index), update_id: String(index) }),
}));

/** A store with history and cursor in memory. */
const store: DeliveryOptions['store'] = {
  standing: () => Promise.resolve([]),
  active: () => Promise.resolve([]),
  cursor: () => Promise.resolve({ offset: 0, node: null }),
  changes: ({ after: afterOffset }) =>
    Promise.resolve({
      changes: afterOffset.offset === 0 ? changes : [],
      next: { offset: events, node: null },
      atEnd: true,
      checkpoint: events,
      availableAfter: 0,
    }),
  move: () => Promise.resolve(true),
  bury: () => Promise.resolve(),
  dig: () => Promise.resolve(),
  deadContracts: () => Promise.resolve(new Set()),
  replays: () => Promise.resolve([]),
  disable: () => Promise.resolve(),
  finish: () => Promise.resolve(),
  noteProblem: () => Promise.resolve(),
  noteMissed: () => Promise.resolve(),
};

const doNothing = (): void => undefined;
const observer: DeliveryOptions['observer'] = {
  webhooksSeen: doNothing,
  webhookDelivered: doNothing,
  webhookFailed: doNothing,
  webhookDisabled: doNothing,
  webhookStuck: doNothing,
};

describe('webhook delivery to a hostile receiver', () => {
  it.each(Object.entries(responsesByName))(
    'limits deliveries to one at a time after a response of %s',
    async (_, responseText) => {
      const openSockets = new Set<Socket>();
      /** Number of open connections whenever a connection is opened. */
      const connectionCounts: number[] = [];
      const server = createServer((socket) => {
        connectionCounts.push(openSockets.add(socket).size);
        socket.on('error', doNothing).once('close', () => openSockets.delete(socket));
        socket.once('data', () => socket.write(responseText));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const webhook: Webhook = {
        name: 'hostile',
        hookId: 'h',
        url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`,
        secrets: [`whsec_${Buffer.from('secret').toString('base64')}`],
        role: 'reader',
        template: null,
        party: null,
        eventTypes: [],
      };
      const options = { store, observer, isWriter: () => true, attempts: 100, userAgent: 'test', lookMs: 60_000 };
      const stop = new AbortController();
      const run = new HookRun(webhook, { ...options, reach: 'loopback' }).run(stop.signal);
      try {
        await waitFor('all events', () => (connectionCounts.length >= events ? true : undefined));
        // The end of the previous connection may not have been detected yet.
        expect(Math.max(...connectionCounts.slice(concurrentPosts, events))).toBeLessThanOrEqual(2);
      } finally {
        stop.abort();
        await run;
        for (const socket of openSockets) socket.destroy();
        server.close();
      }
    },
  );
});
