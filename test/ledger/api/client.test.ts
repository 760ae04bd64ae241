import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createLedgerClient, type LedgerClient } from '../../../src/ledger/api/client.ts';
import { updateFormat } from '../../../src/ledger/api/request-format.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { startFakeLedger, type FakeLedger } from '../fake-ledger.ts';

let ledger: FakeLedger | undefined;
afterEach(async () => {
  await ledger?.stop();
  ledger = undefined;
});

const seenRequests: { url: string; authorization: string | undefined; body: string }[] = [];

/** Starts a ledger with one response to all requests; returns its client. */
async function clientOf(status: number, body: string, prefix = ''): Promise<LedgerClient> {
  seenRequests.length = 0;
  ledger = await startFakeLedger({
    http: (request: IncomingMessage, response: ServerResponse) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      request.on('end', () => {
        seenRequests.push({ url: request.url ?? '', authorization: request.headers.authorization, body: text });
        response.writeHead(status, { location: '/elsewhere' }).end(body);
      });
    },
  });
  return clientFor(`${ledger.url}${prefix}`);
}

function clientFor(url: string, requestTimeoutMs = 5000): LedgerClient {
  return createLedgerClient({
    url,
    tokenSource: createTokenSource({ token: 'abc' }),
    insecure: false,
    requestTimeoutMs,
  });
}

const format = updateFormat({
  parties: [],
  templates: [],
  interfaces: [],
  createdEventBlobs: false,
  shape: 'ACS_DELTA',
  topology: false,
});

describe('ledger client', () => {
  it('sends the bearer token to a URL with a path prefix, and returns the ledger end', async () => {
    const client = await clientOf(200, '{"offset":250,"synchronizerTimes":[]}', '/prefix/');
    expect(await client.state.ledgerEnd()).toBe(250);
    expect(seenRequests).toEqual([{ url: '/prefix/v2/state/ledger-end', authorization: 'Bearer abc', body: '' }]);
  });

  it('reads version, participant id, pruned offset and synchronizers', async () => {
    const client = await clientOf(
      200,
      JSON.stringify({
        version: '3.5.10',
        participantId: 'p::1220',
        participantPrunedUpToInclusive: 9,
        connectedSynchronizers: [{ synchronizerAlias: 'g', synchronizerId: 'g::1220', permission: 'P' }],
      }),
    );
    expect(await client.node.version()).toMatchObject({ version: '3.5.10' });
    expect(await client.parties.participantId()).toBe('p::1220');
    expect(await client.state.latestPrunedOffsets()).toBe(9);
    expect(await client.state.connectedSynchronizers()).toEqual([
      { synchronizerAlias: 'g', synchronizerId: 'g::1220', permission: 'P' },
    ]);
  });

  it.each(['{"offset":9007199254740993}', '{"offset":"250"}', '{"offset":-1}', '{}'])(
    'rejects the ledger end %s',
    async (body) => {
      const client = await clientOf(200, body);
      await expect(client.state.ledgerEnd()).rejects.toMatchObject({
        code: 'LEDGER_UNDECODABLE',
        retry: 'park',
        exitCode: 65,
      });
    },
  );

  it('returns an update by offset, and undefined when none is visible', async () => {
    let client = await clientOf(200, '{"update":{}}');
    expect(await client.updates.byOffset(5, format)).toEqual({ update: {} });
    expect(JSON.parse(seenRequests[0]?.body ?? '')).toEqual({ offset: 5, updateFormat: format });
    await ledger?.stop();
    client = await clientOf(404, '{"code":"UPDATE_NOT_FOUND","cause":"x","errorCategory":11,"grpcCodeValue":5}');
    expect(await client.updates.byOffset(5, format)).toBeUndefined();
  });

  it.each([
    [404, '<html></html>', 'LEDGER_NOT_A_LEDGER'],
    [302, '', 'LEDGER_NOT_A_LEDGER'],
    [200, '<html>welcome</html>', 'LEDGER_NOT_A_LEDGER'],
    [503, 'busy', 'LEDGER_UNAVAILABLE'],
    [401, '{"code":"NA","cause":"x","errorCategory":-1,"grpcCodeValue":16}', 'LEDGER_UNAUTHENTICATED'],
  ])('classifies HTTP %d with the body %j', async (status, body, code) => {
    const client = await clientOf(status, body);
    await expect(client.node.version()).rejects.toMatchObject({ code });
    expect(seenRequests).toHaveLength(1);
  });

  it('times out if the ledger does not respond or stops in the middle of a response', async () => {
    ledger = await startFakeLedger({ http: () => undefined });
    await expect(clientFor(ledger.url, 50).state.ledgerEnd()).rejects.toThrow(/did not respond within 50 ms/u);
    await ledger.stop();
    ledger = await startFakeLedger({ http: (_request, response) => void response.writeHead(200).write('{') });
    await expect(clientFor(ledger.url, 50).state.ledgerEnd()).rejects.toThrow(/did not respond within 50 ms/u);
    await ledger.stop();
    await expect(clientFor(ledger.url).state.ledgerEnd()).rejects.toMatchObject({
      code: 'LEDGER_UNREACHABLE',
      facts: { errno: 'ECONNREFUSED' },
    });
  });

  it('sends no unencrypted request to another machine', async () => {
    await expect(clientFor('http://192.0.2.1:7575').node.version()).rejects.toMatchObject({
      code: 'LEDGER_TOKEN_INSECURE',
    });
  });
});
