/**
 * Tests the order of updates with a ledger that sends exactly the given frames, in the promised order or in a wrong
 * order.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { startFakeLedger, type FakeLedger } from '../ledger/fake-ledger.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { created, offsetCheckpoint, text, transaction, type Json } from '../support/frames.ts';
import { createMigratedDatabase } from '../support/migrated-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { waitUntilParked, retriesFor } from './fault-world.ts';

const update = (offset: number): Json =>
  transaction(offset, [{ CreatedEvent: created({ contractId: `00${String(offset).padStart(2, '0')}`, offset }) }]);

let database: TestDatabase;
beforeEach(async () => {
  database = await createMigratedDatabase();
});
afterEach(() => database.drop());

/** Responds to a request for an update by offset. */
function serveLookup(request: IncomingMessage, response: ServerResponse): void {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
  request.on('end', () => response.end(text(update(Number(/"offset":(\d+)/u.exec(body)?.[1])))));
}

/** Sends `frames` to streams that begin after offset 0, and `late` one second later. Other streams receive nothing. */
async function ledgerOf(
  ledgerEnd: number,
  frames: readonly Json[],
  lateFrames: readonly Json[] = [],
): Promise<FakeLedger & AsyncDisposable> {
  const responsesByUrl: Record<string, object> = {
    '/v2/parties/participant-id': { participantId: 'p::1220' },
    '/v2/state/ledger-end': { offset: ledgerEnd },
    '/v2/state/latest-pruned-offsets': { participantPrunedUpToInclusive: 0 },
  };
  const ledger = await startFakeLedger({
    http: (request, response) => {
      if (request.url === '/v2/updates/update-by-offset') {
        serveLookup(request, response);
        return;
      }
      const scripted = responsesByUrl[request.url ?? ''];
      response.writeHead(scripted === undefined ? 404 : 200).end(JSON.stringify(scripted ?? {}));
    },
    socket: (socket, request) => {
      if (!request.includes('"beginExclusive":0,')) return;
      for (const frame of frames) socket.send(text(frame));
      setTimeout(() => {
        for (const frame of lateFrames) socket.send(text(frame));
      }, 1_000);
    },
  });
  return { ...ledger, [Symbol.asyncDispose]: () => ledger.stop() };
}

const run = (ledger: FakeLedger) =>
  runIndexer({
    LEDGER_URL: ledger.url,
    DATABASE_URL: database.url,
    INDEXER_START: 'genesis',
  });

describe('an OffsetCheckpoint', () => {
  it.each([
    ['below', 4],
    ['at', 5],
  ])('causes the rejection of its batch if an update %s its offset follows', async (_position, lateFrames) => {
    await using ledger = await ledgerOf(6, [update(3), offsetCheckpoint(5), update(lateFrames), update(6)]);
    await using indexer = await run(ledger);
    const { code, message } = await waitUntilParked(indexer);
    expect(code).toBe('LEDGER_OUT_OF_ORDER');
    expect(message).toContain(`offset ${String(lateFrames)} after offset 5`);
    expect(retriesFor(indexer, code)).toBe(2);
    expect(await query(database.url, `select checkpoint::int from ledger.stream`)).toEqual([{ checkpoint: 0 }]);
    expect(await query(database.url, `select from ledger.updates`)).toEqual([]);
  });

  it('does not hide an earlier update that arrives after its commit', async () => {
    await using ledger = await ledgerOf(5, [update(3), offsetCheckpoint(5)], [update(4)]);
    await using indexer = await run(ledger);
    await waitFor('the late update', () => (retriesFor(indexer, 'LEDGER_OUT_OF_ORDER') > 0 ? true : undefined));
    expect(await query(database.url, 'select "offset"::int from ledger.updates order by 1')).toEqual([
      { offset: 3 },
      { offset: 4 },
    ]);
    expect(await query(database.url, 'select checkpoint::int from ledger.stream')).toEqual([{ checkpoint: 5 }]);
  });

  it('permits a repeated update at its offset', async () => {
    await using ledger = await ledgerOf(6, [update(5), offsetCheckpoint(5), update(5), update(6), offsetCheckpoint(6)]);
    await using indexer = await run(ledger);
    await indexer.reaches(6);
    expect(indexer.logged('backing off')).toBe(0);
    expect(await query(database.url, 'select "offset"::int from ledger.updates order by 1')).toEqual([
      { offset: 5 },
      { offset: 6 },
    ]);
  });
});
