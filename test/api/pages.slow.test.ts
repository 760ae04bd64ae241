/** Pages of every route, in every order, have all rows once; answers are limited and wait for offsets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiRoute } from '../../src/model/push/read-api.ts';
import { storedRoutes } from '../../src/store/api/routes.ts';
import { ApiWorld } from './api-world.ts';

let world: ApiWorld;
let required: Readonly<Record<string, string>>;

beforeAll(async () => {
  world = await ApiWorld.open(400);
  const [first] = await world.sql(
    `select (select owner from explore.token_balances order by holdings desc, owner limit 1) as party,
            (select contract_id from explore.exercises where not consuming order by "offset" limit 1) as contract,
            (select update_id from explore.updates where event_count > 3 order by "offset" limit 1) as update,
            (select command_id from explore.updates where command_id is not null order by "offset" limit 1) as command`,
  );
  const end = world.sandbox.ledger.ledgerEnd();
  required = {
    party: String(first?.['party']),
    contract_id: String(first?.['contract']),
    update_id: String(first?.['update']),
    command_id: String(first?.['command']),
    interface: 'Splice.Api.Token.HoldingV1:Holding',
    from: String(Math.floor(end / 4)),
    to: String(Math.floor(end / 2)),
    id: String(first?.['contract']),
  };
});
afterAll(() => world[Symbol.asyncDispose]());

/** Path and parameters that the route requires. */
function requestFor({ path, parameters }: ApiRoute): { readonly path: string; readonly query: Record<string, string> } {
  const query: Record<string, string> = {};
  let filled = path;
  for (const { name, inPath, required: isRequired } of parameters) {
    if (inPath === true) filled = filled.replace(`{${name}}`, encodeURIComponent(required[name] ?? ''));
    else if (isRequired === true) query[name] = required[name] ?? '';
  }
  return { path: filled, query };
}

/** Orders of a route: by each of its columns that can be compared, in both directions. */
function ordersOf({ columns }: ApiRoute): readonly string[] {
  return Object.entries(columns)
    .filter(([, kind]) => !['texts', 'numbers', 'json'].includes(kind))
    .flatMap(([name]) => [name, `-${name}`]);
}

/** The first rows, in pages of one row. */
async function firstRows(path: string, query: Readonly<Record<string, string>>, count: number): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (let cursor: string | undefined; rows.length < count;) {
    const page = await world.page(path, { ...query, limit: '1', ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...page.rows);
    cursor = page.next ?? undefined;
    if (cursor === undefined) break;
  }
  return rows;
}

const rowsRoutes = storedRoutes.filter(({ answers }) => answers === 'rows');

describe('pages', () => {
  it.each(rowsRoutes.map((route) => [route.path, route] as const))(
    '%s: have all rows once, in every order',
    async (_, route) => {
      const { path, query } = requestFor(route);
      const complete = await world.page(path, { ...query, limit: '300' });
      const texts = (rows: readonly unknown[]): readonly string[] => rows.map((row) => JSON.stringify(row));
      const limit = String(Math.max(1, Math.ceil(complete.rows.length / 3)));
      const inPages = await world.all(path, { ...query, limit });
      expect(texts(inPages).slice(0, complete.rows.length)).toEqual(texts(complete.rows));
      // Rows of one offset are on different pages.
      const one = texts(await firstRows(path, query, Math.min(40, complete.rows.length)));
      expect(one).toEqual(texts(complete.rows.slice(0, one.length)));
      if (complete.next !== null) return;
      for (const sort of ordersOf(route)) {
        const sorted = await world.page(path, { ...query, sort, limit: '300' });
        expect(texts(sorted.rows).toSorted(), sort).toEqual(texts(complete.rows).toSorted());
        expect(texts(await world.all(path, { ...query, sort, limit })), sort).toEqual(texts(sorted.rows));
      }
    },
  );

  it('are ordered by a field of the payload as its type is, with missing values last', async () => {
    const template = 'splice-amulet:Splice.Amulet:Amulet';
    const rows = await world.all('/api/contracts', {
      template,
      state: 'all',
      sort: '-payload.amount.initialAmount',
      limit: '7',
    });
    const amounts = rows.map(({ payload }) =>
      Number((payload as { amount: { initialAmount: string } }).amount.initialAmount),
    );
    expect(amounts.length).toBeGreaterThan(20);
    expect(amounts).toEqual(amounts.toSorted((left, other) => other - left));
  });

  it('are of one earlier state if the request names it, by offset and by time', async () => {
    const offset = Math.floor(world.sandbox.ledger.ledgerEnd() / 2);
    const expected = await world.sql(`select contract_id from explore.active_at(${String(offset)}) order by 1`);
    const ids = (rows: readonly Readonly<Record<string, unknown>>[]): readonly string[] =>
      rows.map((row) => String(row['contract_id'])).toSorted();
    expect(ids(await world.all('/api/contracts', { at: String(offset), limit: '11' }))).toEqual(ids(expected));
    const [time] = await world.sql(
      `select to_char(effective_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, "offset" from explore.updates
        where "offset" <= ${String(offset)} and kind = 'transaction' order by "offset" desc limit 1`,
    );
    const page = await world.page('/api/contracts', { at: String(time?.['at']), limit: '1' });
    expect(page.offset).toBe(Number(time?.['offset']));
    expect(page.checkpoint).toBe(world.sandbox.ledger.ledgerEnd());
    const future = await world.get(`/api/contracts?at=${String(world.sandbox.ledger.ledgerEnd() + 1_000)}`);
    expect(future.status).toBe(404);
    expect(JSON.parse(future.text)).toMatchObject({ code: 'OFFSET_UNKNOWN' });
  });
});

