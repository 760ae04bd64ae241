/**
 * Reader tokens: until its token ends, a request from any machine sees exactly the rows that the role of the token may
 * see.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loginPasswordOf } from '../../src/reader-token.ts';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { waitFor } from '../support/wait-for.ts';
import { listen, type ReceivedEvents } from './listener.ts';
import { appOrigin, forwardedHeaders, TokenWorld, type Reader } from './token-world.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const wrongToken = `lir_${'A'.repeat(43)}`;
const tokenRefused = { code: 'READER_TOKEN_REFUSED' };

describe('a reader token', needs(limitsSkipReason), () => {
  let world: TokenWorld;
  let readerA: Reader;
  let readerB: Reader;
  const openListeners: ReceivedEvents[] = [];

  beforeAll(async () => {
    world = await TokenWorld.open();
    const [first = '', second = ''] = await world.parties(2);
    readerA = await world.reader(first, '--name', 'dashboard');
    readerB = await world.reader(second, '--expires', '90d');
  });
  afterAll(async () => {
    for (const stream of openListeners) stream.close();
    await world.close();
  });

  function listenAs(token: string, query = '', indexer = world.indexer): ReceivedEvents {
    const headers = { ...forwardedHeaders, ...bearer(token) };
    const stream = listen(`${indexer.httpUrl}/changes${query}`, { headers });
    openListeners.push(stream);
    return stream;
  }

  const waitForReceived = (listener: ReceivedEvents, count: number) =>
    waitFor(`${String(count)} changes`, () => (listener.ids.length >= count ? true : undefined));

  async function waitForEnd(stream: ReceivedEvents, reason: string): Promise<void> {
    await waitFor(`the end: ${reason}`, () => (stream.ends.length > 0 ? true : undefined));
    expect(JSON.parse(stream.ends[0] ?? '')).toMatchObject({ reason });
    stream.close();
  }

  it('is the only output of reader-token create, and is stored as a hash', async () => {
    const { lines, noted } = await world.token('create', '--role', readerA.role);
    expect(lines).toEqual([expect.stringMatching(/^lir_[\w-]{43}$/)]);
    expect(noted).not.toContain(lines[0]);
    const rows = JSON.stringify(await world.sql('select *, encode(hash, $$escape$$) from ledger.reader_tokens'));
    for (const token of [readerA.token, readerB.token]) expect(rows).not.toContain(token.slice(4));
    const { lines: listedTokens } = await world.token('list');
    expect(listedTokens.find((line) => line.startsWith(readerA.id))).toMatch(/ good .*dashboard$/);
    expect(listedTokens.join('\n')).not.toContain('lir_');
    const { url } = world.history.database;
    const unrestrictedRole = await world.roleOfAll();
    for (const role of [readerA.role, unrestrictedRole]) {
      const countSql = 'select count(*)::int as n from ledger.reader_tokens';
      expect(await query(`${url}?options=-c%20role%3D${role}`, countSql)).toEqual([{ n: 0 }]);
    }
  });

  it('is created only for roles that grant-reader created', async () => {
    const [sessionRow] = await world.sql('select current_user as name');
    for (const role of ['nobody_here', String(sessionRow?.['name'])]) {
      await expect(world.token('create', '--role', role)).rejects.toMatchObject(tokenRefused);
    }
    await expect(world.token('create', '--role', readerA.role, '--expires', '2001-01-01')).rejects.toThrow(/past/);
    await expect(world.token('revoke', 'ffffffff')).rejects.toMatchObject({ code: 'READER_TOKEN_NOT_FOUND' });
  });

  it.each([
    ['change the stream row', 'update on ledger.stream', 'may change stream'],
    ['change a column', 'update (payload) on ledger.contracts', 'may change contracts'],
    ['delete rows', 'delete on ledger.live', 'may change live'],
    ['empty tables', 'truncate on ledger.updates', 'may change updates'],
    ['create objects', 'create on schema explore', 'create objects'],
  ])('is rejected while its role may %s', async (_, right, rightPattern) => {
    await world.sql(`grant ${right} to ${readerA.role}`);
    try {
      expect((await world.question(readerA.token, 'select 1')).status).toBe(401);
      const createOutput = world.token('create', '--role', readerA.role);
      await expect(createOutput).rejects.toMatchObject(tokenRefused);
      await expect(createOutput).rejects.toThrow(rightPattern);
      await expect(world.webhook(readerA.role)).rejects.toMatchObject({ code: 'WEBHOOK_REFUSED' });
    } finally {
      await world.sql(`revoke ${right} from ${readerA.role}`);
    }
    expect((await world.question(readerA.token, 'select 1')).status).toBe(200);
  });

  it('is refused for a role that can log in, and its role cannot be granted a password', async () => {
    const login = await world.roleOfAll();
    await world.sql(`alter role ${login} login`);
    const createOutput = world.token('create', '--role', login);
    await expect(createOutput).rejects.toMatchObject(tokenRefused);
    await expect(createOutput).rejects.toThrow('logs in');
    const grant = grantReader(world.owner, { role: readerA.role, parties: [readerA.party], password: 'secret' });
    await expect(grant).rejects.toMatchObject({ code: 'GRANT_READER_REFUSED' });
  });

  it('is refused for a role that is a member of another role', async () => {
    const role = await world.roleOfAll();
    for (const group of ['pg_read_all_data', 'pg_monitor', readerB.role]) {
      await world.sql(`grant ${group} to ${role}`);
      await expect(world.token('create', '--role', role), group).rejects.toMatchObject(tokenRefused);
      await expect(world.webhook(role), group).rejects.toMatchObject({ code: 'WEBHOOK_REFUSED' });
      await world.sql(`revoke ${group} from ${role}`);
    }
    // The login of a token has the rights of its role, and ends with the token.
    const login = await world.loginOf(readerA);
    await expect(world.token('create', '--role', login)).rejects.toMatchObject(tokenRefused);
  });

  it('is rejected while its role can read files of the server', async () => {
    const queryStatus = async () => (await world.question(readerA.token, "select pg_read_file('PG_VERSION')")).status;
    expect(await queryStatus()).toBe(400);
    await world.sql(
      `grant pg_read_server_files to ${readerA.role}; grant execute on function pg_read_file(text) to ${readerA.role}`,
    );
    try {
      expect(await queryStatus()).toBe(401);
      await expect(world.token('create', '--role', readerA.role)).rejects.toMatchObject(tokenRefused);
    } finally {
      await world.sql(
        `revoke pg_read_server_files from ${readerA.role}; revoke execute on function pg_read_file(text) from ${readerA.role}`,
      );
    }
    expect(await queryStatus()).toBe(400);
  });

  it('returns only changes that are visible to its role at /changes', async () => {
    const allVisible = await world.visible(null);
    const visibleToA = await world.visible(readerA.role);
    const visibleToB = await world.visible(readerB.role);
    expect(visibleToA.length).toBeGreaterThan(10);
    expect(visibleToB.length).toBeGreaterThan(10);
    expect(visibleToA).not.toEqual(visibleToB);
    expect(Math.max(visibleToA.length, visibleToB.length)).toBeLessThan(allVisible.length);
    const local = listen(`${world.indexer.httpUrl}/changes?after=0`);
    openListeners.push(local);
    await waitForReceived(local, allVisible.length);
    // The requests run one after the other, so that the second request finds the rows of the first one in the cache.
    const [first, second] = [listenAs(readerA.token, '?after=0'), listenAs(readerB.token, '?after=0')];
    await waitForReceived(first, visibleToA.length);
    await waitForReceived(second, visibleToB.length);
    world.history.grow(15);
    await world.indexer.reaches(world.history.sandbox.ledger.ledgerEnd());
    const readsAfter = await Promise.all([null, readerA.role, readerB.role].map((role) => world.visible(role)));
    for (const [index, stream] of [local, first, second].entries()) {
      await waitForReceived(stream, readsAfter[index]?.length ?? 0);
      expect(stream.ids).toEqual(readsAfter[index]);
      stream.close();
    }
  });

  it('returns only rows that are visible to its role at /query', async () => {
    const countRows = async ({ token }: Reader, statement: string) => {
      const { status, body } = await world.question(token, statement);
      return { status, value: (JSON.parse(body) as { rows?: readonly string[][] }).rows?.[0]?.[0], body };
    };
    for (const reader of [readerA, readerB]) {
      const visibleCount = String((await world.visible(reader.role)).length);
      const eventCount = await countRows(reader, 'select count(*) from explore.events');
      expect(eventCount).toMatchObject({ status: 200, value: visibleCount });
      // These statements change session settings or read through a nested statement.
      for (const [name, value] of [
        ['role', 'none'],
        ['role', (reader === readerA ? readerB : readerA).role],
        ['session_authorization', 'default'],
        ['row_security', 'off'],
      ]) {
        const { status, value: countValue } = await countRows(
          reader,
          `with lifted as materialized (select set_config('${name}', '${value}', true) as done)
           select (xpath('//n/text()', query_to_xml('select count(*) as n from explore.events', true, false, '')))[1]::text
             from lifted`,
        );
        if (status === 200) expect(countValue).toBe(visibleCount);
        else expect(status).toBe(400);
      }
      expect((await countRows(reader, 'select count(*) from ledger.reader_tokens')).value ?? '0').toBe('0');
      expect((await countRows(reader, "select pg_read_file('PG_VERSION')")).status).toBe(400);
    }
    const explainResponse = await world.request(
      '/query/explain',
      { ...forwardedHeaders, ...bearer(readerA.token), 'content-type': 'application/json' },
      { method: 'POST', body: { id: (await world.visible(readerA.role))[0]?.split('-')[0] } },
    );
    expect([explainResponse.status, explainResponse.body]).toEqual([200, expect.stringContaining('offset')]);
  });

  it('returns no plan at /query if its role is limited to parties', async () => {
    const plan = 'explain (analyze, costs off) select 1 from ledger.updates where "offset" = 1 and command_id < $$z$$';
    for (const statement of [plan, `/* a */ -- b\n ${plan.toUpperCase()}`, 'EXPLAIN select 1;']) {
      const { status, body } = await world.question(readerA.token, statement);
      expect([status, body]).toEqual([400, expect.stringContaining('explain reveals values of rows')]);
    }
    // A read-only function cannot run the plan either.
    const readAsLogin = await world.question(readerA.token, `select query_to_xml('${plan}', true, false, '')`);
    expect(readAsLogin.status).toBe(400);
    const unrestrictedReader = await world.readerOf(await world.roleOfAll(), readerA.party);
    expect((await world.question(unrestrictedReader.token, plan)).status).toBe(200);
  });

  it.each([
    ['unknown', () => bearer(wrongToken), /unknown token/],
    ['truncated', () => bearer(readerA.token.slice(0, -1)), /unknown token/],
    [
      'of another kind',
      () => ({ authorization: `Basic ${Buffer.from(`x:${readerA.token}`).toString('base64')}` }),
      /known/,
    ],
  ])('is rejected if it is %s, also in local requests', async (_, headers, expectedReason) => {
    for (const from of [forwardedHeaders, {}]) {
      const response = await world.request('/changes', { ...from, ...headers() });
      expect([response.status, response.headers['www-authenticate']]).toEqual([401, 'Bearer realm="ledger-indexer"']);
      expect(response.body).toMatch(expectedReason);
      const json = { 'content-type': 'application/json', origin: world.indexer.httpUrl };
      const post = { method: 'POST', body: {} };
      const queryResponse = await world.request('/query', { ...from, ...json, ...headers() }, post);
      expect(queryResponse.status).toBe(401);
    }
  });

  it('runs at most three statements at a time and does not block other tokens', async () => {
    const slowQueries = Array.from({ length: 3 }, () => world.question(readerA.token, 'select pg_sleep(5)'));
    await waitFor('three questions', async () => {
      const text = `select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`;
      return (await world.sql(text)).length === 3 ? true : undefined;
    });
    expect((await world.question(readerA.token, 'select 1')).status).toBe(503);
    expect((await world.question(readerB.token, 'select 1')).status).toBe(200);
    expect((await Promise.all(slowQueries)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await world.question(readerA.token, 'select 1')).status).toBe(200);
  });

  it('cannot be replaced by its stored hash', async () => {
    // The table contains only the hash, which is not accepted as a token.
    const [row] = await world.sql(
      `select encode(hash, 'hex') as hash from ledger.reader_tokens where id = '${readerA.id}'`,
    );
    const response = await world.request('/changes', { ...forwardedHeaders, ...bearer(String(row?.['hash'])) });
    expect(response.status).toBe(401);
    expect(row?.['hash']).not.toBe(Buffer.from(readerA.token).toString('hex'));
  });

  it('must have a role for all parties if another machine requests /status or /update', async () => {
    const unrestrictedReader = await world.readerOf(await world.roleOfAll(), readerA.party);
    const [newestRow] = await world.sql('select max("offset") as at from ledger.updates');
    for (const path of ['/status', `/update?offset=${String(newestRow?.['at'])}`]) {
      const status = async (headers: Readonly<Record<string, string>>) => (await world.request(path, headers)).status;
      expect(await status({}), path).toBe(200);
      for (const from of [forwardedHeaders, { host: '10.0.0.5' }]) {
        expect(await status(from), path).toBe(401);
        expect(await status({ ...from, ...bearer(wrongToken) }), path).toBe(401);
        expect(await status({ ...from, ...bearer(readerA.token) }), path).toBe(403);
        expect(await status({ ...from, ...bearer(unrestrictedReader.token) }), path).toBe(200);
      }
    }
    expect((await world.request('/events', forwardedHeaders)).status).toBe(401);
    // Liveness probes and Prometheus have no token.
    for (const path of ['/livez', '/metrics']) expect((await world.request(path, forwardedHeaders)).status).toBe(200);
  });

  it('is required in requests from other machines', async () => {
    expect((await world.request('/changes', forwardedHeaders)).status).toBe(403);
    expect((await world.request('/changes', { host: 'evil.example' })).status).toBe(421);
    expect((await world.request('/changes', { host: 'evil.example', ...bearer(readerA.token) })).status).toBe(421);
    const json = { ...forwardedHeaders, 'content-type': 'application/json' };
    expect((await world.request('/query', json, { method: 'POST', body: { statement: 'select 1' } })).status).toBe(403);
    // The page itself contains no data.
    expect((await world.request('/query', forwardedHeaders)).status).toBe(200);
  });

  it('ends its streams when it is revoked, also on the standby', async () => {
    const reader = await world.readerOf(readerA.role, readerA.party);
    const [readerStream, standbyStream, remainingStream] = [
      listenAs(reader.token),
      listenAs(reader.token, '', world.standby),
      listenAs(readerA.token),
    ];
    await Promise.all([readerStream.begun, standbyStream.begun, remainingStream.begun]);
    const login = await world.loginOf(reader);
    await world.token('revoke', reader.id);
    await Promise.all([readerStream, standbyStream].map((stream) => waitForEnd(stream, 'revoked')));
    expect(remainingStream.ends).toEqual([]);
    remainingStream.close();
    expect((await world.request('/changes', bearer(reader.token))).body).toMatch(/revoked/);
    expect((await world.question(reader.token, 'select 1')).status).toBe(401);
    expect(await world.sql(`select from pg_roles where rolname = '${login}'`)).toEqual([]);
    expect((await world.token('list')).lines.find((line) => line.startsWith(reader.id))).toContain(' revoked ');
  });

  it('loses the objects of its login when it is revoked', async () => {
    const plainReader = await world.readerOf(readerA.role, readerA.party);
    const farReader = await world.readerOf(readerA.role, readerA.party);
    const otherDatabase = await createTestDatabase();
    try {
      for (const [reader, url] of [
        [plainReader, world.history.database.url],
        [farReader, otherDatabase.url],
      ] as const) {
        const login = await world.loginOf(reader);
        const roleUrl = new URL(url);
        [roleUrl.username, roleUrl.password] = [login, loginPasswordOf(reader.token)];
        // Grants the function in the same way as a manual grant would.
        await query(url, `grant execute on function lo_from_bytea(oid, bytea) to ${login}`);
        const largeObjectSql = `begin read write; select lo_from_bytea(0, 'x');
                        alter default privileges grant select on tables to public; commit`;
        await query(roleUrl.href, largeObjectSql);
      }
      await world.token('revoke', plainReader.id);
      expect(await world.sql('select from pg_largeobject_metadata')).toEqual([]);
      await expect(world.token('revoke', farReader.id)).rejects.toMatchObject({
        code: 'READER_TOKEN_LOGIN_KEPT',
        remedy: expect.stringContaining('drop owned by') as unknown,
      });
      expect((await world.question(farReader.token, 'select 1')).status).toBe(401);
    } finally {
      await otherDatabase.drop();
    }
    // After the other database was dropped, no object remains.
    await world.token('revoke', farReader.id);
  });

  it('is rejected after it expires, and after its role is dropped', async () => {
    const shortReader = await world.readerOf(readerB.role, readerB.party, '--expires', '1m');
    const droppedReader = await world.reader(readerB.party);
    const [shortStream, droppedStream] = [listenAs(shortReader.token), listenAs(droppedReader.token)];
    await Promise.all([shortStream.begun, droppedStream.begun]);
    await world.sql(`update ledger.reader_tokens set expires_at = now() where id = '${shortReader.id}'`);
    await world.dropRole(droppedReader.role);
    await Promise.all([waitForEnd(shortStream, 'expired'), waitForEnd(droppedStream, 'revoked')]);
    expect((await world.request('/changes', bearer(shortReader.token))).body).toMatch(/expired/);
    await world.grantAll(droppedReader.role);
    expect((await world.request('/changes', bearer(droppedReader.token))).body).toMatch(/its role was dropped/);
    expect((await world.question(droppedReader.token, 'select 1')).status).toBe(401);
  });

  it('does not appear in the log', () => {
    const lines = [...world.indexer.log, ...world.standby.log].join('\n');
    expect(lines.length).toBeGreaterThan(100);
    expect(lines).not.toContain('lir_');
  });

  describe('a cross-origin request', () => {
    const preflight = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' };

    it('is accepted from a configured origin', async () => {
      const response = await world.request('/changes', { origin: appOrigin, ...preflight }, { method: 'OPTIONS' });
      expect(response.status).toBe(204);
      expect(response.headers).toMatchObject({
        'access-control-allow-origin': appOrigin,
        'access-control-allow-headers': expect.stringContaining('authorization') as unknown,
        vary: 'Origin',
      });
      expect(response.headers['access-control-allow-credentials']).toBeUndefined();
      const streamHeaders = { ...forwardedHeaders, ...bearer(readerA.token), origin: appOrigin };
      const stream = await world.request('/changes', streamHeaders);
      expect([stream.status, stream.headers['access-control-allow-origin']]).toEqual([200, appOrigin]);
      const refusal = await world.request('/changes', { ...bearer(wrongToken), origin: appOrigin });
      expect([refusal.status, refusal.headers['access-control-allow-origin']]).toEqual([401, appOrigin]);
      const waitResponse = await world.request('/wait?offset=0', { origin: appOrigin });
      expect([waitResponse.status, waitResponse.headers['access-control-allow-origin']]).toEqual([200, appOrigin]);
    });

    it('is rejected from an unknown origin, and at endpoints without CORS', async () => {
      const origin = 'https://evil.example';
      for (const [path, from, method] of [
        ['/changes', origin, 'OPTIONS'],
        ['/changes', origin, 'GET'],
        ['/metrics', appOrigin, 'GET'],
        ['/query', appOrigin, 'OPTIONS'],
        ['/changes', 'null', 'OPTIONS'],
      ] as const) {
        const { headers } = await world.request(path, { ...preflight, origin: from }, { method });
        expect(headers['access-control-allow-origin'], `${method} ${path}`).toBeUndefined();
        if (path === '/changes') expect(headers['vary']).toBe('Origin');
      }
      // A page of another origin also gets no response to local requests without a token.
      expect((await world.request('/changes', { origin })).status).toBe(403);
      expect((await world.request('/changes', { origin: appOrigin })).status).toBe(200);
      expect((await world.request('/changes', { origin: appOrigin, ...forwardedHeaders })).status).toBe(403);
    });
  });
});
