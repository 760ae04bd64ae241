/** Faults of single frames, as received on the wire. */
import { expect } from 'vitest';
import type { FaultRow } from './fault-rows.ts';
import { after, requestJson, effects, offsetOf, updates, watch, watchBytes } from '../server/raw.ts';

export const frameRows: readonly FaultRow[] = [
  {
    rows: ['L9'],
    says: 'the frame of one offset is oversized on every connection and ordinary over HTTP',
    async run({ url, ledger, faults }) {
      const { frames } = await watch(url, updates, after(0, ledger.ledgerEnd()));
      const offset = offsetOf(frames[6]);
      faults.oversizedFrames = { bytes: 300_000, atOffset: offset };
      for (const beginOffset of [0, offset - 1]) {
        const capture = await watch(url, updates, after(beginOffset), { maxPayload: 200_000 });
        expect([capture.code, capture.error]).toEqual([1006, 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH']);
      }
      const completeStream = await watch(url, updates, after(0, ledger.ledgerEnd()));
      expect([completeStream.frames[6]?.length, completeStream.frames[6]?.trim()]).toEqual([300_000, frames[6]]);
      const singleUpdate = await requestJson(url, '/v2/updates/update-by-offset', { offset, updateFormat: effects });
      expect(singleUpdate.body).toBe(frames[6]);
    },
  },
  {
    rows: ['L10'],
    says: 'a compressed frame is small on the wire and huge when inflated, if the client offers compression',
    async run({ url, ledger, faults }) {
      faults.compress = true;
      faults.oversizedFrames = { bytes: 5_000_000 };
      const bounded = after(0, ledger.ledgerEnd());
      const bomb = await watch(url, updates, bounded, { deflate: true, enough: () => true });
      expect(bomb.frames[0]).toHaveLength(5_000_000);
      expect(bomb.bytes).toBeLessThan(1_000_000);
      const plainFrames = await watch(url, updates, bounded, { enough: () => true });
      expect(plainFrames.bytes).toBeGreaterThan(1_000_000);
    },
  },
  {
    rows: ['L11'],
    says: 'a frame holds broken JSON, broken UTF-8 or binary data',
    async run({ url, ledger, faults }) {
      const allUpdates = after(0, ledger.ledgerEnd());
      faults.invalidJson = { afterFrames: 2, times: 1 };
      const { frames } = await watch(url, updates, allUpdates);
      expect(() => JSON.parse(frames[2] ?? '') as unknown).toThrow(SyntaxError);
      faults.binaryFrames = { afterFrames: 1, times: 1 };
      const { binary } = await watch(url, updates, allUpdates);
      expect(binary.slice(0, 3)).toEqual([false, true, false]);
      faults.invalidUtf8 = { afterFrames: 2, times: 1 };
      const brokenFrames = await watch(url, updates, allUpdates);
      expect([brokenFrames.frames.length, brokenFrames.error]).toEqual([2, 'WS_ERR_INVALID_UTF8']);
    },
  },
  {
    rows: ['L11'],
    says: 'a frame comes in fragments, split inside a character, and means the same',
    async run({ url, ledger, faults }) {
      const beginOffset = ledger.ledgerEnd();
      ledger.create('#model-tests:Iou:Iou', { issuer: 'ä', owner: 'ä', amount: '1' }, ['ä']);
      const last = after(beginOffset, ledger.ledgerEnd());
      const { frames } = await watch(url, updates, last);
      faults.splitFrames = {};
      expect((await watch(url, updates, last)).frames).toEqual(frames);
      const { bytes } = await watchBytes(url, updates, last, 500);
      const length = bytes[1] === 126 ? bytes.readUInt16BE(2) : Number(bytes[1]);
      const header = bytes[1] === 126 ? 4 : 2;
      expect([bytes[0], bytes[header + length - 1], bytes[header + length]]).toEqual([0x01, 0xc3, 0x80]);
    },
  },
  {
    rows: ['L11'],
    says: 'an update is of an unknown kind and keeps its offset',
    async run({ url, ledger, faults }) {
      const allUpdates = after(0, ledger.ledgerEnd());
      const originalUpdates = await watch(url, updates, allUpdates);
      faults.unknownKind = { afterFrames: 4, times: 1 };
      const { frames } = await watch(url, updates, allUpdates);
      expect(frames[4]).toMatch(/^\{"update":\{"SandboxUpdate":\{"value":\{/);
      expect(frames.map((frame) => offsetOf(frame))).toEqual(originalUpdates.frames.map((frame) => offsetOf(frame)));
    },
  },
  {
    rows: ['L11', 'H6'],
    says: 'keys are missing and keys are added, above the payloads only',
    async run({ url, ledger, faults }) {
      const beginOffset = ledger.ledgerEnd();
      const argument = { issuer: 'a', amount: '1', workflowId: 'own' };
      const CreatedEvent = { contractId: '00aa', templateId: 'ff:M:T', createArgument: argument, acsDelta: true };
      const value = { updateId: 'u', workflowId: '', events: [{ CreatedEvent }], paidTrafficCost: 1 };
      ledger.appendRaw({ update: { Transaction: { value } } });
      const last = after(beginOffset, ledger.ledgerEnd());
      faults.dropKeys = { keys: ['workflowId', 'paidTrafficCost', 'acsDelta'] };
      faults.addKeys = { keys: { future: [1] } };
      const { frames } = await watch(url, updates, last);
      expect(frames[0]).toContain(`"createArgument":${JSON.stringify(argument)}`);
      expect(frames[0]).not.toMatch(/"workflowId":""|paidTrafficCost|acsDelta/);
      expect(frames[0]?.match(/"future":\[1\]/g)?.length).toBeGreaterThanOrEqual(2);
      expect(frames[0]).toMatch(/^\{"update":\{"Transaction":\{"value":\{/);
    },
  },
  {
    rows: ['L11'],
    says: 'views of interfaces are computed by a newer package',
    async run({ url, ledger, faults }) {
      const beginOffset = ledger.ledgerEnd();
      const interfaceViews = [{ interfaceId: 'i:M:I', viewValue: { a: '1' }, implementationPackageId: 'old' }];
      const CreatedEvent = { contractId: '00aa', createArgument: { a: '1' }, interfaceViews };
      ledger.appendRaw({ update: { Transaction: { value: { updateId: 'u', events: [{ CreatedEvent }] } } } });
      faults.newerViews = { packageId: 'new' };
      const { frames } = await watch(url, updates, after(beginOffset, ledger.ledgerEnd()));
      expect(frames[0]).toContain(
        '"createArgument":{"a":"1"},"interfaceViews":[{"interfaceId":"i:M:I","viewValue":{"a":"1","addedLater":null},"implementationPackageId":"new"}]',
      );
    },
  },
  {
    rows: ['L11'],
    says: 'parties are listed in another order, those in payloads are not',
    async run({ url, ledger, faults }) {
      const beginOffset = ledger.ledgerEnd();
      const createArgument = { observers: ['a', 'b'] };
      const CreatedEvent = {
        contractId: '00aa',
        createArgument,
        signatories: ['a', 'b'],
        witnessParties: ['c', 'a', 'b'],
      };
      ledger.appendRaw({ update: { Transaction: { value: { updateId: 'u', events: [{ CreatedEvent }] } } } });
      faults.reverseParties = {};
      const { frames } = await watch(url, updates, after(beginOffset, ledger.ledgerEnd()));
      expect(frames[0]).toContain(
        '"createArgument":{"observers":["a","b"]},"signatories":["b","a"],"witnessParties":["b","a","c"]',
      );
    },
  },
];
