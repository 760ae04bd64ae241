/**
 * `/changes` of a running indexer returns every committed change once and in order. Clients get only changes that they
 * may see.
 */
// cspell:ignore acepted choise
import { request as ask, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IndexerRun } from '../e2e/runs/indexer-run.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { listen, type ReceivedEvents } from './listener.ts';

/** This limit is higher than the number of streams that any test opens, except the test of the limit. */
const maxStreams = 70;
let world: HistoryWorld;
let indexer: IndexerRun;
beforeAll(async () => {
  world = await HistoryWorld.open(120);
  indexer = await world.run('ledger', { INDEXER_START: 'genesis', INDEXER_CHANGES_MAX_CLIENTS: String(maxStreams) });
  await indexer.reaches(world.sandbox.ledger.ledgerEnd());
});
afterAll(async () => {
  await indexer[Symbol.asyncDispose]();
  await world.close();
});

async function storedEvents(condition = 'true'): Promise<readonly string[]> {
  const rows = await query(
    world.database.url,
    `select "offset" || '-' || node_id as id from explore.events where ${condition} order by "offset", node_id`,
  );
  return rows.map(({ id }) => String(id));
}

const waitForReceived = (listener: ReceivedEvents, count: number) =>
  waitFor(`${String(count)} changes`, () => (listener.ids.length >= count ? true : undefined));

/** Response to one request with these headers. */
function sendRequest(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') {
  interface ChangesResponse {
    readonly status: number;
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
  }
  return new Promise<ChangesResponse>((resolve, reject) => {
    const clientRequest = ask(`${indexer.httpUrl}${path}`, { method, headers }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        body += text;
        if (response.statusCode === 200) clientRequest.destroy();
      });
      response.once('close', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    clientRequest.once('error', reject);
    clientRequest.end();
  });
}

