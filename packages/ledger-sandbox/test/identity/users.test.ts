/** User management over HTTP: responses as in the samples, refusals, paging, and rights to manage users. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox, SandboxOptions } from '../../src/server/sandbox.ts';
import { sample } from '../../../../test/support/wire/fixtures.ts';
import { keyPair, serveJwks, token } from '../../../../test/support/tokens.ts';
import { call as callAs, secret, sharedSigner } from './callers.ts';
import type { ApiResponse } from './callers.ts';
import { valueAt } from '../server/sockets.ts';

const party = 'Alice::1220aa';
const canRead = { kind: { CanReadAs: { value: { party } } } };
const admin = { kind: { ParticipantAdmin: { value: {} } } };

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 5 });
});
afterEach(async () => {
  await sandbox.close();
});

async function restart(options: SandboxOptions): Promise<void> {
  await sandbox.close();
  sandbox = await startSandbox(options);
}

/** @param endpoint e.g. `GET /v2/users` */
async function call(endpoint: string, body?: unknown, bearer?: string): Promise<ApiResponse> {
  return await callAs(sandbox.url, bearer, endpoint, body);
}

async function refusal(endpoint: string, body?: unknown, bearer?: string): Promise<unknown[]> {
  const response = await call(endpoint, body, bearer);
  return [response.status, valueAt(response.body, 'code') ?? response.text];
}

describe('users', () => {
  it('are listed and read as in the sample, with an additional key since 3.5', async () => {
    await restart({ release: '3.4' });
    await call('POST /v2/users', { user: { id: 'clerk' }, rights: [] });
    expect((await call('GET /v2/users')).text).toBe(sample('users/users.json'));
    await restart({ release: '3.5' });
    expect((await call('GET /v2/users/participant_admin')).text).toBe(
      '{"user":{"id":"participant_admin","primaryParty":"","isDeactivated":false,' +
        '"metadata":{"resourceVersion":"0","annotations":{}},"identityProviderId":"","primaryPartyAuthentication":false}}',
    );
  });

  it('are created, changed field by field, and deleted', async () => {
    const user = { id: 'indexer', primaryParty: party, metadata: { annotations: { team: 'a', old: 'x' } } };
    expect(await call('POST /v2/users', { user })).toMatchObject({ status: 200, body: { user } });
    const change = { id: 'indexer', primaryParty: 'ignored', metadata: { annotations: { team: 'b', old: '' } } };
    const updateMask = { paths: ['metadata.annotations'], unknownFields: { fields: {} } };
    const changedUser = await call('PATCH /v2/users/indexer', { user: change, updateMask });
    expect(valueAt(changedUser.body, 'user')).toMatchObject({ primaryParty: party });
    expect(valueAt(changedUser.body, 'user', 'metadata')).toEqual({ resourceVersion: '1', annotations: { team: 'b' } });
    expect(await call('DELETE /v2/users/indexer')).toMatchObject({ status: 200, text: '{}' });
    expect(await refusal('GET /v2/users/indexer')).toEqual([404, 'USER_NOT_FOUND']);
  });

  it('are returned in pages in the order of their ids', async () => {
    for (const id of ['zoe', 'bob', 'eve', 'Ann']) await call('POST /v2/users', { user: { id } });
    const ids: unknown[] = [];
    let pages = 0;
    for (let next = ''; pages === 0 || next !== ''; pages += 1) {
      const { body } = await call(`GET /v2/users?pageSize=2&pageToken=${encodeURIComponent(next)}`);
      for (const user of valueAt(body, 'users') as unknown[]) ids.push(valueAt(user, 'id'));
      next = String(valueAt(body, 'nextPageToken'));
    }
    expect([ids, pages]).toEqual([['Ann', 'bob', 'eve', 'participant_admin', 'zoe'], 3]);
    expect((await call('GET /v2/users?pageSize=5')).body).toMatchObject({ nextPageToken: '' });
    expect(await refusal('GET /v2/users?pageSize=-1')).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await refusal('GET /v2/users?pageToken=%21')).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await refusal('GET /v2/users?pageSize=x')).toEqual([400, 'Invalid value for: query parameter pageSize']);
  });

  it('are refused with the matching error code if a request is invalid', async () => {
    const admins = 'participant_admin';
    const mask = (...paths: string[]): unknown => ({ paths, unknownFields: { fields: {} } });
    const body = { user: { id: admins, isDeactivated: true }, updateMask: mask('is_deactivated') };
    const staleUser = { id: 'bob', metadata: { resourceVersion: '7' } };
    await call('POST /v2/users', { user: { id: 'bob' } });
    expect(await refusal('POST /v2/users', { user: { id: 'bob' } })).toEqual([409, 'USER_ALREADY_EXISTS']);
    expect(await refusal('POST /v2/users', {})).toEqual([400, 'MISSING_FIELD']);
    expect(await refusal('POST /v2/users', { user: { id: '' } })).toEqual([400, 'MISSING_FIELD']);
    expect(await refusal('POST /v2/users', { user: { id: '?' } })).toEqual([400, 'INVALID_FIELD']);
    expect(await refusal('POST /v2/users', { user: { id: 'x', identityProviderId: 'no' } })).toEqual([
      400,
      'INVALID_ARGUMENT',
    ]);
    expect(await refusal(`PATCH /v2/users/${admins}`, body)).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await refusal('PATCH /v2/users/bob', body)).toEqual([400, 'INVALID_ARGUMENT']);
    for (const updateMask of [mask(), mask('id'), mask('nope')]) {
      expect(await refusal('PATCH /v2/users/bob', { user: { id: 'bob' }, updateMask })).toEqual([
        400,
        'INVALID_USER_UPDATE_REQUEST',
      ]);
    }
    expect(await refusal('PATCH /v2/users/bob', { user: staleUser, updateMask: mask('primary_party') })).toEqual([
      409,
      'CONCURRENT_USER_UPDATE_DETECTED',
    ]);
    expect(await refusal(`DELETE /v2/users/${admins}`)).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await refusal('DELETE /v2/users/nobody')).toEqual([404, 'USER_NOT_FOUND']);
  });
});

