/** Reads in pages: sizes, tokens, bounds, pruning, and continuous reading without a socket. */
import { request as httpRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { generateHistory } from '../../src/demo/traffic.ts';
import { anyParty, valueAt, post, stream, updateFormat } from './sockets.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3 });
  generateHistory(sandbox.ledger, { seed: 1, updates: 60 });
});
afterEach(async () => {
  await sandbox.close();
});

const format = updateFormat('LEDGER_EFFECTS');

/** Reads all pages. Returns all elements, and the number of pages. */
async function readAll(path: string, key: string, request: object): Promise<[unknown[], number]> {
  const elements: unknown[] = [];
  let pageToken: unknown;
  for (let pages = 1; ; pages += 1) {
    const page = await post(sandbox.url, path, { ...request, ...(pageToken === undefined ? {} : { pageToken }) });
    expect(page.status).toBe(200);
    elements.push(...(page.body[key] as unknown[]));
    pageToken = page.body['nextPageToken'];
    if (pageToken === null) return [elements, pages];
  }
}

async function updatesOnSocket(): Promise<unknown[]> {
  const request = { beginExclusive: 0, endInclusive: sandbox.ledger.ledgerEnd(), updateFormat: format };
  const { frames } = await stream(sandbox.url, '/v2/updates', request);
  return frames.map((frame) => JSON.parse(frame) as unknown);
}

describe('updates by pages', () => {
  const path = '/v2/updates/get-updates-page';

  it('contain together the updates that the stream delivers, in ascending and descending order', async () => {
    const range = { endOffsetInclusive: sandbox.ledger.ledgerEnd(), maxPageSize: 7, updateFormat: format };
    const streamed = await updatesOnSocket();
    const [ascending, pages] = await readAll(path, 'updates', range);
    expect(ascending).toEqual(streamed);
    expect(pages).toBe(9);
    const [descending] = await readAll(path, 'updates', { ...range, descendingOrder: true });
    expect(descending).toEqual(streamed.toReversed());
  });

  it('have the same descending order as the stream, even over several slices', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 150 });
    const range = { beginExclusive: 5, endInclusive: sandbox.ledger.ledgerEnd(), updateFormat: format };
    const ascending = await stream(sandbox.url, '/v2/updates', range);
    const descending = await stream(sandbox.url, '/v2/updates', { ...range, descendingOrder: true });
    expect(descending.frames).toEqual(ascending.frames.toReversed());
    expect(descending.frames.length).toBeGreaterThan(192);
  });

  it('report the covered range of the ledger, without a gap between two pages', async () => {
    const request = { maxPageSize: 5, updateFormat: format };
    const first = (await post(sandbox.url, path, request)).body;
    const pageToken = first['nextPageToken'];
    const second = (await post(sandbox.url, path, { ...request, pageToken })).body;
    expect(Object.keys(first)).toEqual([
      'updates',
      'lowestPageOffsetExclusive',
      'highestPageOffsetInclusive',
      'nextPageToken',
    ]);
    expect(first['lowestPageOffsetExclusive']).toBe(0);
    expect(second['lowestPageOffsetExclusive']).toBe(first['highestPageOffsetInclusive']);
  });

  it('without an end always return a token, which later requests new updates', async () => {
    const request = { beginOffsetExclusive: sandbox.ledger.ledgerEnd(), updateFormat: format };
    const idlePage = (await post(sandbox.url, path, request)).body;
    expect(idlePage['updates']).toEqual([]);
    expect(idlePage['highestPageOffsetInclusive']).toBe(sandbox.ledger.ledgerEnd());
    generateHistory(sandbox.ledger, { seed: 2, updates: 3 });
    const pageToken = idlePage['nextPageToken'];
    const next = (await post(sandbox.url, path, { ...request, pageToken })).body;
    expect(next['updates']).toHaveLength(3);
    expect(next['highestPageOffsetInclusive']).toBe(sandbox.ledger.ledgerEnd());
    expect(next['nextPageToken']).not.toBeNull();
  });

  it('begin at the pruned offset if all updates are requested, and an older start is refused with that offset', async () => {
    sandbox.ledger.pruneTo(20);
    const fullPage = await post(sandbox.url, path, { updateFormat: format });
    expect(fullPage.body['lowestPageOffsetExclusive']).toBe(20);
    const olderPage = await post(sandbox.url, path, { beginOffsetExclusive: 5, updateFormat: format });
    expect(olderPage).toMatchObject({ status: 400, body: { code: 'PARTICIPANT_PRUNED_DATA_ACCESSED' } });
    expect(valueAt(olderPage.body, 'context', 'earliest_offset')).toBe('20');
  });

  it('accept tokens only for the request and the participant they were returned for', async () => {
    const request = { maxPageSize: 5, updateFormat: format };
    const { nextPageToken: pageToken } = (await post(sandbox.url, path, request)).body;
    const refusedResponse = { status: 400, body: { code: 'INVALID_UPDATES_PAGE_TOKEN' } };
    expect(await post(sandbox.url, path, { ...request, beginOffsetExclusive: 3, pageToken })).toMatchObject(
      refusedResponse,
    );
    expect(await post(sandbox.url, path, { ...request, pageToken: 'bm9uZQ==' })).toMatchObject(refusedResponse);
    await using otherSandbox = await startSandbox({ seed: 3, participantId: 'other::1220' });
    generateHistory(otherSandbox.ledger, { seed: 1, updates: 60 });
    expect(await post(otherSandbox.url, path, { ...request, pageToken })).toMatchObject(refusedResponse);
  });

  it('contain 100 updates by default, and never more than 2000', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 100 });
    expect((await post(sandbox.url, path, { updateFormat: format })).body['updates']).toHaveLength(100);
    const oversizedResponse = await post(sandbox.url, path, { updateFormat: format, maxPageSize: 2001 });
    expect(oversizedResponse).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT' } });
  });
});