describe('GET /changes', () => {
  it('returns stored changes, then each new change, once and in order', async () => {
    const allListener = listen(`${indexer.httpUrl}/changes?after=0`);
    const storedBefore = await storedEvents();
    expect(storedBefore.length).toBeGreaterThan(150);
    await waitForReceived(allListener, storedBefore.length);
    world.grow(40);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const storedAfter = await storedEvents();
    expect(storedAfter.length).toBeGreaterThan(storedBefore.length);
    await waitForReceived(allListener, storedAfter.length);
    expect(allListener.ids).toEqual(storedAfter);
    allListener.close();
  });

  it('resumes after Last-Event-ID', async () => {
    const ids = await storedEvents();
    const middle = Math.floor(ids.length / 2);
    const resumedListener = listen(`${indexer.httpUrl}/changes?after=0`, { lastEventId: ids[middle] ?? '' });
    await waitForReceived(resumedListener, ids.length - middle - 1);
    expect(resumedListener.ids).toEqual(ids.slice(middle + 1));
    resumedListener.close();
  });

  it('starts with the next committed change if the request has no position', async () => {
    const next = listen(`${indexer.httpUrl}/changes`);
    await next.begun;
    const storedBefore = await storedEvents();
    world.grow(5);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const newEvents = (await storedEvents()).slice(storedBefore.length);
    await waitForReceived(next, newEvents.length);
    expect(next.ids).toEqual(newEvents);
    next.close();
  });

  it('waits for a position beyond the checkpoint', async () => {
    const [last, storedBefore] = [world.sandbox.ledger.ledgerEnd(), (await storedEvents()).length];
    const aheadListener = listen(`${indexer.httpUrl}/changes?after=${String(last + 3)}`);
    await aheadListener.begun;
    world.grow(12);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const newEvents = (await storedEvents(`"offset" > ${String(last + 3)}`)).length;
    expect((await storedEvents()).length).toBeGreaterThan(storedBefore + newEvents);
    await waitForReceived(aheadListener, newEvents);
    expect(aheadListener.ids).toEqual(await storedEvents(`"offset" > ${String(last + 3)}`));
    aheadListener.close();
  });

  it('stays open while its queries fail, and resumes', async () => {
    const countBefore = (await storedEvents()).length;
    const liveListener = listen(`${indexer.httpUrl}/changes`);
    await liveListener.begun;
    await query(world.database.url, 'alter view explore.events rename to events_away');
    world.grow(5);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const earlyListener = listen(`${indexer.httpUrl}/changes?after=0`);
    await earlyListener.begun;
    await query(world.database.url, 'alter view explore.events_away rename to events');
    const ids = await storedEvents();
    await waitForReceived(liveListener, ids.length - countBefore);
    await waitForReceived(earlyListener, ids.length);
    expect(liveListener.ids).toEqual(ids.slice(countBefore));
    expect(earlyListener.ids).toEqual(ids);
    for (const listener of [liveListener, earlyListener]) {
      expect(listener.refused).toBeUndefined();
      listener.close();
    }
  });

  it('returns only changes of the requested template, party and event types', async () => {
    const [middleRow] = await query(
      world.database.url,
      `select template_fqn, parties[1] as party from explore.events where event_type = 'created' limit 1`,
    );
    const [template, party] = [String(middleRow?.['template_fqn']), String(middleRow?.['party'])];
    const expectedIds = await storedEvents(
      `template_fqn = '${template}' and '${party}' = any (parties) and event_type in ('created', 'archived')`,
    );
    const parameters = new URLSearchParams({ template, party, after: '0' });
    const filteredListener = listen(
      `${indexer.httpUrl}/changes?${String(parameters)}&event_type=created&event_type=archived`,
    );
    await waitForReceived(filteredListener, expectedIds.length);
    expect(filteredListener.ids).toEqual(expectedIds);
    const rows = await query(
      world.database.url,
      `select "offset"::int, node_id, contract_id, payload from explore.events
        where "offset" || '-' || node_id = any ('{${expectedIds.join()}}') order by "offset", node_id`,
    );
    expect(
      filteredListener.data.map(({ offset, node_id, contract_id, payload }) => ({
        offset,
        node_id,
        contract_id,
        payload,
      })),
    ).toEqual(rows);
    filteredListener.close();
  });

  it('refuses names that are not known, with the nearest names', async () => {
    const [party, template] = ['Mistyped::1220ab', 'splice-amulet:Splice.Amulet:Amulett'];
    const { status, body } = await sendRequest(`/changes?party=${party}&template=${template}&choice=Amulet_Expired`);
    const { error, nearest, remedy } = JSON.parse(body) as Record<string, unknown>;
    expect({ status, nearest, remedy }).toMatchObject({
      status: 400,
      nearest: {
        template: expect.arrayContaining(['splice-amulet:Splice.Amulet:Amulet']) as string[],
        choice: expect.arrayContaining(['Amulet_Expire']) as string[],
      },
      remedy: 'correct it, or add unseen=allow if it will exist later',
    });
    expect(error).toMatch(/^no template splice-amulet:Splice.Amulet:Amulett is known; did you mean /);
    expect(error).toContain('no party Mistyped::1220ab is known; did you mean ');
  });

  it('returns a note if no event has the requested party or template, and both may be unknown', async () => {
    const [party, template] = ['Mistyped::1220ab', 'splice-amulet:Splice.Amulet:Amulett'];
    const markedResponse = await sendRequest(`/changes?party=${party}&template=${template}&unseen=allow`);
    expect(markedResponse.body).toContain(
      ': nothing matches this template and party yet: correct it, unless it will exist later\n',
    );
    expect(markedResponse.headers['indexer-unmatched-filter']).toBe('template, party');
    const [middleRow = {}] = await query(
      world.database.url,
      'select template_fqn, parties[1] as party from explore.events where cardinality(parties) > 0 and template_fqn is not null limit 1',
    );
    const queryString = `party=${String(middleRow['party'])}&template=${String(middleRow['template_fqn'])}`;
    const plainResponse = await sendRequest(`/changes?${queryString}`);
    expect({ status: plainResponse.status, body: plainResponse.body }).toEqual({
      status: 200,
      body: 'retry: 1000\n\n',
    });
    expect(plainResponse.headers).not.toHaveProperty('indexer-unmatched-filter');
  });

  it('refuses an interface as template, and returns a note if the position is ahead of history', async () => {
    const [middleRow = {}] = await query(
      world.database.url,
      "select template_fqn from explore.templates where kind = 'interface' limit 1",
    );
    const templateResponse = await sendRequest(`/changes?template=${String(middleRow['template_fqn'])}`);
    expect({ status: templateResponse.status, body: templateResponse.body }).toMatchObject({
      status: 400,
      body: expect.stringContaining('is of kind interface, expected template: select it as interface') as string,
    });
    const aheadResponse = await sendRequest('/changes?after=99999999');
    expect(aheadResponse.body).toMatch(
      /^: 99999999 is ahead: history ends at offset \d+; correct it, unless it will exist later\n/,
    );
    expect(Number(aheadResponse.headers['indexer-checkpoint'])).toBeGreaterThan(0);
  });

  it('refuses no name if the query for names fails', async () => {
    await query(world.database.url, 'alter function explore.is_known_party(text) rename to is_known_party_away');
    try {
      const { status, headers, body } = await sendRequest('/changes?party=Mistyped::1220ab');
      expect({ status, body }).toEqual({ status: 200, body: 'retry: 1000\n\n' });
      expect(headers).not.toHaveProperty('indexer-unmatched-filter');
    } finally {
      await query(world.database.url, 'alter function explore.is_known_party_away(text) rename to is_known_party');
    }
  });

  it('returns one JSON object per line to clients that accept NDJSON', async () => {
    const response = await fetch(`${indexer.httpUrl}/changes?after=0`, { headers: { accept: 'application/x-ndjson' } });
    let text = '';
    const ids = await storedEvents();
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString('utf8');
      if (text.split('\n').filter((line) => line !== '').length >= ids.length) break;
    }
    const lines = text.split('\n').filter((line) => line !== '');
    const positions = lines.map((line) => JSON.parse(line) as { readonly offset: number; readonly node_id: number });
    expect(positions.map(({ offset, node_id }) => `${String(offset)}-${String(node_id)}`)).toEqual(ids);
  });

  it('reads each page from the database once for all clients', async () => {
    const listeners = Array.from({ length: 60 }, () => listen(`${indexer.httpUrl}/changes`));
    await Promise.all(listeners.map(({ begun: whenStarted }) => whenStarted));
    expect(await indexer.metric('indexer_changes_clients')).toBeGreaterThanOrEqual(listeners.length);
    const readPageCount = () => indexer.metric('indexer_changes_pages_total');
    const [readsBefore, events] = [await readPageCount(), (await storedEvents()).length];
    world.grow(10);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    const added = (await storedEvents()).slice(events);
    await Promise.all(listeners.map((listener) => waitForReceived(listener, added.length)));
    for (const listener of listeners) {
      expect(listener.ids).toEqual(added);
      listener.close();
    }
    expect((await readPageCount()) - readsBefore).toBeLessThan(60);
  });
});

