/** Attempts to read more than a reader may, or to make the indexer fail, through `/api`. Each attempt states what must hold. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { waitFor } from '../support/wait-for.ts';
import { ApiWorld, type ApiReader } from './api-world.ts';

describe('attempts on /api', needs(limitsSkipReason), () => {
  let world: ApiWorld;
  let alice: ApiReader;
  let bob: ApiReader;
  let parties: readonly string[];
  /** Values that exist, but that bob must not see. */
  let hidden: Readonly<Record<'contract' | 'update' | 'offset' | 'command', string>>;

  beforeAll(async () => {
    world = await ApiWorld.open(300);
    parties = await world.parties(2);
    const [first = '', second = ''] = parties;
    [alice, bob] = [await world.reader(first), await world.reader(second)];
    const [event] = await hiddenRows('contract_id, update_id, created_at_offset', 'contracts');
    const [command] = await hiddenRows('command_id', 'completions');
    hidden = {
      contract: String(event?.['contract_id']),
      update: String(event?.['update_id']),
      offset: String(event?.['created_at_offset']),
      command: String(command?.['command_id']),
    };
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** Rows that alice sees and bob does not see. */
  async function hiddenRows(columns: string, view: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const sql = `select ${columns} from explore.${view} order by 1`;
    const visible = new Set((await world.sql(sql, bob.role)).map((row) => JSON.stringify(row)));
    return (await world.sql(sql, alice.role)).filter((row) => !visible.has(JSON.stringify(row)));
  }

  /** Everything that the server sends, until it closes the connection. */
  function sent(text: string): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect(Number(new URL(world.indexer.httpUrl).port), '127.0.0.1');
      let heard = '';
      socket.setEncoding('latin1').on('data', (chunk: string) => (heard += chunk));
      socket.on('error', () => undefined).on('close', () => resolve(heard));
      setTimeout(() => socket.destroy(), 20_000).unref();
      socket.write(text, 'latin1');
    });
  }

  function head(line: string, headers: readonly string[] = []): string {
    const named = headers.some((header) => header.toLowerCase().startsWith('host:')) ? [] : ['Host: localhost'];
    return `${[line, ...named, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`;
  }

  const contractsLine = 'GET /api/contracts HTTP/1.1';

  it.each<[string, string, readonly string[], RegExp]>([
    ['a double slash', 'GET //api/contracts HTTP/1.1', [], /^HTTP\/1.1 404/],
    ['a dot segment', 'GET /api/../api/contracts HTTP/1.1', [], /^HTTP\/1.1 404/],
    ['an encoded slash', 'GET /api%2F HTTP/1.1', [], /^HTTP\/1.1 404/],
    ['an encoded letter', 'GET /api/template%73 HTTP/1.1', [], /^HTTP\/1.1 404/],
    ['an encoded null character', 'GET /api/contracts/%00 HTTP/1.1', [], /^HTTP\/1.1 400/],
    ['upper case', 'GET /API/contracts HTTP/1.1', [], /^HTTP\/1.1 404/],
    ['a path parameter', 'GET /api/contracts;x=1 HTTP/1.1', [], /^HTTP\/1.1 404/],
    ['a slash at the end', 'GET /api/contracts/ HTTP/1.1', [], /^HTTP\/1.1 400/],
    ['a backslash', String.raw`GET /api\contracts HTTP/1.1`, [], /^HTTP\/1.1 404/],
    ['an absolute target', 'GET http://evil.example/api/contracts HTTP/1.1', [], /^HTTP\/1.1 404/],
    ['a broken encoding', 'GET /api/contracts/%E0%A4%A HTTP/1.1', [], /^HTTP\/1.1 404/],
    ['TRACE', 'TRACE /api/contracts HTTP/1.1', ['X-Secret: canary'], /^HTTP\/1.1 405 (?![^]*canary)/],
    [
      'OPTIONS without a configured origin',
      'OPTIONS /api/contracts HTTP/1.1',
      ['Origin: null'],
      /^HTTP\/1.1 405 (?![^]*allow-origin)/,
    ],
    ['DELETE', 'DELETE /api/contracts HTTP/1.1', [], /^HTTP\/1.1 405 /],
    ['CONNECT', 'CONNECT localhost:5432 HTTP/1.1', [], /^(?!HTTP\/1.1 200)/],
    ['an overriding method', contractsLine, ['X-HTTP-Method-Override: DELETE'], /^HTTP\/1.1 403 /],
    ['a chunked body', contractsLine, ['Transfer-Encoding: chunked'], /^HTTP\/1.1 413 /],
    ['a length and chunks', contractsLine, ['Content-Length: 4', 'Transfer-Encoding: chunked'], /^HTTP\/1.1 400 /],
    ['two lengths', contractsLine, ['Content-Length: 0', 'Content-Length: 5'], /^HTTP\/1.1 400 /],
    ['a length with a sign', contractsLine, ['Content-Length: +0'], /^HTTP\/1.1 400 /],
    ['a folded header', contractsLine, ['X: a\r\n Authorization: Bearer x'], /^(?!HTTP\/1.1 200)/],
    ['a bare line feed', `${contractsLine}\nX: y`, [], /^(?!HTTP\/1.1 200)/],
    ['two hosts', contractsLine, ['Host: localhost', 'Host: evil.example'], /^HTTP\/1.1 400 /],
    ['a rebound name', contractsLine, ['Host: evil.example'], /^HTTP\/1.1 421 /],
    ['a name that begins as loopback', contractsLine, ['Host: 127.0.0.1.evil.example'], /^HTTP\/1.1 421 /],
    ['an address of the network without a token', contractsLine, ['Host: 10.0.0.1'], /^HTTP\/1.1 403 /],
    ['HTTP/1.0 without a host', 'GET /api/contracts HTTP/1.0', ['Host: localhost'], /^HTTP\/1.1 403 /],
    ['X-Forwarded-For of this machine', contractsLine, ['X-Forwarded-For: 127.0.0.1'], /^HTTP\/1.1 403 /],
    ['Forwarded', contractsLine, ['Forwarded: for=127.0.0.1'], /^HTTP\/1.1 403 /],
    ['X-Real-IP', contractsLine, ['X-Real-IP: 127.0.0.1'], /^HTTP\/1.1 403 /],
    ['Via', contractsLine, ['Via: 1.1 proxy'], /^HTTP\/1.1 403 /],
    ['a foreign origin', contractsLine, ['Origin: https://evil.example'], /^HTTP\/1.1 403 (?![^]*allow-origin)/],
    ['the origin null', contractsLine, ['Origin: null'], /^HTTP\/1.1 403 /],
    ['another site', contractsLine, ['Sec-Fetch-Site: cross-site'], /^HTTP\/1.1 403 /],
    ['an empty token', contractsLine, ['Authorization: '], /^HTTP\/1.1 401 /],
    ['a token of another scheme', contractsLine, ['Authorization: Basic YTpi'], /^HTTP\/1.1 401 /],
    ['a token in the query string', 'GET /api/contracts?access_token=lir_x HTTP/1.1', [], /^HTTP\/1.1 400 /],
    ['a token in a cookie', contractsLine, ['X-Forwarded-For: 1.1.1.1', 'Cookie: token=x'], /^HTTP\/1.1 403 /],
    ['a JSON Web Token while these are off', contractsLine, ['Authorization: Bearer e30.e30.AAAA'], /^HTTP\/1.1 401 /],
  ])('%s does not get rows', async (_, line, headers, expected) => {
    const response = await sent(head(line, headers));
    expect(response).toMatch(expected);
    expect(response).not.toContain('"contract_id"');
  });

  it('answers with rows are never cached, and HEAD has no body', async () => {
    const headers = [`Authorization: bEaReR ${alice.token}`, 'X-Forwarded-For: 1.1.1.1'];
    const rows = await sent(head('GET /api/contracts?limit=1 HTTP/1.1', headers));
    expect(rows).toMatch(/^HTTP\/1.1 200 [^]*cache-control: no-store[^]*"contract_id"/i);
    const none = await sent(head('HEAD /api/contracts?limit=1 HTTP/1.1', headers));
    expect(none).toMatch(/^HTTP\/1.1 200 [^]*cache-control: no-store/i);
    expect(none).not.toContain('"contract_id"');
  });

  it('a second request on the connection gets no answer with the token of the first', async () => {
    const first = head(contractsLine, [`Authorization: Bearer ${alice.token}`]).replace('Connection: close\r\n', '');
    const both = await sent(first + head(contractsLine, ['X-Forwarded-For: 1.1.1.1']));
    expect(both.split('"contract_id"').length > 1 ? both.split('HTTP/1.1 ').length - 1 : 1).toBe(1);
  });

  it.each([
    ['limit=-1', 400],
    ['limit=0', 400],
    ['limit=1001', 400],
    ['limit=1e3', 400],
    ['limit=1&limit=1000', 400],
    ['limit[]=5', 400],
    ['limit=1&LIMIT=2', 400],
    ['lim%69t=1&limit=2', 400],
    ['__proto__=1', 400],
    ['__proto__[limit]=1', 400],
    ['constructor=x', 400],
    ['toString=x', 400],
    ['hasOwnProperty=x', 400],
    ['at=-1', 400],
    ['at=2026-01-01T00:00:00%2B23:59', 400],
    ['at=99999999999999999999', 400],
    ['template=%27%3B--', 400],
    ['party=', 400],
    ['state=all%00', 400],
    ['cursor=__proto__', 400],
    ['sort=xmin', 404],
    ['sort=-ctid', 404],
    ['sort=payload.constructor.name&limit=1', 200],
    ['sort=contract_id,payload', 400],
    ['sort=-', 400],
    ['sort=1', 400],
    ['at_least_offset=9007199254740991&timeout=999', 400],
    ['at_least_offset=9007199254740991&timeout=-1', 400],
    ['at_least_offset=9007199254740991&timeout=0', 504],
  ])('parameters %s get status %i', async (query, status) => {
    const { status: got, text } = await world.get(`/api/contracts?${query}`, bob);
    expect([got, text]).toEqual([status, text]);
    expect(text).not.toMatch(/select |pg_|\.ts\b|SQL:/);
  });

  it.each<[string, readonly number[]]>([
    [`payload.owner = ''' or true --'`, [200]],
    [`payload.owner = $$x$$`, [400]],
    [`payload.owner = E'\\x27'`, [400]],
    [`payload."a' || pg_sleep(9) || '" is not null`, [200]],
    [`payload."""; drop table ledger.contracts; --" = 'x'`, [200]],
    [`contract_id = '' /* */ or true`, [400]],
    [`contract_id = '' -- `, [400]],
    [`contract_id = (select 1)`, [400]],
    [`ctid = 1`, [404]],
    [`xmin is not null`, [404]],
    [`"__proto__" is null`, [404]],
    [`"constructor"."prototype" is null`, [404]],
    [`payload."__proto__"."x" is null`, [200]],
    [`r.contract_id = 'x'`, [404]],
    [`current_user = 'x'`, [404]],
    [`created_at_offset = ${'9'.repeat(1_000)}`, [400]],
    [`payload.x > ${'9'.repeat(38)}.${'9'.repeat(38)}`, [200]],
    [`created_at_offset > 1e309`, [400]],
    [`created_at > '9999-12-31T23:59:59.999999Z'`, [200]],
    [`created_at > 'infinity'`, [400]],
    [`${'not '.repeat(400)}contract_id is null`, [400]],
    [`${'('.repeat(900)}contract_id is null${')'.repeat(900)}`, [400]],
    [Array.from({ length: 51 }, () => 'contract_id is null').join(' or '), [400]],
    [`contract_id in (${"'a',".repeat(100)}'a')`, [400]],
    [`payload${'.a'.repeat(10)} is null`, [400]],
    [`payload${'.a'.repeat(900)} is null`, [400]],
    [`contract_id = '${'a'.repeat(1_990)}'`, [400]],
    [`contract_id = '\u202e\u0301\ud83d\ude00'`, [200]],
    [`contract_id ＝ 'x'`, [400]],
    [`${' '.repeat(1_900)}x`, [400]],
    ['"'.repeat(1_999), [400]],
    [`payload.owner has 'x'`, [200]],
    [`signatories has '${'}'.repeat(50)},{'`, [200]],
    [`payload.x ~ '(a+)+$'`, [400]],
    [`payload.x like '%'`, [400]],
  ])('the filter %s is data or refused', async (where, statuses) => {
    const { status, text } = await world.get(`/api/contracts?where=${encodeURIComponent(where)}`, bob);
    expect(statuses, text).toContain(status);
    expect(text).not.toContain(hidden.contract);
  });

  it('a question mark in a value hides no later parameter', async () => {
    // Clients may send it unencoded. Parameters after it must not be dropped.
    const { status, text } = await world.get(`/api/contracts?where=contract_id!='?'&state=all&limit=7`, alice);
    expect(status, text).toBe(200);
    expect((JSON.parse(text) as { rows: unknown[] }).rows).toHaveLength(7);
    expect((await world.get('/api/contracts?key_hash=a?b&unknown=1', alice)).status).toBe(400);
  });

  it.each<[string, (value: typeof hidden) => string, (value: typeof hidden) => string]>([
    ['a contract', ({ contract }) => contract, () => '/api/contracts/ID'],
    ['the history of a contract', ({ contract }) => contract, () => '/api/contracts/ID/history'],
    ['exercises of a contract', ({ contract }) => contract, () => '/api/exercises?contract_id=ID'],
    ['a filter for a contract', ({ contract }) => contract, () => `/api/contracts?state=all&where=contract_id='ID'`],
    ['an explanation of a contract', ({ contract }) => contract, () => '/api/explain?id=ID'],
    ['events of an update', ({ update }) => update, () => '/api/updates/ID/events'],
    ['an update', ({ update }) => update, () => '/api/updates?update_id=ID'],
    ['an explanation of an update', ({ update }) => update, () => '/api/explain?id=ID&as=update'],
    ['a command', ({ command }) => command, () => '/api/commands/ID'],
    ['an explanation of a command', ({ command }) => command, () => '/api/explain?id=ID&as=command'],
    ['updates of a command', ({ command }) => command, () => '/api/updates?command_id=ID'],
    ['contracts of a party', () => 'PARTY', () => '/api/contracts?party=ID'],
    ['movements of a party', () => 'PARTY', () => '/api/movements?party=ID'],
    ['balances of a party', () => 'PARTY', () => '/api/balances?owner=ID'],
    ['a statement of a party', () => 'PARTY', () => '/api/account-statement?party=ID'],
    ['a difference for a party', () => 'PARTY', ({ offset }) => `/api/diff?from=1&to=${offset}&party=ID`],
  ])('%s that is hidden gets the answer of one that does not exist', async (_, idOf, pathOf) => {
    const id = idOf(hidden) === 'PARTY' ? await hiddenParty() : idOf(hidden);
    const missing = `${id.slice(0, -4)}${id.endsWith('0000') ? '1111' : '0000'}`;
    const answer = async (value: string): Promise<string> => {
      const { status, text } = await world.get(pathOf(hidden).replace('ID', encodeURIComponent(value)), bob);
      // Similar names are those of parties that bob sees.
      const answered = text
        .replaceAll(value, 'ID')
        .replace(/Nearest parties: [^"]*"/, '')
        .replace(/"nearest":.*/, '');
      return `${String(status)} ${answered}`;
    };
    expect(await answer(id)).toBe(await answer(missing));
  });

  async function hiddenParty(): Promise<string> {
    const sql = 'select n.p as party from explore.party_names() n (p) order by 1';
    const visible = new Set((await world.sql(sql, bob.role)).map(({ party }) => party));
    return String((await world.sql(sql)).find(({ party }) => !visible.has(party))?.['party']);
  }

  it('a cursor that is truncated, prolonged, repeated or of a revoked token is refused', async () => {
    const dave = await world.reader(parties[0] ?? '');
    const query = 'state=all&limit=2';
    const { next } = await world.page('/api/contracts', { state: 'all', limit: '2' }, dave);
    const cursor = next ?? '';
    for (const forged of [
      cursor.slice(0, -4),
      `${cursor}AAAA`,
      cursor.repeat(2),
      cursor.toUpperCase(),
      'A'.repeat(7_000),
    ]) {
      const { status, text } = await world.get(`/api/contracts?${query}&cursor=${forged}`, dave);
      expect([status, text]).toEqual([400, expect.stringContaining('CURSOR_INVALID')]);
    }
    expect((await world.get(`/api/contracts?${query}&cursor=${cursor}&cursor=${cursor}`, dave)).status).toBe(400);
    expect((await world.get(`/api/contracts?${query}&cursor=${cursor}`, dave)).status).toBe(200);
    await world.sql(`update ledger.reader_tokens set revoked_at = now() where role_name = '${dave.role}'`);
    expect((await world.get(`/api/contracts?${query}&cursor=${cursor}`, dave)).status).toBe(401);
  });

  it('waits of one token leave other callers their answers', async () => {
    const stop = new AbortController();
    const headers = { 'x-forwarded-for': '10.0.0.1', authorization: `Bearer ${alice.token}` };
    const url = `${world.indexer.httpUrl}/api/contracts?at_least_offset=9007199254740991&timeout=60`;
    let refusedCount = 0;
    const waits = Array.from({ length: 120 }, () =>
      fetch(url, { headers, signal: stop.signal }).then(
        ({ status }) => {
          if (status === 429) refusedCount += 1;
          return status;
        },
        () => 0,
      ),
    );
    await waitFor('the requests over the limit are refused', () => (refusedCount >= 20 ? true : undefined));
    expect((await world.get('/api/contracts?limit=1', bob)).status).toBe(200);
    expect((await world.get('/api/contracts?limit=1', alice)).status).toBe(429);
    stop.abort();
    const statuses = await Promise.all(waits);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    expect((await world.get('/api/contracts?limit=1', alice)).status).toBe(200);
  });
});
