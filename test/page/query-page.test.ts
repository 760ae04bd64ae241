/** The query page in a real browser, before a real indexer and a real Postgres: what it answers, to whom, and that it can be read. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { source as axeSource } from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import { createToken, revokeToken } from '../../src/store/roles/reader-tokens.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { waitFor } from '../support/wait-for.ts';
import { audit, look, noBrowser, openBrowser, type Look } from './browser.ts';

if (noBrowser !== undefined) process.stdout.write(`query page: ${noBrowser}\n`);

const role = `asks_${randomBytes(4).toString('hex')}`;
const contract = `00${'a1'.repeat(32)}`;
const markup = `<img src=x onerror="document.title='taken'">`;

let sandbox: Sandbox;
let database: TestDatabase;
let indexer: IndexerRun;

beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  database = await createTestDatabase();
  const reader = new URL(database.url);
  [reader.username, reader.password] = [role, role];
  indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    INDEXER_CONSOLE_DATABASE_URL: reader.href,
    INDEXER_START: 'genesis',
  });
  for (const contractId of [contract, '00c2', '00c3']) {
    const offset = sandbox.ledger.ledgerEnd() + 1;
    const event = { CreatedEvent: frames.created({ offset, contractId, createArgument: { note: markup } }) };
    sandbox.ledger.appendRaw(
      JSON.stringify(frames.transaction(offset, [event], { recordTime: frames.recordTime })),
      offset,
    );
  }
  await indexer.reaches(sandbox.ledger.ledgerEnd());
  const applicationName = 'test';
  const owner = openDatabase({ url: database.url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName });
  await grantReader(owner, { role, parties: [], password: role });
  await owner.close();
});
afterAll(async () => {
  await indexer[Symbol.asyncDispose]();
  await sandbox.close();
  await database.drop();
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${role}`);
});

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Status and body. As the page asks, but for what is given. */
function asked({ method = 'POST', path = '/query', headers = {}, body = '{"statement":"select 1 as n"}' }: Asked = {}) {
  const own = { 'content-type': 'application/json', origin: indexer.httpUrl };
  return new Promise<readonly [number | undefined, string]>((resolve, reject) => {
    const request = httpRequest(
      `${indexer.httpUrl}${path}`,
      { method, headers: { ...own, ...headers } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve([response.statusCode, text]));
      },
    );
    request.on('error', reject);
    request.end(method === 'POST' ? body : undefined);
  });
}

describe('/query', () => {
  it('answers the page that asks as ours does', async () => {
    const [status, text] = await asked();
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ columns: [{ name: 'n', isNumber: true }], rows: [['1']], whole: true });
    const csv = await asked({
      path: '/query/csv',
      body: `{"statement":"select 1 as n, '=1+1' as text, null as none"}`,
    });
    expect(csv).toEqual([200, "n,text,none\r\n1,'=1+1,\r\n"]);
  });

  it.each([
    ['a form of another page', { 'content-type': 'text/plain' }],
    ['a form that was sent as a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['no origin', { origin: '' }],
    ['a page without an origin', { origin: 'null' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['another site, as the browser says', { 'sec-fetch-site': 'same-site' }],
    ['a name that leads here', { host: 'evil.example', origin: 'http://evil.example' }],
    ['an address that is not of loopback', { host: '10.1.2.3', origin: 'http://10.1.2.3' }],
    ['a proxy', { 'x-forwarded-for': '10.1.2.3' }],
    ['another proxy', { forwarded: 'for=10.1.2.3' }],
    ['a gateway', { via: '1.1 gateway' }],
  ])('answers nothing to %s', async (_who, headers) => {
    const [status, text] = await asked({ headers });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).not.toContain('rows');
  });

  it('has a page for everybody, which holds nothing, and is asked with POST', async () => {
    const [status, text] = await asked({ method: 'GET', headers: { 'x-forwarded-for': '10.1.2.3' } });
    expect([status, text]).toEqual([200, (await asked({ method: 'GET' }))[1]]);
    expect(text).not.toContain(contract);
    expect((await asked({ method: 'GET', path: '/query/csv' }))[0]).toBe(405);
    expect((await asked({ method: 'PUT' }))[0]).toBe(405);
    // Another origin asks first whether it may.
    expect((await asked({ method: 'OPTIONS', headers: { origin: 'https://evil.example' } }))[0]).toBe(405);
  });

  it('says what it takes, and what Postgres says', async () => {
    expect((await asked({ body: '[]' }))[0]).toBe(400);
    expect((await asked({ body: '{"statement":1}' }))[0]).toBe(400);
    expect((await asked({ path: '/query/nothing' }))[0]).toBe(404);
    expect((await asked({ body: `{"statement":"${'x'.repeat(70_000)}"}` }))[0]).toBe(413);
    const [status, text] = await asked({ body: '{"statement":"select owner from nowhere"}' });
    expect([status, JSON.parse(text)]).toMatchObject([
      400,
      { code: 'QUERY_REFUSED', error: expect.stringMatching(/line 1, column 19/) as unknown },
    ]);
    const [more, refused] = await asked({
      path: '/query/csv',
      body: '{"statement":"select generate_series(1, 100001)"}',
    });
    expect([more, refused]).toEqual([413, expect.stringContaining('query \\"…\\" --csv')]);
  });

  it('is not there when it is switched off', async () => {
    const env = { LEDGER_URL: sandbox.url, DATABASE_URL: database.url, INDEXER_CONSOLE: 'false' };
    await using without = await runIndexer(env);
    expect((await fetch(`${without.httpUrl}/query`)).status).toBe(404);
  });
});

