/** Faults of requests and handshakes, as received on the wire. */
import { expect } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { FaultRow } from './fault-rows.ts';
import { after, requestJson, contracts, activeAt, updates, watch } from '../server/raw.ts';

const end = '/v2/state/ledger-end';
const plainText = 'text/plain; charset=UTF-8';

export const requestRows: readonly FaultRow[] = [
  {
    rows: ['L1', 'L2'],
    says: 'connections are refused after a stop, reset by the fault, and accepted again after a restart',
    async run({ url, faults }) {
      faults.refuseConnections = true;
      expect(await requestJson(url, end)).toEqual({ error: 'ECONNRESET' });
      expect((await watch(url, updates, after(0))).error).toBe('ECONNRESET');
      faults.refuseConnections = undefined;
      expect((await requestJson(url, end)).status).toBe(200);
      const stoppedSandbox = await startSandbox();
      const port = Number(new URL(stoppedSandbox.url).port);
      await stoppedSandbox.close();
      expect(await requestJson(stoppedSandbox.url, end)).toEqual({ error: 'ECONNREFUSED' });
      await using restartedSandbox = await startSandbox({ port });
      expect((await requestJson(restartedSandbox.url, end)).status).toBe(200);
    },
  },
  {
    rows: ['L19'],
    says: 'a list is too long: really, and by the fault',
    async run({ url, ledger, faults }) {
      faults.answer = { as: 'LIST_TOO_LONG', path: contracts, times: 1 };
      const request = activeAt(ledger.ledgerEnd());
      const refusedResponse = await requestJson(url, contracts, request);
      expect(refusedResponse).toMatchObject({ status: 413, type: 'application/json' });
      expect(refusedResponse.body).toContain('JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED');
      expect((await requestJson(url, contracts, request)).status).toBe(200);
    },
  },
  {
    rows: ['L20', 'K3', 'K5'],
    says: 'requests get every status: 400, 401, 403, 409, 413, 429, 502, 503 and 504',
    async run({ url, faults }) {
      const statuses: unknown[] = [];
      for (const failureName of [
        'UNDECODABLE',
        'BODY_TOO_LARGE',
        'REQUEST_TIMEOUT',
        'PROXY_ERROR',
        'PROXY_PAGE',
        'UNAUTHENTICATED',
        'PERMISSION_DENIED',
        'SERVER_OVERLOADED',
        'RESOURCE_EXHAUSTED',
        'SERVICE_NOT_RUNNING',
        'DEADLINE_EXCEEDED',
      ] as const) {
        faults.answer = { as: failureName, path: end, times: 1 };
        const { status, type } = await requestJson(url, end);
        statuses.push([status, type]);
      }
      const json = 'application/json';
      const strayResponses = [
        [400, plainText],
        [413, plainText],
        [503, plainText],
        [502, 'text/html'],
        [200, 'text/html'],
      ];
      expect(statuses).toEqual([
        ...strayResponses,
        [401, json],
        [403, json],
        [409, json],
        [429, json],
        [503, json],
        [504, json],
      ]);
      expect(await requestJson(url, end)).toMatchObject({ status: 200, type: json });
    },
  },
  {
    rows: ['L20'],
    says: 'a response is slow, breaks off, or never comes',
    async run({ url, faults }) {
      // The next fault uses another path, because an abandoned response to this request may still arrive at any time.
      faults.slowAnswers = { delayMs: 120, path: '/v2/version', times: 1 };
      expect(await requestJson(url, '/v2/version', undefined, { waitMs: 60 })).toEqual({ error: 'SILENT' });
      expect((await requestJson(url, '/v2/version')).status).toBe(200);
      faults.cutAnswers = { path: end, times: 1 };
      expect(await requestJson(url, end)).toEqual({ error: 'ECONNRESET' });
      faults.neverAnswer = { path: end };
      expect(await requestJson(url, end, undefined, { waitMs: 100 })).toEqual({ error: 'SILENT' });
      expect((await requestJson(url, '/v2/version')).status).toBe(200);
      faults.neverAnswer = true;
      expect(await requestJson(url, '/v2/version', undefined, { waitMs: 100 })).toEqual({ error: 'SILENT' });
      expect(await watch(url, updates, after(0), { waitMs: 150 })).toMatchObject({ frames: [], code: undefined });
    },
  },
  {
    rows: ['K5', 'L20'],
    says: 'a handshake is refused with a real status, or hangs',
    async run({ url, faults }) {
      faults.refuseUpgrade = { as: 'INVALID_TOKEN', times: 1 };
      expect(await watch(url, updates, after(0))).toMatchObject({ error: '403', code: 1006 });
      faults.refuseUpgrade = { as: 'UNAUTHENTICATED', path: updates, times: 1 };
      expect((await watch(url, updates, after(0))).error).toBe('401');
      faults.hangUpgrade = { path: updates };
      const hungStream = await watch(url, updates, after(0), { waitMs: 150 });
      expect([hungStream.code, hungStream.bytes]).toEqual([undefined, 0]);
    },
  },
];
