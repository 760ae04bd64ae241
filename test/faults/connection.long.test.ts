/** Faults of the connection to the ledger, with the complete indexer and Postgres. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFakeLedger } from '../ledger/fake-ledger.ts';
import { openRun } from '../ledger/transport/stream-run.ts';
import { waitFor } from '../support/wait-for.ts';
import { FaultWorld, failedWith, waitUntilParked, retriesFor } from './fault-world.ts';

const path = '/v2/updates';

let world: FaultWorld;
beforeEach(async () => {
  world = await FaultWorld.open();
});
afterEach(() => world[Symbol.asyncDispose]());

describe('the connection to the ledger', () => {
  it('is reopened without losing updates when it breaks in the middle of a frame', async () => {
    world.sandbox.faults.reset = { path, afterFrames: 7, times: 6 };
    world.sandbox.faults.cutMidFrame = { path, afterFrames: 11, times: 3 };
    await using indexer = await world.run();
    await world.reachesEnd(indexer);
    expect(indexer.logged('backing off')).toBeGreaterThanOrEqual(6);
    world.sandbox.faults.cutMidFrame = undefined;
    world.sandbox.faults.reset = undefined;
    await world.expectUndisturbed();
  });

  it('is closed if pings get no response', async () => {
    world.sandbox.faults.halfOpen = { path, afterFrames: 20 };
    await using indexer = await world.run('ledger', { INDEXER_PING_INTERVAL: '100ms' });
    await failedWith(indexer, 'LEDGER_PING_TIMEOUT');
    world.sandbox.faults.halfOpen = undefined;
    await world.reachesEnd(indexer);
    await world.expectUndisturbed();
  });

  it('is reopened after a close with 1000, 1001 or 1011', async () => {
    await using indexer = await world.run();
    for (const code of [1000, 1001, 1011]) {
      await world.reachesEnd(indexer);
      world.sandbox.faults.close = { path, code, times: 1 };
      world.grow(10);
      await waitFor(`code ${String(code)}`, () => (world.sandbox.faults.close === undefined ? true : undefined));
    }
    await world.reachesEnd(indexer);
    expect(retriesFor(indexer, 'LEDGER_STREAM_CLOSED')).toBe(3);
    await world.expectUndisturbed();
  });

  it('is retried after connection resets and 503 responses', async () => {
    world.sandbox.faults.refuseConnections = true;
    await using indexer = await world.run();
    await failedWith(indexer, 'LEDGER_UNREACHABLE');
    world.sandbox.faults.refuseUpgrade = { path, as: 'SERVER_OVERLOADED', times: 3 };
    world.sandbox.faults.refuseConnections = undefined;
    await world.reachesEnd(indexer);
    expect(retriesFor(indexer, 'LEDGER_UNAVAILABLE')).toBe(3);
    await world.expectUndisturbed();
  });
});

describe('a host name that does not resolve', () => {
  it('makes the indexer back off and retry', async () => {
    await using indexer = await world.run('ledger', { LEDGER_URL: 'http://nowhere.invalid:7575' });
    await waitFor('three tries', () => (indexer.logged('ledger failed, trying again') >= 3 ? true : undefined));
    expect(await indexer.status()).toMatchObject({ state: 'backing_off', lastError: { code: 'LEDGER_UNREACHABLE' } });
  });
});

describe('compression of frames', () => {
  it('is not offered in the handshake', async () => {
    const offeredExtensions: unknown[] = [];
    const ledger = await startFakeLedger({
      options: { perMessageDeflate: true },
      socket: (socket) => offeredExtensions.push(socket.extensions),
    });
    const { opened: whenOpened, stream } = openRun(ledger.url);
    await whenOpened;
    await waitFor('the request', () => (offeredExtensions.length > 0 ? true : undefined));
    stream.close();
    expect(offeredExtensions).toEqual(['']);
    expect(ledger.handshakes[0]?.headers['sec-websocket-extensions']).toBeUndefined();
    await ledger.stop();
  });
});

describe('a frame', () => {
  it('parks the indexer with its position if it exceeds LEDGER_MAX_FRAME_BYTES', async () => {
    const atOffset = world.someOffset();
    world.sandbox.faults.oversizedFrames = { path, atOffset, bytes: 3_000_000 };
    await using indexer = await world.run('ledger', { LEDGER_MAX_FRAME_BYTES: '1MiB' });
    const { code, message, remedy } = await waitUntilParked(indexer);
    const { checkpoint } = await indexer.status();
    expect(code).toBe('LEDGER_FRAME_TOO_LARGE');
    expect(checkpoint).toBeLessThan(atOffset);
    expect(message).toContain(`the update after offset ${String(checkpoint)}:`);
    expect(remedy).toContain('LEDGER_MAX_FRAME_BYTES');
    await using largerIndexer = await world.run('larger', { LEDGER_MAX_FRAME_BYTES: '8MiB' });
    await world.reachesEnd(largerIndexer);
  });

  it.each([
    ['truncated', 'invalidJson', 'UPDATE_UNDECODABLE'],
    ['not UTF-8', 'invalidUtf8', 'LEDGER_UNDECODABLE'],
    ['binary', 'binaryFrames', 'LEDGER_UNDECODABLE'],
  ] as const)('is requested again, then parks the indexer, if it is %s', async (_caseName, fault, code) => {
    const atOffset = world.someOffset();
    world.sandbox.faults[fault] = { path, atOffset };
    await using indexer = await world.run();
    const stop = await waitUntilParked(indexer);
    const { checkpoint } = await indexer.status();
    expect(stop.code).toBe(code);
    expect(stop.message).toContain(`the update after offset ${String(checkpoint)}:`);
    expect(checkpoint).toBeLessThan(atOffset);
    expect(retriesFor(indexer, code)).toBe(1);
  });

  it.each(['invalidJson', 'invalidUtf8', 'binaryFrames'] as const)(
    'is stored on the second attempt if it is damaged once (%s)',
    async (fault) => {
      world.sandbox.faults[fault] = { path, atOffset: world.someOffset(), times: 1 };
      await using indexer = await world.run();
      await world.reachesEnd(indexer);
      expect(indexer.logged('backing off')).toBe(1);
      await world.expectUndisturbed();
    },
  );

  it('is read completely if it arrives in two fragments', async () => {
    world.sandbox.faults.splitFrames = { path };
    await using indexer = await world.run();
    await world.reachesEnd(indexer);
    world.sandbox.faults.splitFrames = undefined;
    await world.expectUndisturbed();
  });

  it('is stored and counted as unknown if its kind is unknown', async () => {
    world.sandbox.faults.unknownKind = { path, atOffset: world.someOffset(), times: 1 };
    await using indexer = await world.run('ledger', { INDEXER_UNKNOWN_UPDATES: 'store' });
    await world.reachesEnd(indexer);
    expect(await indexer.metric('indexer_updates_total{kind="unknown"}')).toBe(1);
  });
});

describe('update order check', () => {
  it('parks the indexer if the order is wrong three times', async () => {
    world.sandbox.faults.swapUpdates = { path, atOffset: world.someOffset() };
    await using indexer = await world.run();
    const { code } = await waitUntilParked(indexer);
    expect(code).toBe('LEDGER_OUT_OF_ORDER');
    expect(retriesFor(indexer, code)).toBe(2);
    expect((await indexer.status()).checkpoint).toBeLessThan(world.someOffset());
  });

  it('accepts a correct order on the second attempt', async () => {
    world.sandbox.faults.swapUpdates = { path, atOffset: world.someOffset(), times: 1 };
    await using indexer = await world.run();
    await world.reachesEnd(indexer);
    expect(retriesFor(indexer, 'LEDGER_OUT_OF_ORDER')).toBe(1);
    await world.expectUndisturbed();
  });

  it('ignores repeated updates and checkpoints', async () => {
    world.sandbox.faults.duplicateUpdates = { path };
    world.sandbox.faults.duplicateCheckpoints = true;
    await using indexer = await world.run();
    await world.reachesEnd(indexer);
    world.sandbox.faults.duplicateUpdates = undefined;
    expect(indexer.logged('backing off')).toBe(0);
    await world.expectUndisturbed();
  });
});

describe('ledger errors', () => {
  it('are recognized by their code if they have no message', async () => {
    world.sandbox.faults.errorFrameOnce = { body: { code: 'SERVICE_NOT_RUNNING', errorCategory: 1 }, afterFrames: 20 };
    await using indexer = await world.run();
    await world.reachesEnd(indexer);
    expect(retriesFor(indexer, 'LEDGER_UNAVAILABLE')).toBe(1);
    await world.expectUndisturbed();
  });

  it('park the indexer after twenty internal errors without progress', async () => {
    world.sandbox.faults.streamFailure = { path, failure: 'INTERNAL' };
    await using indexer = await world.run('ledger', { INDEXER_RETRY_MAX_DELAY: '10ms' });
    expect((await waitUntilParked(indexer)).code).toBe('LEDGER_INTERNAL');
    expect(retriesFor(indexer, 'LEDGER_INTERNAL')).toBe(20);
  });
});