describe('active contracts by pages', () => {
  const path = '/v2/state/active-contracts-page';

  it('contain together the snapshot of the stream at the ledger end of the first page', async () => {
    const activeAtOffset = sandbox.ledger.ledgerEnd();
    const { frames } = await stream(sandbox.url, '/v2/state/active-contracts', {
      activeAtOffset,
      eventFormat: anyParty,
    });
    const request = { eventFormat: anyParty, maxPageSize: 4 };
    const first = (await post(sandbox.url, path, request)).body;
    expect(first['activeAtOffset']).toBe(activeAtOffset);
    generateHistory(sandbox.ledger, { seed: 2, updates: 20 });
    const pageToken = first['nextPageToken'];
    const second = (await post(sandbox.url, path, { ...request, pageToken })).body;
    expect(second['activeAtOffset']).toBe(activeAtOffset);
    const [fullPage] = await readAll(path, 'activeContracts', { ...request, activeAtOffset });
    expect(fullPage).toEqual(frames.map((frame) => JSON.parse(frame) as unknown));
    expect([first['activeContracts'], second['activeContracts']].flat()).toEqual(fullPage.slice(0, 8));
  });

  it('are empty at offset 0, refuse tokens of other requests, and name the pruned offset', async () => {
    const empty = await post(sandbox.url, path, { activeAtOffset: 0, eventFormat: anyParty });
    expect(empty.body).toEqual({ activeContracts: [], activeAtOffset: 0, nextPageToken: null });
    const request = { eventFormat: anyParty, maxPageSize: 2 };
    const { nextPageToken: pageToken } = (await post(sandbox.url, path, request)).body;
    const otherPage = await post(sandbox.url, path, { ...request, activeAtOffset: 9, pageToken });
    expect(otherPage).toMatchObject({ status: 400, body: { code: 'INVALID_ACS_PAGE_TOKEN' } });
    sandbox.ledger.skipOffsets(1);
    sandbox.ledger.pruneTo(sandbox.ledger.ledgerEnd());
    const prunedPage = await post(sandbox.url, path, { ...request, pageToken });
    expect(prunedPage.body['code']).toBe('PARTICIPANT_PRUNED_DATA_ACCESSED');
  });

  it('are also returned by the deprecated GET with a body', async () => {
    const body = JSON.stringify({ eventFormat: anyParty, maxPageSize: 3 });
    const text = await new Promise<string>((resolve, reject) => {
      const headers = { 'content-length': Buffer.byteLength(body) };
      const clientRequest = httpRequest(`${sandbox.url}${path}`, { method: 'GET', headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve(Buffer.concat(chunks).toString()));
      });
      clientRequest.on('error', reject);
      clientRequest.end(body);
    });
    expect(valueAt(JSON.parse(text), 'activeContracts', 'length')).toBe(3);
  });
});
