/** Faults of the connection to the ledger, with the complete indexer and Postgres. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFakeLedger } from '../ledger/fake-ledger.ts';
import { openRun } from '../ledger/transport/stream-run.ts';
import { waitFor } from '../support/wait-for.ts';
import { FaultWorld, failedWith, parked, retriesFor } from './fault-world.ts';

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

  it('is closed when it is half open and pings get no response', async () => {
    world.sandbox.faults.halfOpen = { path, afterFrames: 20 };
    await using indexer = await world.run('ledger', { INDEXER_PING_INTERVAL: '100ms' });
    await failedWith(indexer, 'LEDGER_PING_TIMEOUT');
    world.sandbox.faults.halfOpen = undefined;
    await world.reachesEnd(indexer);
    await world.expectUndisturbed();
  });

  it('is not treated as completed when it is closed with 1000, 1001 or 1011', async () => {
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

  it('is retried after RST, a timeout or a response of 503', async () => {
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

describe('an address whose host does not resolve', () => {
  it('is retried indefinitely, because the name may become resolvable again', async () => {
    await using indexer = await world.run('ledger', { LEDGER_URL: 'http://nowhere.invalid:7575' });
    await waitFor('three tries', () => (indexer.logged('ledger failed, trying again') >= 3 ? true : undefined));
    expect(await indexer.status()).toMatchObject({ state: 'backing_off', lastError: { code: 'LEDGER_UNREACHABLE' } });
  });
});

describe('compression of frames', () => {
  it('is never offered, so that a small frame cannot expand into a large one', async () => {
    const offeredExtensions: unknown[] = [];
    const ledger = await startFakeLedger({
      options: { perMessageDeflate: true },
      socket: (socket) => offeredExtensions.push(socket.extensions),
    });
    const { opened, stream } = openRun(ledger.url);
    await opened;
    await waitFor('the request', () => (offeredExtensions.length > 0 ? true : undefined));
    stream.close();
    expect(offeredExtensions).toEqual(['']);
    expect(ledger.handshakes[0]?.headers['sec-websocket-extensions']).toBeUndefined();
    await ledger.stop();
  });
});

describe('a frame', () => {
  it('larger than LEDGER_MAX_FRAME_BYTES parks the indexer with its position, after everything before it is stored', async () => {
    const atOffset = world.someOffset();
    world.sandbox.faults.oversizedFrames = { path, atOffset, bytes: 3_000_000 };
    await using indexer = await world.run('ledger', { LEDGER_MAX_FRAME_BYTES: '1MiB' });
    const { code, message, remedy } = await parked(indexer);
    const { checkpoint } = await indexer.status();
    expect(code).toBe('LEDGER_FRAME_TOO_LARGE');
    expect(checkpoint).toBeLessThan(atOffset);
    expect(message).toContain(`the update after offset ${String(checkpoint)}:`);
    expect(remedy).toContain('LEDGER_MAX_FRAME_BYTES');
    await using larger = await world.run('larger', { LEDGER_MAX_FRAME_BYTES: '8MiB' });
    await world.reachesEnd(larger);
  });

  it.each([
    ['cut off', 'invalidJson', 'UPDATE_UNDECODABLE'],
    ['not UTF-8', 'invalidUtf8', 'LEDGER_UNDECODABLE'],
    ['binary', 'binaryFrames', 'LEDGER_UNDECODABLE'],
  ] as const)('that is %s is requested again, then parks the indexer with its position', async (_what, fault, code) => {
    const atOffset = world.someOffset();
    world.sandbox.faults[fault] = { path, atOffset };
    await using indexer = await world.run();
    const stop = await parked(indexer);
    const { checkpoint } = await indexer.status();
    expect(stop.code).toBe(code);
    expect(stop.message).toContain(`the update after offset ${String(checkpoint)}:`);
    expect(checkpoint).toBeLessThan(atOffset);
    expect(retriesFor(indexer, code)).toBe(1);
  });

  it.each(['invalidJson', 'invalidUtf8', 'binaryFrames'] as const)(
    'that is damaged once (%s) is stored when it is sent again',
    async (fault) => {
      world.sandbox.faults[fault] = { path, atOffset: world.someOffset(), times: 1 };
      await using indexer = await world.run();
      await world.reachesEnd(indexer);
      expect(indexer.logged('backing off')).toBe(1);
      await world.expectUndisturbed();
    },
  );

  it('in two fragments is read as one frame', async () => {
    world.sandbox.faults.splitFrames = { path };
    await using indexer = await world.run();
    await world.reachesEnd(indexer);
    world.sandbox.faults.splitFrames = undefined;
    await world.expectUndisturbed();
  });

  it('of an unknown kind is stored unchanged', async () => {
    world.sandbox.faults.unknownKind = { path, atOffset: world.someOffset(), times: 1 };
    await using indexer = await world.run('ledger', { INDEXER_UNKNOWN_UPDATES: 'store' });
    await world.reachesEnd(indexer);
    expect(await indexer.metric('indexer_updates_total{kind="unknown"}')).toBe(1);
  });
});

describe('the order of updates', () => {
  it('is checked, and updates in wrong order are rejected and park the indexer the third time', async () => {
    world.sandbox.faults.swapUpdates = { path, atOffset: world.someOffset() };
    await using indexer = await world.run();
    const { code } = await parked(indexer);
    expect(code).toBe('LEDGER_OUT_OF_ORDER');
    expect(retriesFor(indexer, code)).toBe(2);
    expect((await indexer.status()).checkpoint).toBeLessThan(world.someOffset());
  });

  it('is accepted if a wrong order is corrected on the next attempt', async () => {
    world.sandbox.faults.swapUpdates = { path, atOffset: world.someOffset(), times: 1 };
    await using indexer = await world.run();
    await world.reachesEnd(indexer);
    expect(retriesFor(indexer, 'LEDGER_OUT_OF_ORDER')).toBe(1);
    await world.expectUndisturbed();
  });

  it('permits repeated updates and checkpoints, which are ignored', async () => {
    world.sandbox.faults.duplicateUpdates = { path };
    world.sandbox.faults.duplicateCheckpoints = true;
    await using indexer = await world.run();
    await world.reachesEnd(indexer);
    world.sandbox.faults.duplicateUpdates = undefined;
    expect(indexer.logged('backing off')).toBe(0);
    await world.expectUndisturbed();
  });
});

describe('errors of the ledger', () => {
  it('are recognized even if they have no text', async () => {
    world.sandbox.faults.errorFrameOnce = { body: { code: 'SERVICE_NOT_RUNNING', errorCategory: 1 }, afterFrames: 20 };
    await using indexer = await world.run();
    await world.reachesEnd(indexer);
    expect(retriesFor(indexer, 'LEDGER_UNAVAILABLE')).toBe(1);
    await world.expectUndisturbed();
  });

  it('park the indexer after twenty internal errors without progress', async () => {
    world.sandbox.faults.streamFailure = { path, failure: 'INTERNAL' };
    await using indexer = await world.run('ledger', { INDEXER_RETRY_MAX_DELAY: '10ms' });
    expect((await parked(indexer)).code).toBe('LEDGER_INTERNAL');
    expect(retriesFor(indexer, 'LEDGER_INTERNAL')).toBe(20);
  });
});
