/** Parties: listing, allocation, the event of an allocation, changes of metadata, and the rights to query parties. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDemoLedger } from '../../src/demo/demo-ledger.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { sharedSecret, token } from '../../../../test/support/tokens.ts';
import { valueAt, post, stream, updateFormat } from '../server/sockets.ts';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3 });
});
afterEach(async () => {
  await sandbox.close();
});

async function call(
  method: string,
  path: string,
  body?: unknown,
  bearer = '',
  url = sandbox.url,
): Promise<[number, unknown]> {
  const headers: Record<string, string> = bearer === '' ? {} : { authorization: `Bearer ${bearer}` };
  const requestInit = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { method, headers, ...requestInit });
  return [response.status, await response.json()];
}

async function allocated(body: Record<string, unknown>): Promise<string> {
  const { status, body: response } = await post(sandbox.url, '/v2/parties', body);
  expect(status).toBe(200);
  return String(valueAt(response, 'partyDetails', 'party'));
}

async function refusalOf(body: Record<string, unknown>): Promise<unknown[]> {
  const { status, body: response } = await post(sandbox.url, '/v2/parties', body);
  return [
    status,
    valueAt(response, 'code'),
    String(valueAt(response, 'cause')).replace('The submitted request has invalid arguments: ', ''),
  ];
}

function partiesIn(response: unknown): unknown[] {
  return (valueAt(response, 'partyDetails') as unknown[]).map((details) => valueAt(details, 'party'));
}

describe('an allocated party', () => {
  it('gets an id from the hint and the namespace of the participant, and keeps its annotations', async () => {
    const localMetadata = { annotations: { desk: 'rates' } };
    const { body } = await post(sandbox.url, '/v2/parties', { partyIdHint: 'alice', localMetadata });
    const party = `alice::${sandbox.participantId.split('::')[1]}`;
    const details = { party, isLocal: true, localMetadata: { resourceVersion: '0', annotations: { desk: 'rates' } } };
    expect(body).toEqual({ partyDetails: { ...details, identityProviderId: '' } });
    expect(sandbox.ledger.localParties()).toContain(party);
    expect(await call('GET', `/v2/parties/${encodeURIComponent(party)}`)).toEqual([
      200,
      { partyDetails: [{ ...details, identityProviderId: '' }] },
    ]);
  });

  it('appears on the update stream as authorized to submit, on the requested synchronizer', async () => {
    const synchronizerId = sandbox.ledger.synchronizers[1].id;
    const partyId = await allocated({ partyIdHint: 'bob', synchronizerId });
    const request = { beginExclusive: 0, endInclusive: 1, updateFormat: updateFormat('ACS_DELTA') };
    const { frames } = await stream(sandbox.url, '/v2/updates', request);
    const value = valueAt(JSON.parse(frames[0] ?? ''), 'update', 'TopologyTransaction', 'value');
    expect(valueAt(value, 'synchronizerId')).toBe(synchronizerId);
    const participantPermission = 'PARTICIPANT_PERMISSION_SUBMISSION';
    const newParty = { partyId, participantId: sandbox.participantId, participantPermission };
    expect(valueAt(value, 'events')).toEqual([{ event: { ParticipantAuthorizationAdded: { value: newParty } } }]);
  });

  it('gets a generated name if there is no hint, which is the same for the same seed', async () => {
    const [first, second] = [await allocated({}), await allocated({})];
    expect(first).toMatch(/^party-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}::1220/);
    expect(second).not.toBe(first);
    await using restartedSandbox = await startSandbox({ seed: 3 });
    const { body } = await post(restartedSandbox.url, '/v2/parties', {});
    expect(valueAt(body, 'partyDetails', 'party')).toBe(first);
  });

  it('is one that the user in the request may act as', async () => {
    const party = await allocated({ partyIdHint: 'carol', userId: 'participant_admin' });
    const [, rights] = await call('GET', '/v2/users/participant_admin/rights');
    expect(valueAt(rights, 'rights')).toContainEqual({ kind: { CanActAs: { value: { party } } } });
  });

  it('is refused if it already exists, or if hint, metadata, synchronizer, provider or user is wrong', async () => {
    const [first, second] = sandbox.ledger.synchronizers;
    const party = await allocated({ partyIdHint: 'alice', synchronizerId: first.id });
    const alreadyExists = `Party already exists: party ${party} is already allocated on this node`;
    expect(await refusalOf({ partyIdHint: 'alice' })).toEqual([400, 'INVALID_ARGUMENT', alreadyExists]);
    expect(await allocated({ partyIdHint: 'alice', synchronizerId: second.id })).toBe(party);
    const end = sandbox.ledger.ledgerEnd();
    for (const [body, code] of [
      [{ partyIdHint: 'a!' }, 'INVALID_ARGUMENT'],
      [{ partyIdHint: 'a::b' }, 'INVALID_ARGUMENT'],
      [{ partyIdHint: 'a'.repeat(186) }, 'INVALID_ARGUMENT'],
      [{ localMetadata: { resourceVersion: '1' } }, 'INVALID_ARGUMENT'],
      [{ localMetadata: { annotations: { a: '' } } }, 'INVALID_ARGUMENT'],
      [{ localMetadata: { annotations: { a: 'x'.repeat(262_144) } } }, 'INVALID_ARGUMENT'],
      [{ synchronizerId: 'nowhere::1220' }, 'INVALID_ARGUMENT'],
      [{ identityProviderId: 'nobody' }, 'INVALID_ARGUMENT'],
      [{ userId: 'nobody' }, 'USER_NOT_FOUND'],
    ] as const) {
      expect([body, (await refusalOf(body))[1]]).toEqual([body, code]);
    }
    expect(sandbox.ledger.ledgerEnd()).toBe(end);
  });

  it('exists at the same offset after a restart of the demo ledger', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parties-'));
    const options = { seed: 5, updatesPerSecond: 0, journal: join(folder, 'journal.ndjson') };
    try {
      const firstLedger = await startDemoLedger(options);
      const { body } = await post(firstLedger.url, '/v2/parties', { partyIdHint: 'dora' });
      const query = { offset: firstLedger.ledgerEnd(), updateFormat: updateFormat('ACS_DELTA') };
      const update = await post(firstLedger.url, '/v2/updates/update-by-offset', query);
      await firstLedger.close();
      const after = await startDemoLedger(options);
      expect(after.ledgerEnd()).toBe(query.offset);
      expect(await post(after.url, '/v2/updates/update-by-offset', query)).toEqual(update);
      const party = String(valueAt(body, 'partyDetails', 'party'));
      const [, candidateParty] = await call(
        'GET',
        `/v2/parties/${encodeURIComponent(party)}`,
        undefined,
        '',
        after.url,
      );
      expect(candidateParty).toEqual({ partyDetails: [valueAt(body, 'partyDetails')] });
      await after.close();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the list of parties', () => {
  it('contains the participant, allocated parties and parties of contracts, sorted by id, in pages', async () => {
    const bank = 'bank::1220ab';
    sandbox.ledger.addLocalParty(bank);
    const alice = await allocated({ partyIdHint: 'alice' });
    const allParties = [alice, bank, sandbox.participantId].sort();
    const [, fullList] = await call('GET', '/v2/parties');
    expect([partiesIn(fullList), valueAt(fullList, 'nextPageToken')]).toEqual([allParties, '']);
    const [, firstPage] = await call('GET', '/v2/parties?pageSize=2');
    expect(partiesIn(firstPage)).toEqual(allParties.slice(0, 2));
    const next = encodeURIComponent(String(valueAt(firstPage, 'nextPageToken')));
    const [, secondPage] = await call('GET', `/v2/parties?pageSize=2&pageToken=${next}`);
    expect([partiesIn(secondPage), valueAt(secondPage, 'nextPageToken')]).toEqual([allParties.slice(2), '']);
    const [, filteredParties] = await call('GET', '/v2/parties?filter-party=ban');
    expect(partiesIn(filteredParties)).toEqual([bank]);
  });

  it('is refused for an invalid page', async () => {
    expect((await fetch(`${sandbox.url}/v2/parties?pageSize=many`)).status).toBe(400);
    for (const query of ['pageSize=-1', 'pageSize=10001', 'pageToken=%21']) {
      const [status, body] = await call('GET', `/v2/parties?${query}`);
      expect([query, status, valueAt(body, 'code')]).toEqual([query, 400, 'INVALID_ARGUMENT']);
    }
  });

  it('omits unknown parties, and accepts several parties in a request', async () => {
    const alice = await allocated({ partyIdHint: 'alice' });
    const path = `/v2/parties/nobody?parties=${encodeURIComponent(alice)}&parties=${encodeURIComponent(alice)}`;
    const [status, body] = await call('GET', path);
    expect([status, partiesIn(body)]).toEqual([200, [alice]]);
  });
});

describe('the metadata of a party', () => {
  const change = async (party: string, localMetadata: unknown, paths: string[]): Promise<[number, unknown]> => {
    const body = { partyDetails: { party, localMetadata }, updateMask: { paths } };
    return await call('PATCH', `/v2/parties/${encodeURIComponent(party)}`, body);
  };
  const mask = ['local_metadata.annotations'];

  it('is merged, and changes increment the resource version', async () => {
    const party = await allocated({ partyIdHint: 'alice', localMetadata: { annotations: { a: '1', b: '2' } } });
    const [status, body] = await change(party, { resourceVersion: '0', annotations: { a: '', c: '3' } }, mask);
    expect(status).toBe(200);
    expect(valueAt(body, 'partyDetails', 'localMetadata')).toEqual({
      resourceVersion: '1',
      annotations: { b: '2', c: '3' },
    });
  });

  it('is not changed by stale or invalid requests, or by requests for an unknown party', async () => {
    const party = await allocated({ partyIdHint: 'alice' });
    const codes = async (...args: Parameters<typeof change>): Promise<unknown[]> => {
      const [status, body] = await change(...args);
      return [status, valueAt(body, 'code')];
    };
    expect(await codes(party, { resourceVersion: '7' }, mask)).toEqual([
      409,
      'CONCURRENT_PARTY_DETAILS_UPDATE_DETECTED',
    ]);
    expect(await codes('nobody', {}, mask)).toEqual([404, 'PARTY_NOT_FOUND']);
    expect(await codes(party, {}, [])).toEqual([400, 'INVALID_PARTY_DETAILS_UPDATE_REQUEST']);
    expect(await codes(party, {}, ['is_local'])).toEqual([400, 'INVALID_PARTY_DETAILS_UPDATE_REQUEST']);
    const [status, body] = await call('PATCH', '/v2/parties/x', {
      partyDetails: { party },
      updateMask: { paths: mask },
    });
    expect([status, valueAt(body, 'code')]).toEqual([400, 'INVALID_ARGUMENT']);
  });
});

describe('connected synchronizers', () => {
  const permissions = async (query: string): Promise<unknown[]> => {
    const [, body] = await call('GET', `/v2/state/connected-synchronizers${query}`);
    const connected = valueAt(body, 'connectedSynchronizers') as unknown[];
    return connected.map((connection) => [valueAt(connection, 'synchronizerAlias'), valueAt(connection, 'permission')]);
  };

  it('are listed with the permission of a party if it is hosted there', async () => {
    const party = encodeURIComponent(await allocated({ partyIdHint: 'alice' }));
    expect(await permissions(`?party=${party}`)).toEqual([['global', 'PARTICIPANT_PERMISSION_SUBMISSION']]);
    expect(await permissions(`?party=${party}&participantId=other`)).toEqual([]);
    expect(await permissions('?party=nobody')).toEqual([]);
    const unspecified = 'PARTICIPANT_PERMISSION_UNSPECIFIED';
    expect(await permissions('')).toEqual([
      ['global', unspecified],
      ['private', unspecified],
    ]);
  });
});

describe('rights', () => {
  it('allow only administrators to list parties and upload packages, and allow others to allocate parties for themselves', async () => {
    const secret = 'a shared secret for tests of parties';
    const users = [{ id: 'reader', rights: [{ kind: 'CanReadAs' as const, party: 'bank::1220ab' }] }];
    await using protectedSandbox = await startSandbox({ auth: { secret, users } });
    const admin = await token(sharedSecret(secret), { sub: 'participant_admin' });
    const reader = await token(sharedSecret(secret), { sub: 'reader' });
    const status = async (method: string, path: string, bearer: string, body?: unknown): Promise<number> =>
      (await call(method, path, body, bearer, protectedSandbox.url))[0];
    const synchronizers = '/v2/state/connected-synchronizers';
    expect(await status('GET', '/v2/parties', reader)).toBe(403);
    expect(await status('GET', '/v2/parties', admin)).toBe(200);
    expect(await status('GET', '/v2/parties/nobody', reader)).toBe(403);
    expect(await status('PATCH', '/v2/parties/nobody', reader, {})).toBe(403);
    expect(await status('POST', '/v2/parties', reader, { userId: 'participant_admin' })).toBe(403);
    expect(await status('POST', '/v2/parties', reader, { userId: 'reader' })).toBe(200);
    expect(await status('POST', '/v2/parties', admin, {})).toBe(200);
    expect(await status('GET', `${synchronizers}?party=bank::1220ab`, reader)).toBe(200);
    expect(await status('GET', `${synchronizers}?party=shop::1220ab`, reader)).toBe(403);
    expect(await status('GET', `${synchronizers}?party=shop::1220ab`, admin)).toBe(200);
    expect(await status('GET', synchronizers, reader)).toBe(200);
    expect(await status('GET', '/v2/packages', reader)).toBe(200);
    expect(await status('POST', '/v2/dars', reader, {})).toBe(403);
    expect(await status('POST', '/v2/dars/validate', reader, {})).toBe(403);
    expect(await status('POST', '/v2/dars', admin, {})).toBe(400);
  });
});
