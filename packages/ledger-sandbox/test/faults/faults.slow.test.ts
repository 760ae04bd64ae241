/** Every fault of the ledger in the fault matrix can be enabled, and a client can observe it. */
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { generateHistory } from '../../src/demo/traffic.ts';
import { frameRows } from './fault-rows-frames.ts';
import { historyRows } from './fault-rows-history.ts';
import { requestRows } from './fault-rows-requests.ts';
import { streamRows } from './fault-rows-streams.ts';
import { rowsTestedElsewhere } from './fault-rows.ts';
import { after, requestJson, updates, watch } from '../server/raw.ts';

const allRows = [...streamRows, ...frameRows, ...requestRows, ...historyRows];
const ids = (letter: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
const matrix = [...ids('L', 21), ...ids('K', 9), ...ids('H', 10)];

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3, admin: true, limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 1, updates: 40 });
});
afterEach(async () => {
  await sandbox.close();
});

describe('the fault matrix', () => {
  const passedFaults = new Set<string>();
  for (const row of allRows) {
    const { rows, says: effect } = row;
    it(`${rows.join(' ')}: ${effect}`, async () => {
      await row.run(sandbox);
      for (const id of rows) passedFaults.add(id);
    });
  }

  it('has no other rows: every row is tested here or does not concern the ledger', () => {
    const servedRows = new Set([...allRows.flatMap(({ rows }) => rows), ...Object.keys(rowsTestedElsewhere)]);
    expect(matrix.filter((row) => !servedRows.has(row))).toEqual([]);
    expect(matrix).toEqual(expect.arrayContaining([...servedRows]));
  });

  afterAll(() => {
    const reasons = Object.entries(rowsTestedElsewhere).map(([row, reason]) => `  ${row}: ${reason}`);
    console.log(
      `ledger-side rows of the fault matrix seen on the wire: ${passedFaults.size} of ${matrix.length}; not here:`,
    );
    console.log(reasons.join('\n'));
  });
});

describe('the endpoints that script the sandbox', () => {
  it('set, list and remove faults without changing other faults', async () => {
    const { url } = sandbox;
    const set = await requestJson(url, '/sandbox/faults', { stall: { afterFrames: 2 }, duplicateCheckpoints: true });
    expect(set).toMatchObject({ status: 200, body: '{"stall":{"afterFrames":2},"duplicateCheckpoints":true}' });
    expect((await watch(url, updates, after(0), { waitMs: 400 })).frames).toHaveLength(2);
    await requestJson(url, '/sandbox/faults', { stall: null });
    expect((await requestJson(url, '/sandbox/faults')).body).toBe('{"duplicateCheckpoints":true}');
  });

  it('work while the sandbox does not respond to other requests', async () => {
    await requestJson(sandbox.url, '/sandbox/faults', { neverAnswer: true });
    expect((await requestJson(sandbox.url, '/sandbox/faults', { neverAnswer: false })).status).toBe(200);
    expect((await requestJson(sandbox.url, '/v2/state/ledger-end')).status).toBe(200);
  });

  it.each([
    [{ stal: {} }, /unknown fault stal; known: cutEveryFrames, cut, cutMidFrame/],
    [{ stall: {} }, /fault stall: missing field afterFrames, count/],
    [{ cut: { after: 1 } }, /fault cut: unknown field after; known: path, times, afterFrames, atOffset/],
    [{ cut: { times: -1 } }, /fault cut: field times is not count/],
    [{ answer: { as: 'X' } }, /fault answer: field as is not one of SERVICE_NOT_RUNNING/],
    [{ compress: 1 }, /fault compress: expected true/],
  ])('refuse unknown entries, and change nothing: %j', async (body, expectedMessage) => {
    const refusedResponse = await requestJson(sandbox.url, '/sandbox/faults', { duplicateCheckpoints: true, ...body });
    expect(refusedResponse).toMatchObject({ status: 400, type: 'text/plain; charset=UTF-8' });
    expect(refusedResponse.body).toMatch(expectedMessage);
    expect((await requestJson(sandbox.url, '/sandbox/faults')).body).toBe('{}');
  });

  it('run ledger actions', async () => {
    const end = sandbox.ledger.ledgerEnd();
    const actionArguments = { skipOffsets: { count: 7 }, prune: { to: 5 }, participantId: { id: 'p::1220' } };
    const { body = '' } = await requestJson(sandbox.url, '/sandbox/ledger', actionArguments);
    expect(JSON.parse(body)).toMatchObject({ ledgerEnd: end + 7, prunedTo: 5, participantId: 'p::1220' });
    const refusedResponse = await requestJson(sandbox.url, '/sandbox/ledger', { restore: { to: 4 } });
    expect(refusedResponse).toMatchObject({ status: 400 });
    expect(refusedResponse.body).toMatch(/cannot be restored/);
    expect(JSON.parse((await requestJson(sandbox.url, '/sandbox/ledger', { reset: true })).body ?? '')).toMatchObject({
      ledgerEnd: 0,
    });
  });

  it('do not exist by default, and reject requests of browser pages and requests under other host names', async () => {
    await using defaultSandbox = await startSandbox();
    expect((await requestJson(defaultSandbox.url, '/sandbox/faults')).status).toBe(404);
    for (const headers of [{ origin: 'http://127.0.0.1' }, { host: 'ledger.example.org' }]) {
      expect((await requestJson(sandbox.url, '/sandbox/faults', undefined, { headers })).status).toBe(404);
    }
  });
});