describe('rights of a user', () => {
  const change = (rights: readonly unknown[]): unknown => ({ userId: 'bob', identityProviderId: '', rights });
  beforeEach(async () => {
    await call('POST /v2/users', { user: { id: 'bob' } });
  });

  it('are listed as in the sample', async () => {
    const expected = sample('users/rights.json');
    await call('POST /v2/users/bob/rights', change((JSON.parse(expected) as { rights: unknown[] }).rights));
    expect((await call('GET /v2/users/bob/rights')).text).toBe(expected);
  });

  it('are granted and revoked, and the response contains only the added or removed rights', async () => {
    const grantResponse = await call('POST /v2/users/bob/rights', change([canRead, admin, canRead]));
    expect(grantResponse.body).toEqual({ newlyGrantedRights: [canRead, admin] });
    expect((await call('POST /v2/users/bob/rights', change([canRead]))).body).toEqual({ newlyGrantedRights: [] });
    expect((await call('PATCH /v2/users/bob/rights', change([canRead]))).body).toEqual({
      newlyRevokedRights: [canRead],
    });
    expect((await call('PATCH /v2/users/bob/rights', change([canRead]))).body).toEqual({ newlyRevokedRights: [] });
    expect((await call('GET /v2/users/bob/rights')).body).toEqual({ rights: [admin] });
  });

  it('are limited to a thousand for each user', async () => {
    const rights = Array.from({ length: 1000 }, (_, n) => ({ kind: { CanReadAs: { value: { party: `p${n}` } } } }));
    expect(await call('POST /v2/users/bob/rights', change(rights))).toMatchObject({ status: 200 });
    expect(await refusal('POST /v2/users/bob/rights', change([admin]))).toEqual([400, 'TOO_MANY_USER_RIGHTS']);
    expect(await call('POST /v2/users/bob/rights', change(rights))).toMatchObject({ status: 200 });
    expect(await refusal('POST /v2/users', { user: { id: 'eve' }, rights: [...rights, admin] })).toEqual([
      400,
      'TOO_MANY_USER_RIGHTS',
    ]);
    expect(await refusal('GET /v2/users/eve')).toEqual([404, 'USER_NOT_FOUND']);
  });

  it('are refused with the matching error code if a request is invalid', async () => {
    const rightWithoutParty = { kind: { CanActAs: { value: {} } } };
    const laterRight = { kind: { CanActAsAnyParty: { value: {} } } };
    expect(await refusal('POST /v2/users/bob/rights', change([{ kind: { Empty: {} } }]))).toEqual([
      400,
      'INVALID_ARGUMENT',
    ]);
    expect(await refusal('POST /v2/users/bob/rights', change([laterRight]))).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await refusal('POST /v2/users/bob/rights', change([rightWithoutParty]))).toEqual([400, 'MISSING_FIELD']);
    expect(await refusal('POST /v2/users/participant_admin/rights', change([]))).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await refusal('POST /v2/users/nobody/rights', change([]))).toEqual([404, 'USER_NOT_FOUND']);
    expect(await refusal('GET /v2/users/nobody/rights')).toEqual([404, 'USER_NOT_FOUND']);
  });
});

