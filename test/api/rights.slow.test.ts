/** Readers of `/api` see what their role sees in SQL, whatever their parameters try. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiParameter, ApiRoute } from '../../src/model/push/read-api.ts';
import { storedRoutes } from '../../src/store/api/routes.ts';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { ApiWorld, forwarded, type ApiReader } from './api-world.ts';

let world: ApiWorld;
let [alice, bob]: readonly string[] = [];
let aliceReader: ApiReader;
let bobReader: ApiReader;

describe('limited readers of /api', needs(limitsSkipReason), () => {
  beforeAll(async () => {
    world = await ApiWorld.open(400);
    [alice, bob] = await world.parties(2);
    aliceReader = await world.reader(alice ?? '');
    bobReader = await world.reader(bob ?? '');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** Ids that the role cannot see in SQL, but that exist. */
  async function hiddenFrom(role: string): Promise<{ contracts: readonly string[]; updates: readonly string[] }> {
    const listed = async (sql: string): Promise<readonly string[]> => {
      const visible = new Set((await world.sql(sql, role)).map(({ id }) => String(id)));
      return (await world.sql(sql)).map(({ id }) => String(id)).filter((id) => !visible.has(id));
    };
    // Arguments and results that the role may see contain ids of contracts that it may not see.
    const [{ text } = {}] = await world.sql(`select string_agg(e::text, '') as text from explore.events e`, role);
    const contracts = await listed('select distinct contract_id as id from explore.contracts');
    return {
      contracts: contracts.filter((id) => !String(text).includes(id)),
      updates: await listed(`select update_id as id from explore.updates where update_id in (
        select update_id from explore.events)`),
    };
  }

  it('get the contracts that their role sees in SQL, and different ones', async () => {
    const ids = async (reader: ApiReader): Promise<readonly string[]> =>
      (await world.all('/api/contracts', { state: 'all', limit: '50' }, reader)).map((row) =>
        String(row['contract_id']),
      );
    for (const reader of [aliceReader, bobReader]) {
      const expected = await world.sql('select contract_id as id from explore.contracts', reader.role);
      expect(expected.length).toBeGreaterThan(10);
      expect((await ids(reader)).toSorted()).toEqual(expected.map(({ id }) => String(id)).toSorted());
    }
    expect((await ids(aliceReader)).join()).not.toBe((await ids(bobReader)).join());
    const [all] = await world.sql('select count(*)::int as count from explore.contracts');
    expect(await world.all('/api/contracts', { state: 'all', limit: '1000' })).toHaveLength(Number(all?.['count']));
  });

  it('get no id of a hidden contract from any route', async () => {
    const { contracts, updates } = await hiddenFrom(aliceReader.role);
    expect(contracts.length).toBeGreaterThan(20);
    const values = { party: bob ?? '', contract_id: contracts[0] ?? '', update_id: updates[0] ?? '', owner: bob ?? '' };
    for (const route of storedRoutes) {
      for (const path of [...requestsTo(route, values), ...requestsTo(route, { ...values, party: alice ?? '' })]) {
        const { status, text } = await world.get(path, aliceReader);
        expect([200, 400, 404], `${path}: ${text}`).toContain(status);
        if (status !== 200) continue;
        for (const id of contracts) expect(text.includes(id), `${path} has ${id}`).toBe(false);
      }
    }
  });

  it('get 404 for a hidden contract, as for one that does not exist', async () => {
    const { contracts } = await hiddenFrom(aliceReader.role);
    const hidden = await world.get(`/api/contracts/${contracts[0] ?? ''}`, aliceReader);
    const missing = await world.get('/api/contracts/00ffff', aliceReader);
    expect(hidden).toEqual(missing);
    expect(hidden.status).toBe(404);
    expect((await world.get(`/api/contracts/${contracts[0] ?? ''}`)).status).toBe(200);
  });

  it('get no hidden party as a nearest name', async () => {
    const visible = (await world.all('/api/parties', { limit: '1000' }, aliceReader)).map(({ party }) => String(party));
    const all = (await world.all('/api/parties', { limit: '1000' })).map(({ party }) => String(party));
    const hidden = all.find((party) => !visible.includes(party)) ?? '';
    expect(hidden).not.toBe('');
    const { status, text } = await world.get(
      `/api/movements?party=${encodeURIComponent(`${hidden.split('::')[0] ?? ''}::1220`)}`,
      aliceReader,
    );
    expect(status).toBe(404);
    expect(text).not.toContain(hidden);
  });

  it('cannot use a cursor of another caller, of other parameters, or a changed one', async () => {
    const parameters = { state: 'all', limit: '3' };
    const { next } = await world.page('/api/contracts', parameters, aliceReader);
    const cursor = next ?? '';
    const use = async (query: string, reader?: ApiReader): Promise<unknown> => {
      const { status, text } = await world.get(`/api/${query}`, reader);
      return status === 200 ? 'rows' : (JSON.parse(text) as { code: string }).code;
    };
    expect(await use(`contracts?state=all&limit=3&cursor=${cursor}`, aliceReader)).toBe('rows');
    expect(await use(`contracts?state=all&limit=9&cursor=${cursor}`, aliceReader)).toBe('rows');
    const otherToken = await world.reader(alice ?? '');
    for (const reader of [bobReader, otherToken, undefined]) {
      expect(await use(`contracts?state=all&limit=3&cursor=${cursor}`, reader)).toBe('CURSOR_INVALID');
    }
    expect(await use(`contracts?limit=3&cursor=${cursor}`, aliceReader)).toBe('CURSOR_INVALID');
    expect(await use(`updates?limit=3&cursor=${cursor}`, aliceReader)).toBe('CURSOR_INVALID');
    const forged = Buffer.from(cursor, 'base64url');
    forged[forged.length - 3] = (forged.at(-3) ?? 0) ^ 1;
    expect(await use(`contracts?state=all&limit=3&cursor=${forged.toString('base64url')}`, aliceReader)).toBe(
      'CURSOR_INVALID',
    );
    expect(
      await use(`contracts?state=all&limit=3&cursor=${Buffer.from('["1","00"]').toString('base64url')}`, aliceReader),
    ).toBe('CURSOR_INVALID');
  });

  it('are refused without a token, with a wrong one, and after it was revoked', async () => {
    expect(await world.get('/api/contracts', undefined, forwarded)).toMatchObject({
      status: 403,
      type: 'application/problem+json',
    });
    const wrong = { role: '', token: `lir_${'A'.repeat(43)}` };
    expect((await world.get('/api/contracts', wrong)).status).toBe(401);
    expect((await world.get('/api/contracts', undefined, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await world.get('/api/openapi.json', undefined, forwarded)).status).toBe(200);
    const revoked = await world.reader(alice ?? '');
    expect((await world.get('/api/contracts', revoked)).status).toBe(200);
    await world.sql(`update ledger.reader_tokens set revoked_at = now() where role_name = '${revoked.role}'`);
    expect((await world.get('/api/contracts', revoked)).status).toBe(401);
  });

  it('change nothing and cause no failure of the database with any text in any parameter', async () => {
    const before = await world.sql('select count(*) from explore.contracts');
    for (const route of storedRoutes) {
      for (const parameter of route.parameters) {
        const paths = hostileTexts.map((text) => requestWith(route, parameter, text));
        const answers = await Promise.all(paths.map((path) => world.get(path, aliceReader)));
        for (const [index, { status, text }] of answers.entries()) {
          expect([200, 400, 404, 413], `${paths[index] ?? ''}: ${text}`).toContain(status);
        }
      }
    }
    expect(await world.sql('select count(*) from explore.contracts')).toEqual(before);
  });
});

