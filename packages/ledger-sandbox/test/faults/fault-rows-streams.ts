/** Faults of running streams, as received on the wire. */
import { expect } from 'vitest';
import type { WebSocket } from 'ws';
import { failureNames, namedFailure } from '../../src/faults/named-failures.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { FaultRow } from './fault-rows.ts';
import { activeAt, after, requestJson, contracts, offsetOf, updates, watch, watchBytes } from '../server/raw.ts';
import { pause } from '../../../../test/support/wait-for.ts';

const wire = (text: string): number => Buffer.byteLength(text) + (Buffer.byteLength(text) < 126 ? 2 : 4);

export const streamRows: readonly FaultRow[] = [
  {
    rows: ['L3'],
    says: 'a frame breaks off at a byte: with FIN at a given one, with RST at a random one',
    async run({ url, ledger, faults }) {
      const { frames } = await watch(url, updates, after(0, ledger.ledgerEnd()));
      const twoFrameBytes = frames.slice(0, 2).reduce((sum, text) => sum + wire(text), 0);
      faults.cutMidFrame = { afterFrames: 2, bytes: 10, times: 1 };
      const cutStream = await watchBytes(url, updates, after(0), 1_000);
      expect([cutStream.bytes.length - twoFrameBytes, cutStream.end]).toEqual([10, 'fin']);
      faults.reset = { afterFrames: 2, times: 1 };
      const reset = await watchBytes(url, updates, after(0), 1_000);
      expect(reset.end).toBe('rst');
      expect(reset.bytes.length).toBeGreaterThan(twoFrameBytes);
      expect(reset.bytes.length).toBeLessThan(twoFrameBytes + wire(frames[2] ?? ''));
      expect((await watch(url, updates, after(0, ledger.ledgerEnd()))).frames).toEqual(frames);
    },
  },
  {
    rows: ['L4'],
    says: 'a half-open connection neither sends, answers pings, answers a close nor ends',
    async run({ url, faults }) {
      faults.halfOpen = { afterFrames: 3 };
      const ping = Buffer.of(0x89, 0x80, 0, 0, 0, 0);
      const close = Buffer.of(0x88, 0x80, 0, 0, 0, 0);
      const originalFrames = await watchBytes(url, updates, after(0), 350);
      const capture = await watchBytes(url, updates, after(0), 450, (socket) => {
        setTimeout(() => socket.write(ping), 100);
        setTimeout(() => socket.write(close), 150);
      });
      expect(capture).toEqual({ bytes: originalFrames.bytes, end: 'none' });
      faults.halfOpen = undefined;
    },
  },
  {
    rows: ['L4'],
    says: 'an idle connection becomes half-open without another frame',
    async run({ url, faults }) {
      let pongs = 0;
      const onOpen = (socket: WebSocket): void => {
        socket.on('pong', () => {
          pongs += 1;
          faults.halfOpen = {};
          socket.ping();
        });
        setTimeout(() => socket.ping(), 100);
      };
      const { frames, code } = await watch(url, updates, after(0), { waitMs: 450, opened: onOpen });
      expect([frames.length, code, pongs]).toEqual([40, undefined, 1]);
      faults.halfOpen = undefined;
    },
  },
  {
    rows: ['L4', 'L6'],
    says: 'a stalled stream answers pings, or does not by the fault, while the ledger continues',
    async run({ url, ledger, faults }) {
      faults.stall = { afterFrames: 4, path: updates };
      let pongs = 0;
      const onOpen = (socket: WebSocket): void => {
        socket.on('pong', () => (pongs += 1));
        socket.ping();
      };
      const first = await watch(url, updates, after(0), { waitMs: 350, opened: onOpen });
      expect([first.frames.length, first.code, pongs]).toEqual([4, undefined, 1]);
      faults.ignorePings = {};
      const deadStream = await watch(url, updates, after(0), { waitMs: 350, opened: onOpen });
      expect([deadStream.frames.length, deadStream.code, pongs]).toEqual([4, undefined, 1]);
      ledger.skipOffsets(5);
      expect((await requestJson(url, '/v2/state/ledger-end')).body).toBe(`{"offset":${ledger.ledgerEnd()}}`);
    },
  },
  {
    rows: ['L4'],
    says: 'the close handshake is never answered',
    async run({ url, faults }) {
      const onOpen = (socket: WebSocket): unknown => setTimeout(() => socket.close(), 50);
      expect((await watch(url, updates, after(0), { opened: onOpen })).code).toBe(1005);
      faults.ignoreClose = { path: updates };
      expect((await watch(url, updates, after(0), { waitMs: 400, opened: onOpen })).code).toBeUndefined();
    },
  },
  {
    rows: ['L5'],
    says: 'silence closes the connection and pings keep it up',
    async run() {
      await using shortTimeoutSandbox = await startSandbox({ idleTimeoutMs: 60 });
      expect((await watch(shortTimeoutSandbox.url, updates, after(0))).code).toBe(1006);
      // With the first limit, a ping that a busy machine delays could end the connection.
      await using patientSandbox = await startSandbox({ idleTimeoutMs: 1_500 });
      const onOpen = (socket: WebSocket): void => {
        const timer = setInterval(() => socket.ping(), 15);
        socket.on('close', () => clearInterval(timer));
      };
      expect(
        (await watch(patientSandbox.url, updates, after(0), { waitMs: 2_000, opened: onOpen })).code,
      ).toBeUndefined();
    },
  },
  {
    rows: ['L8'],
    says: 'a slow receiver delays the stream and loses nothing',
    async run({ url, ledger, faults }) {
      faults.oversizedFrames = { bytes: 300_000 };
      let earlyFrames = 0;
      const onOpen = (socket: WebSocket): void => {
        socket.on('message', () => (earlyFrames += 1));
        socket.pause();
        setTimeout(() => {
          expect(earlyFrames).toBe(0);
          socket.resume();
        }, 150);
      };
      const { frames, code } = await watch(url, updates, after(0, ledger.ledgerEnd()), { opened: onOpen });
      expect([frames.length, code]).toEqual([40, 1000]);
    },
  },
  {
    rows: ['L2', 'L16'],
    says: 'a stream is dropped between two frames, seen as 1006',
    async run({ url, faults }) {
      faults.cut = { afterFrames: 5, times: 1 };
      const cutStream = await watch(url, updates, after(0));
      expect([cutStream.frames.length, cutStream.code]).toEqual([5, 1006]);
      expect(faults.cut).toBeUndefined();
    },
  },
  {
    rows: ['L12'],
    says: 'a stream ends with the given close code, 1000 and 1001 and 1011',
    async run({ url, faults }) {
      for (const code of [1000, 1001, 1011]) {
        faults.close = { code, afterFrames: 3, times: 1 };
        const closedStream = await watch(url, updates, after(0));
        expect([closedStream.frames.length, closedStream.code]).toEqual([3, code]);
      }
    },
  },
  {
    rows: ['L13', 'L20', 'K1', 'K2', 'K3', 'H4'],
    says: 'every refusal by name comes as one frame in mid-stream and a close with 1000',
    async run({ url, faults, ledger }) {
      for (const failure of failureNames) {
        faults.streamFailure = { failure, afterFrames: 2, times: 1 };
        const { frames, code } = await watch(url, updates, after(0));
        expect([frames.length, code, frames[2]]).toEqual([3, 1000, JSON.stringify(namedFailure(failure, ledger).body)]);
      }
      const codes = failureNames.map((name) => namedFailure(name, ledger).body['code']);
      const expectedCodes = ['SERVICE_NOT_RUNNING', 'STALE_STREAM_AUTHORIZATION', 'ACCESS_TOKEN_EXPIRED', 'NA'];
      expect(codes).toEqual(expect.arrayContaining([...expectedCodes, 'PARTICIPANT_PRUNED_DATA_ACCESSED']));
    },
  },
  {
    rows: ['L16'],
    says: 'the active contracts end early by a drop, by a refusal or by a 1000, and complete by a 1000',
    async run({ url, faults, ledger }) {
      const request = activeAt(ledger.ledgerEnd());
      const completeStream = await watch(url, contracts, request);
      expect(completeStream.code).toBe(1000);
      expect(completeStream.frames.length).toBeGreaterThan(4);
      const earlyFault = { path: contracts, afterFrames: 3, times: 1 };
      faults.cut = earlyFault;
      expect(await watch(url, contracts, request)).toMatchObject({
        frames: completeStream.frames.slice(0, 3),
        code: 1006,
      });
      faults.streamFailure = { ...earlyFault, failure: 'SERVICE_NOT_RUNNING' };
      expect((await watch(url, contracts, request)).frames).toHaveLength(4);
      faults.close = { ...earlyFault, code: 1000 };
      expect((await watch(url, updates, after(0, ledger.ledgerEnd()))).frames).toHaveLength(40);
      expect(await watch(url, contracts, request)).toMatchObject({
        frames: completeStream.frames.slice(0, 3),
        code: 1000,
      });
      expect(await watch(url, contracts, request)).toMatchObject({ frames: completeStream.frames, code: 1000 });
    },
  },
  {
    rows: ['L17'],
    says: 'contracts made during the snapshot are in the updates after its offset only',
    async run({ url, faults, ledger }) {
      const at = ledger.ledgerEnd();
      const { frames } = await watch(url, contracts, activeAt(at));
      faults.slowFrames = { delayMs: 5, path: contracts };
      const slowStream = watch(url, contracts, activeAt(at));
      await pause(20);
      const contractId = ledger.create('#model-tests:Iou:Iou', { issuer: 'a', owner: 'a', amount: '1' }, ['a']);
      expect((await slowStream).frames).toEqual(frames);
      const next = await watch(url, updates, after(at, ledger.ledgerEnd()));
      expect(next.frames.join()).toContain(contractId.contractId);
    },
  },
  {
    rows: ['L18', 'H4'],
    says: 'pruning passes the offset of a snapshot while it is read',
    async run({ url, faults, ledger }) {
      const at = ledger.ledgerEnd();
      faults.prune = { path: contracts, afterFrames: 2, times: 1 };
      expect((await watch(url, contracts, activeAt(at))).code).toBe(1000);
      const refusedResponse = await watch(url, updates, after(at));
      expect(refusedResponse.frames.join()).toMatch(
        new RegExp(`PARTICIPANT_PRUNED_DATA_ACCESSED.*"earliest_offset":"${at + 1}"`),
      );
    },
  },
  {
    rows: ['L14'],
    says: 'an update comes twice in a row, and every checkpoint does',
    async run({ url, faults, ledger }) {
      faults.duplicateUpdates = { afterFrames: 2, times: 2 };
      const { frames } = await watch(url, updates, after(0, ledger.ledgerEnd()));
      expect([frames.length, frames[3], frames[5]]).toEqual([42, frames[2], frames[4]]);
      faults.duplicateCheckpoints = true;
      const hasEnough = (seenFrames: readonly string[]): boolean => seenFrames.length === 42;
      const tail = await watch(url, updates, after(0), { enough: hasEnough });
      expect(tail.frames[41]).toContain('OffsetCheckpoint');
      expect(tail.frames[41]).toBe(tail.frames[40]);
    },
  },
  {
    rows: ['L15'],
    says: 'two updates are swapped, the given number of times, and one is lost',
    async run({ url, faults, ledger }) {
      const allUpdates = after(0, ledger.ledgerEnd());
      const { frames } = await watch(url, updates, allUpdates);
      const [a = '', b = '', c = '', d = '', ...remainingFrames] = frames;
      faults.swapUpdates = { afterFrames: 2, times: 1 };
      expect((await watch(url, updates, allUpdates)).frames).toEqual([a, b, d, c, ...remainingFrames]);
      faults.swapUpdates = { atOffset: offsetOf(frames.at(-1)), times: 1 };
      expect((await watch(url, updates, allUpdates)).frames).toEqual(frames);
      faults.swapUpdates = undefined;
      faults.loseUpdates = { atOffset: offsetOf(c), times: 1 };
      expect((await watch(url, updates, allUpdates)).frames).toEqual([a, b, d, ...remainingFrames]);
    },
  },
];
