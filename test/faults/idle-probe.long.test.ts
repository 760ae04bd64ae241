/**
 * Tests offsets that have no update, because a command was rejected or the filter does not match. The stream does not
 * report them for a minute. So the indexer requests the range, and passes it only if it is confirmed empty.
 */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { post } from '../../packages/ledger-sandbox/test/server/sockets.ts';
import { RangeLedger, type ResponseOverride } from './range-ledger.ts';

const bank = 'Bank::1220aa';
const account = { bank, owner: bank, number: '1', balance: '10', version: '1' };

/** Long enough for a busy machine. The ledger of these tests sends no OffsetCheckpoints. */
const probeLimitMs = 40_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const run = (url: string, schema: string, env: Readonly<Record<string, string>> = {}): Promise<IndexerRun> =>
  runIndexer({
    LEDGER_URL: url,
    DATABASE_URL: database.url,
    POSTGRES_SCHEMA: schema,
    INDEXER_START: 'genesis',
    // The ledger of these tests has only one stream.
    INDEXER_COMPLETIONS: 'off',
    ...env,
  });

async function storedOffsets(schema: string): Promise<readonly number[]> {
  const rows = await query(database.url, `select "offset"::int as "offset" from ${schema}.updates order by 1`);
  return rows.map(({ offset }) => Number(offset));
}

async function checkpoint(schema: string): Promise<number> {
  const [row] = await query(database.url, `select checkpoint::int from ${schema}.stream`);
  return Number(row?.['checkpoint']);
}

/** Number of probed ranges with this result. */
const countProbes = (indexer: IndexerRun, probeAnswer: string): Promise<number> =>
  indexer.metric(`indexer_idle_probes_total{result="${probeAnswer}"}`);

const hasProbeAnswer = (indexer: IndexerRun, probeAnswer: string): Promise<true> =>
  waitFor(
    `a range is ${probeAnswer}`,
    async () => ((await countProbes(indexer, probeAnswer)) > 0 ? true : undefined),
    probeLimitMs,
  );

describe('offsets without an update', () => {
  it('are passed, so that /wait and wait_for_offset return', async () => {
    await using ledger = await RangeLedger.start();
    ledger.grow(3, 1, 3);
    await using indexer = await run(ledger.url, 'eaten');
    await indexer.reaches(3);
    ledger.grow(7);
    const waitResponse = await fetch(`${indexer.httpUrl}/wait?offset=7&timeout=30`);
    expect([waitResponse.status, await waitResponse.json()]).toEqual([200, { checkpoint: 7 }]);
    ledger.grow(9);
    const [row] = await query(database.url, `select eaten_explore.wait_for_offset(9, '30 seconds')::int as reached`);
    expect(row).toEqual({ reached: 9 });
    await indexer.reaches(9);
    expect(await indexer.status()).toMatchObject({ offsetsBehind: 0, lagSeconds: 0, delay: { cause: 'none' } });
    expect(await storedOffsets('eaten')).toEqual([1, 3]);
    expect([ledger.opened, indexer.logged('backing off')]).toEqual([1, 0]);
  });

  it('are passed after rejected commands, and with a filter that matches no update', async () => {
    await using sandbox = await startSandbox({ seed: 5 });
    generateHistory(sandbox.ledger, { seed: 41, updates: 20 });
    await using everybodyIndexer = await run(sandbox.url, 'everybody');
    await using nobodyIndexer = await run(sandbox.url, 'nobody', {
      LEDGER_PARTIES: 'Nobody::1220aa',
      LEDGER_TOPOLOGY: 'false',
    });
    for (const indexer of [everybodyIndexer, nobodyIndexer])
      await indexer.reaches(sandbox.ledger.ledgerEnd(), probeLimitMs);
    const command = { CreateCommand: { templateId: '#sandbox-test:Keyed:Account', createArguments: account } };
    const submit = () =>
      post(sandbox.url, '/v2/commands/submit-and-wait', { commands: [command], commandId: 'twice', actAs: [bank] });
    expect([(await submit()).status, (await submit()).status]).toEqual([200, 409]);
    const end = sandbox.ledger.ledgerEnd();
    for (const { httpUrl } of [everybodyIndexer, nobodyIndexer]) {
      expect((await fetch(`${httpUrl}/wait?offset=${end}&timeout=30`)).status).toBe(200);
    }
    expect(await countProbes(nobodyIndexer, 'empty')).toBeGreaterThan(0);
    expect((await storedOffsets('everybody')).at(-1)).toBe(end - 1);
    expect(await storedOffsets('nobody')).toEqual([]);
  });

  it('are passed after a busy ledger has rejected ledger-end requests', async () => {
    await using ledger = await RangeLedger.start();
    ledger.grow(3, 1, 3);
    await using indexer = await run(ledger.url, 'busy');
    await indexer.reaches(3);
    ledger.endAnswer = (response) => {
      response.writeHead(429, { 'retry-after': '1' }).end();
      return true;
    };
    const requestsBefore = ledger.ledgerEndRequestCount;
    // The poll and the idle probe request the ledger end. After three requests, at least one of them has repeated its
    // own.
    await waitFor(
      'three questions',
      () => (ledger.ledgerEndRequestCount >= requestsBefore + 3 ? true : undefined),
      2 * probeLimitMs,
    );
    ledger.endAnswer = () => false;
    ledger.grow(7);
    await indexer.reaches(7, 2 * probeLimitMs);
  });

  it('are not requested while the stream sends updates', async () => {
    await using ledger = await RangeLedger.start();
    await using indexer = await run(ledger.url, 'lively');
    const growTimer = setInterval(() => ledger.grow(ledger.end + 3, ledger.end + 2), 50);
    await indexer.reaches(200);
    clearInterval(growTimer);
    expect(ledger.boundedRequestCount).toBe(0);
  });
});