describe('GET /changes', () => {
  it.each([
    ['an invalid position', '/changes?after=x', 400],
    ['a repeated position', '/changes?after=1&after=2', 400],
    ['an unknown parameter', '/changes?from=1', 400],
    ['an empty template', '/changes?template=', 400],
    ['a party of more than 1000 characters', `/changes?party=${'a'.repeat(1_001)}`, 400],
    ['a zero byte', '/changes?template=%00', 400],
    ['a template without its package', '/changes?template=Amulet', 400],
    ['a party hint', '/changes?party=alice', 400],
    ['an unknown kind of changes', '/changes?event_type=create', 400],
    ['an unknown token event', '/changes?event=transfer.acepted', 400],
    ['an invalid end', '/changes?until=tomorrow', 400],
    ['an invalid filter', '/changes?where=choice', 400],
    ['a filter on an unknown field', "/changes?where=choise%20=%20'x'", 400],
    ['a filter on a payload without its template', "/changes?where=payload.owner%20=%20'x'", 400],
    ['an invalid value of unseen', '/changes?unseen=yes', 400],
  ])('rejects %s with 400', async (_, path, status) => {
    const response = await sendRequest(path);
    expect(response.status).toBe(status);
    expect(Object.keys(JSON.parse(response.body) as object)).toContain('error');
  });

  it.each([
    ['through a proxy', { 'x-forwarded-for': '10.0.0.1' }, 403],
    ['from the page of another origin', { origin: 'http://evil.example' }, 403],
    ['of a cross-site page without an origin', { 'sec-fetch-site': 'cross-site' }, 403],
    ['with a foreign host name', { host: 'evil.example' }, 421],
    ['with a configured name that is not loopback', { host: '10.1.2.3' }, 403],
    ['with an invalid id', { 'last-event-id': "1' or true" }, 400],
    ['with an id after the end of a reset history', { 'last-event-id': '99999999-3' }, 409],
  ])('rejects a request %s', async (_, headers, status) => {
    expect((await sendRequest('/changes?after=0', headers)).status).toBe(status);
  });

  it('returns 503 while the maximum number of clients is connected', async () => {
    await waitFor('the end of all clients', async () =>
      (await indexer.metric('indexer_changes_clients')) === 0 ? true : undefined,
    );
    const listeners = Array.from({ length: maxStreams }, () => listen(`${indexer.httpUrl}/changes`));
    await Promise.all(listeners.map(({ begun: whenStarted }) => whenStarted));
    const response = await sendRequest('/changes');
    expect(response.status).toBe(503);
    expect(response.body).toContain('INDEXER_CHANGES_MAX_CLIENTS');
    listeners[0]?.close();
    await waitFor('a place', async () => ((await sendRequest('/changes')).status === 200 ? true : undefined));
    for (const listener of listeners) listener.close();
  });

  it('frees all slots when a connection with a hundred requests closes', async () => {
    const socket = connect(Number(new URL(indexer.httpUrl).port), '127.0.0.1');
    const request = 'GET /changes?party=none::1220&unseen=allow HTTP/1.1\r\nHost: localhost\r\n\r\n';
    socket.on('error', () => undefined).write(request.repeat(100));
    await new Promise((resolve) => socket.once('close', resolve));
    await waitFor('the end of all clients', async () =>
      (await indexer.metric('indexer_changes_clients')) === 0 ? true : undefined,
    );
  });

  it.each(['POST', 'HEAD'])('returns 405 to %s', async (method) => {
    expect((await sendRequest('/changes', {}, method)).status).toBe(405);
  });

  it('does not execute SQL in its parameters', async () => {
    const storedBefore = await storedEvents();
    const otherTemplateListener = listen(
      `${indexer.httpUrl}/changes?after=0&template=${encodeURIComponent("p:M:'; drop table ledger.updates; --")}`,
    );
    world.grow(1);
    await indexer.reaches(world.sandbox.ledger.ledgerEnd());
    expect(otherTemplateListener.ids).toEqual([]);
    expect((await storedEvents()).length).toBeGreaterThan(storedBefore.length);
    otherTemplateListener.close();
  });

  it('ends the stream with a notice after a reset of history', async () => {
    const liveListener = listen(`${indexer.httpUrl}/changes`);
    await liveListener.begun;
    const moveBack = async (distance: number) =>
      query(world.database.url, `update ledger.stream set checkpoint = checkpoint - ${String(distance)}`);
    await moveBack(5);
    await waitFor('its end', () => (liveListener.ends.length > 0 ? true : undefined));
    await moveBack(-5);
    expect(liveListener.ends[0]).toContain('reset');
    liveListener.close();
  });

  it('returns 410 with the first available offset for a pruned position', async () => {
    const [row] = await query(world.database.url, 'select checkpoint::int from ledger.stream');
    const checkpoint = Number(row?.['checkpoint']);
    const lateListener = listen(`${indexer.httpUrl}/changes?after=${String(checkpoint)}`);
    await lateListener.begun;
    const prunedOffset = Math.floor(checkpoint / 2);
    await query(world.database.url, `update ledger.stream set pruned_to_offset = ${String(prunedOffset)}`);
    const response = await sendRequest('/changes?after=3');
    expect(response.status).toBe(410);
    expect(JSON.parse(response.body)).toMatchObject({ available_after: prunedOffset });
    await query(world.database.url, `update ledger.stream set pruned_to_offset = ${String(checkpoint + 1)}`);
    await waitFor('its end', () => (lateListener.ends.length > 0 ? true : undefined));
    expect(lateListener.ends[0]).toContain('pruned');
    await query(world.database.url, 'update ledger.stream set pruned_to_offset = null');
    lateListener.close();
  });
});