describe('the caller', () => {
  it('has no user id on a participant without authorization', async () => {
    expect(await call('GET /v2/authenticated-user')).toMatchObject({ status: 400, body: { code: 'INVALID_TOKEN' } });
  });

  it('reads its own user and rights, and manages others only as an administrator', async () => {
    await restart({ auth: { secret, users: [{ id: 'alice', rights: [{ kind: 'CanReadAs', party }] }] } });
    const alice = await token(sharedSigner);
    expect(await call('GET /v2/authenticated-user', undefined, alice)).toMatchObject({
      body: { user: { id: 'alice' } },
    });
    expect(await call('GET /v2/users/alice', undefined, alice)).toMatchObject({ status: 200 });
    expect((await call('GET /v2/users/alice/rights', undefined, alice)).body).toEqual({ rights: [canRead] });
    const grant = { userId: 'alice', rights: [admin] };
    for (const [endpoint, body] of [
      ['GET /v2/users', undefined],
      ['POST /v2/users', { user: { id: 'eve' } }],
      ['GET /v2/users/participant_admin', undefined],
      ['GET /v2/users/nobody', undefined],
      ['GET /v2/users/participant_admin/rights', undefined],
      ['PATCH /v2/users/alice', { user: { id: 'alice' } }],
      ['DELETE /v2/users/alice', undefined],
      ['POST /v2/users/alice/rights', grant],
      ['PATCH /v2/users/alice/rights', grant],
      ['GET /v2/idps', undefined],
    ] as const) {
      expect([endpoint, ...(await refusal(endpoint, body, alice))]).toEqual([endpoint, 403, 'NA']);
    }
    const adminToken = await token(sharedSigner, { sub: 'participant_admin' });
    expect(await call('POST /v2/users/alice/rights', grant, adminToken)).toMatchObject({ status: 200 });
    expect(await call('GET /v2/users', undefined, alice)).toMatchObject({ status: 200 });
    expect(await refusal('DELETE /v2/users/alice', undefined, alice)).toEqual([400, 'INVALID_ARGUMENT']);
  });
});

describe('an identity provider', () => {
  const config = (jwksUrl: string): Record<string, unknown> => ({
    identityProviderId: 'partner',
    isDeactivated: false,
    issuer: 'https://partner.example',
    jwksUrl,
    audience: 'ledger',
  });

  it('is created, listed, read and deleted', async () => {
    const identityProviderConfig = config('http://127.0.0.1:1/jwks');
    const createResponse = await call('POST /v2/idps', { identityProviderConfig });
    expect(createResponse).toMatchObject({ status: 200, text: JSON.stringify({ identityProviderConfig }) });
    expect((await call('GET /v2/idps')).body).toEqual({ identityProviderConfigs: [identityProviderConfig] });
    expect((await call('GET /v2/idps/partner')).body).toEqual({ identityProviderConfig });
    const duplicateProvider = { identityProviderConfig };
    expect(await refusal('POST /v2/idps', duplicateProvider)).toEqual([409, 'IDP_CONFIG_ALREADY_EXISTS']);
    const otherProvider = { identityProviderConfig: { ...identityProviderConfig, identityProviderId: 'other' } };
    expect(await refusal('POST /v2/idps', otherProvider)).toEqual([409, 'IDP_CONFIG_ISSUER_ALREADY_EXISTS']);
    expect(await refusal('POST /v2/idps', { identityProviderConfig: config('nonsense') })).toEqual([
      400,
      'INVALID_ARGUMENT',
    ]);
    expect(await call('DELETE /v2/idps/partner')).toMatchObject({ status: 200, text: '{}' });
    expect(await refusal('GET /v2/idps/partner')).toEqual([404, 'IDP_CONFIG_NOT_FOUND']);
  });

  it('authenticates only its own users, and its administrator manages only these users', async () => {
    const key = await keyPair('ES256');
    await using jwks = await serveJwks(key);
    await restart({ auth: { secret, users: [{ id: 'alice', rights: [] }] } });
    const adminToken = await token(sharedSigner, { sub: 'participant_admin' });
    await call('POST /v2/idps', { identityProviderConfig: config(jwks.url) }, adminToken);
    const rights = [{ kind: { IdentityProviderAdmin: { value: {} } } }];
    await call('POST /v2/users', { user: { id: 'pat', identityProviderId: 'partner' }, rights }, adminToken);
    const from = async (sub: string, claims: Record<string, unknown> = {}): Promise<string> =>
      token(key, { sub, iss: 'https://partner.example', aud: 'ledger', scope: undefined, ...claims });
    const pat = await from('pat');
    expect(await call('GET /v2/authenticated-user', undefined, pat)).toMatchObject({ body: { user: { id: 'pat' } } });
    expect(await refusal('GET /v2/authenticated-user', undefined, await from('alice'))).toEqual([403, 'NA']);
    expect(await refusal('GET /v2/authenticated-user', undefined, await from('pat', { aud: 'x' }))).toEqual([
      401,
      'NA',
    ]);
    const newUserRequest = (identityProviderId: string): unknown => ({ user: { id: 'new', identityProviderId } });
    expect(await refusal('POST /v2/users', newUserRequest(''), pat)).toEqual([403, 'NA']);
    expect(await call('POST /v2/users', newUserRequest('partner'), pat)).toMatchObject({ status: 200 });
    const grant = { userId: 'new', rights: [admin] };
    expect(await refusal('POST /v2/users/new/rights', grant, pat)).toEqual([403, 'NA']);
    expect(await refusal('DELETE /v2/users/alice', undefined, pat)).toEqual([403, 'NA']);
    expect(await call('DELETE /v2/users/new', undefined, pat)).toMatchObject({ status: 200 });
  });
});