describe('an undelivered update', () => {
  const earlyOverride: ResponseOverride<WebSocket> = (socket) => {
    socket.close(1000);
    return true;
  };
  const respondNothing: ResponseOverride<ServerResponse> = (response) => {
    response.writeHead(200).end('[]');
    return true;
  };

  it.each([
    ['is in both responses', 'told', undefined, undefined],
    ['is in the HTTP response only', 'gateway', earlyOverride, undefined],
    ['is in the WebSocket response only', 'patience', undefined, respondNothing],
  ])('is not skipped when it %s, and is stored once', async (_, schema, bounded, list) => {
    await using ledger = await RangeLedger.start();
    ledger.grow(3, 1, 3);
    ledger.bounded = bounded ?? ledger.bounded;
    ledger.list = list ?? ledger.list;
    ledger.held.add(5);
    await using indexer = await run(ledger.url, schema);
    await indexer.reaches(3);
    ledger.grow(7, 5);
    await hasProbeAnswer(indexer, 'undelivered');
    expect([await checkpoint(schema), await countProbes(indexer, 'empty')]).toEqual([3, 0]);
    expect(await indexer.status()).toMatchObject({
      offsetsBehind: 4,
      delay: { cause: 'source', message: expect.stringContaining('The ledger has an update there') as string },
    });
    ledger.held.clear();
    ledger.deliver();
    // After that, both responses are correct, and the later ranges are empty.
    await indexer.reaches(7, probeLimitMs);
    expect(await storedOffsets(schema)).toEqual([1, 3, 5]);
    expect([ledger.opened, await indexer.metric('indexer_out_of_order_updates_total')]).toEqual([1, 0]);
  });

  it('is not skipped after a response that is older than the newest frame', async () => {
    await using ledger = await RangeLedger.start();
    ledger.grow(3, 1, 3);
    for (const offset of [5, 6]) ledger.held.add(offset);
    await using indexer = await run(ledger.url, 'overtaken');
    await indexer.reaches(3);
    let falseEnds = 1;
    ledger.bounded = (socket) => falseEnds > 0 && earlyOverride(socket);
    ledger.list = async (response) => {
      if (falseEnds === 0) return false;
      falseEnds -= 1;
      ledger.held.delete(5);
      ledger.deliver();
      await indexer.reaches(5);
      return respondNothing(response);
    };
    ledger.grow(7, 5, 6);
    await hasProbeAnswer(indexer, 'obsolete');
    await hasProbeAnswer(indexer, 'undelivered');
    expect(await checkpoint('overtaken')).toBe(5);
    ledger.held.clear();
    ledger.deliver();
    await indexer.reaches(7, probeLimitMs);
    expect(await storedOffsets('overtaken')).toEqual([1, 3, 5, 6]);
    expect([ledger.opened, await indexer.metric('indexer_out_of_order_updates_total')]).toEqual([1, 0]);
  });

  it('is assumed while the ledger rejects probes, which is logged once', async () => {
    await using ledger = await RangeLedger.start();
    ledger.grow(3, 1, 3);
    await using indexer = await run(ledger.url, 'refused');
    await indexer.reaches(3);
    ledger.list = (response) => {
      response.writeHead(503, { 'content-type': 'text/plain' }).end('busy');
      return true;
    };
    ledger.grow(7);
    await waitFor(
      'two refusals',
      async () => ((await countProbes(indexer, 'refused')) > 1 ? true : undefined),
      probeLimitMs,
    );
    expect(indexer.log.filter((line) => line.includes('does not report whether updates precede its end')).length).toBe(
      1,
    );
    expect(await checkpoint('refused')).toBe(3);
    expect(await indexer.status()).toMatchObject({
      delay: { message: expect.stringContaining('does not report') as string },
    });
    ledger.list = () => false;
    await indexer.reaches(7, probeLimitMs);
  });

  it('is stored at its offset if neither response contained it', async () => {
    await using ledger = await RangeLedger.start();
    ledger.grow(3, 1, 3);
    ledger.held.add(5);
    ledger.bounded = earlyOverride;
    ledger.list = respondNothing;
    await using indexer = await run(ledger.url, 'hidden');
    await indexer.reaches(3);
    ledger.grow(7, 5);
    await indexer.reaches(7, probeLimitMs);
    ledger.bring(5);
    await waitFor(
      'it is stored',
      async () => ((await storedOffsets('hidden')).includes(5) ? true : undefined),
      probeLimitMs,
    );
    expect(await storedOffsets('hidden')).toEqual([1, 3, 5]);
  });
});