describe('answers', () => {
  it('have at most 1,000 rows', async () => {
    expect((await world.get('/api/exercises?limit=1001')).status).toBe(400);
    expect((await world.get('/api/exercises?limit=0')).status).toBe(400);
    const page = await world.page('/api/exercises', { limit: '3' });
    expect(page.rows).toHaveLength(3);
    expect(page.next).not.toBeNull();
  });

  it('end at 4 MB, and continue on the next page', async () => {
    await world.sql(
      `update ledger.contracts set payload = payload || jsonb_build_object('long', repeat('x', 900000))
        where "offset" in (select "offset" from ledger.contracts order by "offset" limit 20)`,
    );
    const first = await world.get('/api/contracts?state=all&limit=100');
    const { rows, next } = JSON.parse(first.text) as { rows: unknown[]; next: string | null };
    expect(first.text.length).toBeLessThan(4_100_000);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThan(20);
    const all = await world.all('/api/contracts', { state: 'all', limit: '1000' });
    const [{ count } = {}] = await world.sql('select count(*)::int as count from explore.contracts');
    expect(next).not.toBeNull();
    expect(all).toHaveLength(Number(count));
  });

  it('wait for an offset, and report one that is not reached', async () => {
    const end = world.sandbox.ledger.ledgerEnd();
    const waiting = world.page('/api/updates', {
      at_least_offset: String(end + 1),
      timeout: '60',
      sort: '-offset',
      limit: '1',
    });
    world.add(3);
    const { offset, rows } = await waiting;
    expect(offset).toBeGreaterThan(end);
    expect(rows[0]?.['offset']).toBeGreaterThan(end);
    const missed = await world.get('/api/updates?at_least_offset=999999&timeout=0');
    expect(missed).toMatchObject({ status: 504, type: 'application/problem+json' });
    expect(JSON.parse(missed.text)).toMatchObject({ code: 'OFFSET_NOT_REACHED' });
  });

  it('explain an id, and print the hash of the account statement', async () => {
    const { text } = await world.get(`/api/explain?id=${required['id'] ?? ''}`);
    expect(JSON.parse(text)).toMatchObject({ kind: 'contract', history: { omitted: 0 } });
    const statement = await world.get(`/api/account-statement?party=${encodeURIComponent(required['party'] ?? '')}`);
    const { rows, sha256, columns, totals, version } = JSON.parse(statement.text) as Record<string, readonly unknown[]>;
    expect(rows?.length).toBeGreaterThan(2);
    expect(columns).toEqual(expect.arrayContaining(['balance', 'kind', 'usd']));
    expect([version, rows?.at(-1)]).toEqual([2, expect.arrayContaining(['closing'])]);
    expect(totals?.[0]).toMatchObject({ opening: '0', closing: expect.any(String) as string });
    expect(totals?.length).toBe(rows?.filter((row) => (row as readonly unknown[]).includes('closing')).length);
    const unknown = await world.get(
      `/api/account-statement?party=${encodeURIComponent(`${required['party'] ?? ''}f`)}`,
    );
    expect([unknown.status, unknown.text]).toEqual([404, expect.stringContaining(required['party'] ?? '')]);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it('count in the metrics of their route', async () => {
    await world.page('/api/coverage');
    expect(await world.indexer.metric('indexer_api_requests_total{route="coverage",status="200"}')).toBeGreaterThan(0);
    await world.get('/api/unknown-path');
    expect(await world.indexer.metric('indexer_api_requests_total{route="other",status="404"}')).toBeGreaterThan(0);
  });
});