const hostileTexts = [
  `'; drop table ledger.contracts; --`,
  `" or 1=1 --`,
  `') or true --`,
  `x' union select rolpassword from pg_authid --`,
  `$1`,
  `%00`,
  `{${'a'.repeat(500)}}`,
  `1e999999`,
  `99999999999999999999`,
  `9007199254740991`,
  `payload."'; drop table x; --" = '''; drop table x; --'`,
  `payload.x > 1 and (select 1) = 1`,
  `-payload."x\\' desc; drop table y"`,
  `2026-02-30T00:00:00Z`,
  `9999-12-31T23:59:59Z`,
  `pkg:Module'; drop table z; --:Entity`,
];

/** Requests with the values that the route requires, and with each value that it accepts. */
function requestsTo(route: ApiRoute, values: Readonly<Record<string, string>>): readonly string[] {
  const optional = route.parameters.filter(
    ({ name, inPath, required }) => inPath !== true && required !== true && name in values,
  );
  return [
    pathOf(route, values, {}),
    ...optional.map(({ name }) => pathOf(route, values, { [name]: values[name] ?? '' })),
  ];
}

function requestWith(route: ApiRoute, parameter: ApiParameter, text: string): string {
  const values = { [parameter.name]: text };
  return pathOf(route, values, parameter.inPath === true ? {} : values);
}

const fallbacks: Readonly<Record<string, string>> = {
  interface: 'Splice.Api.Token.HoldingV1:Holding',
  party: 'unknown::1220ab',
  from: '10',
  to: '20',
  id: '10',
};

function pathOf(
  { path, parameters }: ApiRoute,
  values: Readonly<Record<string, string>>,
  extra: Readonly<Record<string, string>>,
): string {
  const query: Record<string, string> = { limit: '1000' };
  if (!parameters.some(({ name }) => name === 'limit')) delete query['limit'];
  let filled = path;
  for (const { name, inPath, required } of parameters) {
    const value = values[name] ?? fallbacks[name] ?? '00ab';
    if (inPath === true) filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else if (required === true) query[name] = value;
  }
  return `${filled}?${new URLSearchParams({ ...query, ...extra }).toString()}`;
}
