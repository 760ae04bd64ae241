/** Faults of the ledger's history, as received on the wire. */
import { expect } from 'vitest';
import type { FaultRow } from './fault-rows.ts';
import { activeAt, after, requestJson, contracts, effects, offsetOf, updates, watch } from '../server/raw.ts';

const requestAtOffset = (url: string, offset: number): ReturnType<typeof requestJson> =>
  requestJson(url, '/v2/updates/update-by-offset', { offset, updateFormat: effects });
const updateId = (body = ''): string => /"updateId":"(\w+)"/.exec(body)?.[1] ?? '';
const recordTime = (body = ''): string => /"recordTime":"([^"]+)"/.exec(body)?.[1] ?? '';

export const historyRows: readonly FaultRow[] = [
  {
    rows: ['H1'],
    says: 'a reset ledger begins again below the old offsets',
    async run({ url, ledger }) {
      const old = ledger.ledgerEnd();
      ledger.reset();
      expect((await requestJson(url, '/v2/state/ledger-end')).body).toBe('{"offset":0}');
      expect((await watch(url, updates, after(old))).frames.join()).toContain('OFFSET_AFTER_LEDGER_END');
    },
  },
  {
    rows: ['H2'],
    says: 'another participant responds at the same address',
    async run({ url, ledger }) {
      ledger.participantId = 'participant2::1220aa';
      expect((await requestJson(url, '/v2/parties/participant-id')).body).toBe(
        '{"participantId":"participant2::1220aa"}',
      );
    },
  },
  {
    rows: ['H3'],
    says: 'a restored ledger forgets its tail, and then has other updates at the same offsets',
    async run({ url, ledger }) {
      const end = ledger.ledgerEnd();
      const contractFrames = await watch(url, contracts, activeAt(20));
      const [updateAt20, updateAtEnd] = [await requestAtOffset(url, 20), await requestAtOffset(url, end)];
      ledger.restore(20);
      expect((await requestJson(url, '/v2/state/ledger-end')).body).toBe('{"offset":20}');
      expect((await watch(url, contracts, activeAt(20))).frames).toEqual(contractFrames.frames);
      while (ledger.ledgerEnd() < end)
        ledger.create('#model-tests:Iou:Iou', { issuer: 'a', owner: 'a', amount: '1' }, ['a']);
      expect(await requestAtOffset(url, 20)).toEqual(updateAt20);
      const otherUpdate = await requestAtOffset(url, end);
      expect(offsetOf(otherUpdate.body)).toBe(end);
      expect(updateId(otherUpdate.body)).not.toBe(updateId(updateAtEnd.body));
    },
  },
  {
    rows: ['H3'],
    says: 'a rewritten ledger has the same offsets and contracts under other update ids',
    async run({ url, ledger }) {
      const end = ledger.ledgerEnd();
      const [acs, originalUpdates] = [await watch(url, contracts, activeAt(end)), await requestAtOffset(url, end)];
      ledger.rewriteAfter(end - 1);
      expect((await watch(url, contracts, activeAt(end))).frames).toEqual(acs.frames);
      const now = await requestAtOffset(url, end);
      expect(now.body?.replace(updateId(now.body), updateId(originalUpdates.body))).toBe(originalUpdates.body);
      expect(updateId(now.body)).not.toBe(updateId(originalUpdates.body));
    },
  },
  {
    rows: ['L21'],
    says: 'a lagging replica hides the newest offsets until it has caught up',
    async run({ url, ledger }) {
      const end = ledger.ledgerEnd();
      ledger.lagBehind(5);
      expect((await requestJson(url, '/v2/state/ledger-end')).body).toBe(`{"offset":${end - 5}}`);
      expect((await watch(url, updates, after(end))).frames.join()).toContain('OFFSET_AFTER_LEDGER_END');
      const tail = await watch(url, updates, after(end - 9), { waitMs: 350 });
      expect(Math.max(...tail.frames.map((frame) => offsetOf(frame)))).toBeLessThanOrEqual(end - 5);
      expect((await requestAtOffset(url, end)).status).toBe(404);
      ledger.lagBehind(0);
      expect((await requestJson(url, '/v2/state/ledger-end')).body).toBe(`{"offset":${end}}`);
      expect((await requestAtOffset(url, end)).status).toBe(200);
    },
  },
  {
    rows: ['H4', 'H5'],
    says: 'pruning is visible in the pruned offsets before it reaches a reader, and then refuses the reader',
    async run({ url, ledger }) {
      ledger.pruneTo(10);
      expect((await requestJson(url, '/v2/state/latest-pruned-offsets')).body).toContain(
        '"participantPrunedUpToInclusive":10',
      );
      expect((await watch(url, updates, after(9))).frames.join()).toContain('"earliest_offset":"10"');
      expect((await watch(url, updates, after(10, 11))).code).toBe(1000);
    },
  },
  {
    rows: ['H6', 'H7', 'H8', 'H10'],
    says: 'recorded frames contain a new package, a failed view, a lone assign and an archive of an unknown contract',
    async run({ url, ledger }) {
      const beginOffset = ledger.ledgerEnd();
      const base = { contractId: '00aa', templateId: 'ff:Main:T', packageName: 'new', nodeId: 0 };
      const status = { code: 9, message: 'the view fails', details: [] };
      const view = { interfaceId: 'ee:I:I', viewStatus: status, viewValue: null, implementationPackageId: null };
      const CreatedEvent = { ...base, createArgument: { fresh: '1' }, interfaceViews: [view] };
      const ArchivedEvent = { ...base, contractId: '00bb', witnessParties: ['a'], implementedInterfaces: [] };
      const assignedEvent = { source: 's1', target: 's2', reassignmentId: 'r', submitter: 'a', reassignmentCounter: 3 };
      const transaction = (events: unknown): object => ({
        update: { Transaction: { value: { updateId: 'u', events } } },
      });
      const JsAssignmentEvent = { ...assignedEvent, createdEvent: CreatedEvent };
      const sentUpdates = [
        transaction([{ CreatedEvent }]),
        transaction([{ ArchivedEvent }]),
        { update: { Reassignment: { value: { updateId: 'v', events: [{ JsAssignmentEvent }] } } } },
      ];
      for (const frame of sentUpdates) ledger.appendRaw(JSON.stringify(frame));
      const { frames } = await watch(url, updates, after(beginOffset, ledger.ledgerEnd()));
      expect(frames).toEqual(sentUpdates.map((frame) => JSON.stringify(frame)));
    },
  },
  {
    rows: ['H9'],
    says: 'record times go back from one synchronizer to the other and grow on each',
    async run({ url, ledger }) {
      const beginOffset = ledger.ledgerEnd();
      const [firstSynchronizer, secondSynchronizer] = ledger.synchronizers.map(({ id }) => id);
      ledger.lagSynchronizer(secondSynchronizer ?? '', 3_600_000_000);
      for (let round = 0; round < 6; round += 1) {
        const argument = { issuer: 'a', owner: 'a', amount: '1' };
        const synchronizerId = (round % 2 === 0 ? firstSynchronizer : secondSynchronizer) ?? '';
        const commands = [{ kind: 'create', templateId: '#model-tests:Iou:Iou', argument }] as const;
        ledger.submit({ commands, actAs: ['a'], synchronizerId });
      }
      const { frames } = await watch(url, updates, after(beginOffset, ledger.ledgerEnd()));
      const times = frames.map((frame) => Date.parse(recordTime(frame)));
      const backward = times.slice(1).filter((time, index) => time < (times[index] ?? 0));
      expect(backward).toHaveLength(3);
      expect(times.filter((_, index) => index % 2 === 1)).toEqual(
        times.filter((_, index) => index % 2 === 1).toSorted((a, b) => a - b),
      );
    },
  },
];