it.each(['/', '/query'])('the parts of %s, which share their names, declare each of them once', async (path) => {
  const document = await (await fetch(`${indexer.httpUrl}${path}`)).text();
  const names = [...document.matchAll(/^(?:async )?function (\w+)/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(20);
  expect(names.filter((name, nth) => names.indexOf(name) !== nth)).toEqual([]);
});

describe.skipIf(noBrowser !== undefined)('the query page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
  });

  async function opened(options: Parameters<typeof look>[2] = {}): Promise<Look> {
    const seen = await look(browser, `${indexer.httpUrl}/query`, options);
    await seen.shows('ready', /Newest updates/);
    return seen;
  }

  const active = `select 'statement' from pg_stat_activity where usename = '${role}' and wait_event = 'PgSleep'`;

  it('is found from the status page, and runs the ready queries', async () => {
    const { page, shows, errors, requests } = await look(browser, indexer.httpUrl);
    await page.locator('#to-query').click();
    await page.getByRole('button', { name: 'Newest updates' }).click();
    await shows('outcome', /^3 rows, /);
    expect(await page.locator('#columns').innerText()).toMatch(/offset\s+kind\s+record_time/);
    await page.getByRole('button', { name: 'Updates per hour' }).click();
    await shows('outcome', /^1 row, /);
    await page.getByRole('button', { name: 'Chart' }).click();
    expect(await page.locator('#chart canvas').isVisible()).toBe(true);
    expect(await page.locator('#chart').getAttribute('aria-label')).toMatch(
      /^transactions by hour: 1 of 1 rows, from 3/,
    );
    expect(errors).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(`${indexer.httpUrl}/`) && !url.startsWith('data:'))).toEqual([]);
  });

  it('runs with Ctrl Enter, and Esc ends a statement in the database', async () => {
    const { page, shows } = await opened();
    await page.locator('#statement').fill('select pg_sleep(29)');
    await page.keyboard.press('Control+Enter');
    await shows('outcome', /^Running/);
    await waitFor('it runs', async () => ((await query(database.url, active)).length > 0 ? true : undefined));
    await page.keyboard.press('Escape');
    await shows('outcome', /^Stopped/);
    const ended = async () => ((await query(database.url, active)).length === 0 ? true : undefined);
    await waitFor('it runs no more', ended);
    await page.locator('#statement').fill('select nothing from nowhere');
    await page.keyboard.press('Control+Enter');
    await shows('outcome', /"nowhere" does not exist at line 1, column 21/);
    expect(await audit(page)).toEqual([]);
  });

  it('opens what an id stands for, and closes it on the way back', async () => {
    const { page, shows, errors } = await opened();
    await page
      .locator('#statement')
      .fill('select contract_id, created_at_offset, update_id from explore.contracts order by 2');
    await page.keyboard.press('Control+Enter');
    await shows('outcome', /^3 rows/);
    await page.locator('#rows a').first().click();
    await shows('explained-text', /Iou/);
    expect(await page.locator('#explained-heading').textContent()).toContain(contract.slice(0, 24));
    await page.goBack();
    expect(await page.locator('#explained').isVisible()).toBe(false);
    await page.locator('#rows tr').nth(1).locator('a').nth(1).press('Enter');
    await shows('explained-text', /^transaction .*offset/s);
    await page.keyboard.press('Escape');
    expect(await page.locator('#explained').isVisible()).toBe(false);
    expect(errors).toEqual([]);
  });

  it('finds templates and parties, and makes a statement of the one that is chosen', async () => {
    const { page, shows } = await opened();
    await page.locator('#search').fill('iou');
    await shows('found', /iou:Main\.Iou:Iou \(3 active\)/);
    await page.locator('#search').fill('hold');
    await shows('found', /^interface .*Holding$/);
    await page.locator('#search').fill('bob');
    await shows('found', /^party Bob::1220bb$/);
    await page.locator('#found button').click();
    await shows('outcome', /^3 rows/);
    // What comes from the ledger is text.
    expect(await page.locator('#rows').textContent()).toContain('<img');
    expect(await page.locator('main img').count()).toBe(0);
    expect(await page.title()).toBe('Query · Ledger Indexer');
  });

  it('asks with a token as its role, until it is forgotten', async () => {
    const owner = openDatabase({
      url: database.url,
      schema: 'ledger',
      statementTimeoutMs: 60_000,
      applicationName: 'test',
    });
    const limited = `limited_${randomBytes(4).toString('hex')}`;
    try {
      await grantReader(owner, { role: limited, parties: ['nobody::1220'], password: undefined });
      const { id, token } = await createToken(owner, { role: limited, name: null, expiresAt: null });
      const { page, shows, errors } = await opened();
      await page.locator('#token').fill('a password of something else');
      await page.getByRole('button', { name: 'Use token' }).click();
      await shows('asks-as', /no token/);
      await page.locator('#token').fill(token);
      await page.keyboard.press('Enter');
      await shows('asks-as', /with a token/);
      await shows('ready', /Newest updates/);
      expect(await page.content()).not.toContain(token);
      await page.locator('#statement').fill('select contract_id from explore.contracts');
      await page.keyboard.press('Control+Enter');
      await shows('outcome', /^0 rows/);
      expect(await wrong(page)).toEqual([]);
      // Another tab asks as before.
      const other = await opened();
      await other.shows('asks-as', /as this machine/);
      await revokeToken(owner, id);
      await page.keyboard.press('Control+Enter');
      await shows('outcome', /is revoked/);
      await page.getByRole('button', { name: 'Forget token' }).click();
      await shows('asks-as', /as this machine/);
      await page.locator('#statement').fill('select contract_id from explore.contracts');
      await page.keyboard.press('Control+Enter');
      await shows('outcome', /^3 rows/);
      expect(errors.filter((error) => !error.includes('401'))).toEqual([]);
    } finally {
      await query(database.url, `drop owned by ${limited}; drop role ${limited}`);
      await owner.close();
    }
  });

  it('exports all rows, more than it shows', async () => {
    const { page, shows } = await opened();
    await page.locator('#statement').fill('select n from generate_series(1, 2500) n');
    await page.keyboard.press('Control+Enter');
    await shows('outcome', /^The first 1,000 rows, there are more/);
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#export').click()]);
    expect((await readFile(await download.path(), 'utf8')).split('\r\n').length).toBe(2502);
  });

  it('cannot be asked by a page of another origin', async () => {
    const { page } = await opened();
    const elsewhere = indexer.httpUrl.replace('127.0.0.1', 'localhost');
    const heard = await page.evaluate<string>(`fetch('${elsewhere}/query', {
      method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body: '{"statement":"select pg_sleep(9)"}'
    }).then((response) => response.type, () => 'refused')`);
    expect(heard).toBe('refused');
    const stranger = await browser.newPage();
    await stranger.goto(`${elsewhere}/status`);
    const answer = `fetch('${indexer.httpUrl}/query', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"statement":"select pg_sleep(9)"}'
    }).then((response) => response.type, () => 'refused')`;
    expect(await stranger.evaluate<string>(answer)).toBe('refused');
    expect(await query(database.url, active)).toEqual([]);
  });

  it.each([
    { colorScheme: 'light', width: 1180 },
    { colorScheme: 'dark', width: 375 },
  ] as const)('can be read and heard: $colorScheme, $width wide', async (options) => {
    const { page, shows } = await opened(options);
    await page.locator('#search').fill('o');
    await page.locator('#search').fill('iou');
    await shows('found', /Iou/);
    await page.locator('#found button').click();
    await shows('outcome', /^3 rows/);
    expect(await wrong(page)).toEqual([]);
    await page.getByRole('button', { name: 'Chart' }).click();
    expect(await wrong(page)).toEqual([]);
    await page.getByRole('button', { name: 'Table' }).click();
    await page.locator('#rows a').first().click();
    await shows('explained-text', /Iou/);
    expect(await wrong(page)).toEqual([]);
  });

  /** What our own audit and axe find. */
  async function wrong(page: Look['page']): Promise<readonly string[]> {
    // By the protocol of the browser: the policy of the page lets no script in.
    await page.evaluate(axeSource);
    const found = await page.evaluate<readonly string[]>(`axe.run().then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 120))))`);
    return [...(await audit(page)), ...found];
  }
});
