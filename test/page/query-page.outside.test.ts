/** Tests the functions and the accessibility of the query page, in a browser with an indexer and a Postgres. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { source as axeSource } from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/connection/database.ts';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import { createToken, revokeToken } from '../../src/store/roles/reader-tokens.ts';
import type { IndexerRun } from '../e2e/runs/indexer-run.ts';
import { query, type TestDatabase } from '../support/database.ts';
import { needs } from '../support/skips/needs.ts';
import { waitFor } from '../support/wait-for.ts';
import { audit, look, noBrowser, openBrowser, type Look } from './browser.ts';
import { contract, startQueryWorld, type QueryWorld } from './query-world.ts';

describe('the query page', needs(noBrowser), () => {
  let browser: Browser;
  let world: QueryWorld;
  let indexer: IndexerRun;
  let database: TestDatabase;
  let active: string;
  beforeAll(async () => {
    world = await startQueryWorld();
    ({ indexer, database } = world);
    active = `select 'statement' from pg_stat_activity where usename = '${world.role}' and wait_event = 'PgSleep'`;
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await world[Symbol.asyncDispose]();
  });

  async function opened(options: Parameters<typeof look>[2] = {}): Promise<Look> {
    const seen = await look(browser, `${indexer.httpUrl}/query`, options);
    await seen.waitForText('ready', /Newest updates/);
    return seen;
  }

  it('is linked from the status page, and runs the sample queries', async () => {
    const { page, waitForText, errors, requests } = await look(browser, indexer.httpUrl);
    await page.locator('#to-query').click();
    await page.getByRole('button', { name: 'Newest updates' }).click();
    await waitForText('outcome', /^3 rows, /);
    expect(await page.locator('#columns').innerText()).toMatch(/offset\s+kind\s+record_time/);
    await page.getByRole('button', { name: 'Updates per hour' }).click();
    await waitForText('outcome', /^1 row, /);
    await page.getByRole('button', { name: 'Chart' }).click();
    expect(await page.locator('#chart canvas').isVisible()).toBe(true);
    expect(await page.locator('#chart').getAttribute('aria-label')).toMatch(
      /^transactions by hour: 1 of 1 rows, from 3/,
    );
    expect(errors).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(`${indexer.httpUrl}/`) && !url.startsWith('data:'))).toEqual([]);
  });

  it('runs statements from links of the status page', async () => {
    const { page, waitForText } = await look(browser, indexer.httpUrl);
    const link = page.getByRole('link', { name: 'Run in /query: query 2' });
    const statement = await page.locator('#snippets li', { has: link }).locator('code').innerText();
    await link.click();
    await waitForText('outcome', /^1 row, /);
    expect(await page.locator('#statement').inputValue()).toBe(statement);
    expect(await page.locator('#rows').innerText()).toMatch(/Iou\s+3/);
    await page.goBack();
    await page.locator('#updates button').first().click();
    await page.getByRole('link', { name: 'Run in /query: the command that explains it' }).click();
    await waitForText('explained-text', /created/);
  });

  it('does not run a statement from its URL', async () => {
    const { page, text, requests } = await look(browser, `${indexer.httpUrl}/query#ready/select%201`);
    await page.getByRole('button', { name: 'Newest updates' }).waitFor();
    expect(await text('outcome')).toBe('No query has run yet.');
    // Only the page itself was requested. Statements are sent to the same URL.
    expect(requests.filter((url) => url.endsWith('/query'))).toHaveLength(1);
  });

  it('runs a statement with Ctrl+Enter, and cancels it in the database with Esc', async () => {
    const { page, waitForText } = await opened();
    await page.locator('#statement').fill('select pg_sleep(29)');
    await page.keyboard.press('Control+Enter');
    await waitForText('outcome', /^Running/);
    await waitFor('it runs', async () => ((await query(database.url, active)).length > 0 ? true : undefined));
    await page.keyboard.press('Escape');
    await waitForText('outcome', /^Stopped/);
    const ended = async () => ((await query(database.url, active)).length === 0 ? true : undefined);
    await waitFor('it runs no more', ended, 5_000);
    await page.locator('#statement').fill('select nothing from nowhere');
    await page.keyboard.press('Control+Enter');
    await waitForText('outcome', /"nowhere" does not exist at line 1, column 21/);
    expect(await audit(page)).toEqual([]);
  });

  it('opens the contract or update of an id, and closes it with Back or Esc', async () => {
    const { page, waitForText, errors } = await opened();
    await page
      .locator('#statement')
      .fill('select contract_id, created_at_offset, update_id from explore.contracts order by 2');
    await page.keyboard.press('Control+Enter');
    await waitForText('outcome', /^3 rows/);
    await page.locator('#rows a').first().click();
    await waitForText('explained-text', /Iou/);
    expect(await page.locator('#explained-heading').textContent()).toContain(contract.slice(0, 24));
    await page.goBack();
    expect(await page.locator('#explained').isVisible()).toBe(false);
    await page.locator('#rows tr').nth(1).locator('a').nth(1).press('Enter');
    await waitForText('explained-text', /^transaction .*offset/s);
    await page.keyboard.press('Escape');
    expect(await page.locator('#explained').isVisible()).toBe(false);
    expect(errors).toEqual([]);
  });

  it('finds templates and parties, and runs a statement for the selected party', async () => {
    const { page, waitForText } = await opened();
    await page.locator('#search').fill('iou');
    await waitForText('found', /iou:Main\.Iou:Iou \(3 active\)/);
    await page.locator('#search').fill('hold');
    await waitForText('found', /^interface .*Holding$/);
    await page.locator('#search').fill('bob');
    await waitForText('found', /^party Bob::1220bb$/);
    await page.locator('#found button').click();
    await waitForText('outcome', /^3 rows/);
    // Values from the ledger are displayed as text.
    expect(await page.locator('#rows').textContent()).toContain('<img');
    expect(await page.locator('main img').count()).toBe(0);
    expect(await page.title()).toBe('Query · Ledger Indexer');
  });

  it('runs queries with the role of a token until the token is revoked or removed', async () => {
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
      const { page, waitForText, errors } = await opened();
      await page.locator('#token').fill('a password of another service');
      await page.getByRole('button', { name: 'Use token' }).click();
      await waitForText('asks-as', /Not a token/);
      await page.locator('#token').fill(token);
      await page.keyboard.press('Enter');
      await waitForText('asks-as', /with a token/);
      await waitForText('ready', /Newest updates/);
      expect(await page.content()).not.toContain(token);
      await page.locator('#statement').fill('select contract_id from explore.contracts');
      await page.keyboard.press('Control+Enter');
      await waitForText('outcome', /^0 rows/);
      expect(await wrong(page)).toEqual([]);
      // Another tab still queries without the token.
      const other = await opened();
      await other.waitForText('asks-as', /as this machine/);
      await revokeToken(owner, id);
      await page.keyboard.press('Control+Enter');
      await waitForText('outcome', /was revoked/);
      await page.getByRole('button', { name: 'Forget token' }).click();
      await waitForText('asks-as', /as this machine/);
      await page.locator('#statement').fill('select contract_id from explore.contracts');
      await page.keyboard.press('Control+Enter');
      await waitForText('outcome', /^3 rows/);
      expect(errors.filter((error) => !error.includes('401'))).toEqual([]);
    } finally {
      await query(database.url, `drop owned by ${limited}; drop role ${limited}`);
      await owner.close();
    }
  });

  it('exports all rows, including rows that are not displayed', async () => {
    const { page, waitForText } = await opened();
    await page.locator('#statement').fill('select n from generate_series(1, 2500) n');
    await page.keyboard.press('Control+Enter');
    await waitForText('outcome', /^The first 1,000 rows, there are more/);
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#export').click()]);
    expect((await readFile(await download.path(), 'utf8')).split('\r\n').length).toBe(2502);
  });

  it('rejects queries from pages of another origin', async () => {
    const { page } = await opened();
    const elsewhere = indexer.httpUrl.replace('127.0.0.1', 'localhost');
    const heard = await page.evaluate<string>(`fetch('${elsewhere}/query', {
      method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body: '{"statement":"select pg_sleep(9)"}'
    }).then((response) => response.type, () => 'refused')`);
    expect(heard).toBe('refused');
    const otherOriginPage = await browser.newPage();
    await otherOriginPage.goto(`${elsewhere}/status`);
    const answer = `fetch('${indexer.httpUrl}/query', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"statement":"select pg_sleep(9)"}'
    }).then((response) => response.type, () => 'refused')`;
    expect(await otherOriginPage.evaluate<string>(answer)).toBe('refused');
    expect(await query(database.url, active)).toEqual([]);
  });

  it.each([
    { colorScheme: 'light', width: 1180 },
    { colorScheme: 'dark', width: 375 },
  ] as const)('is accessible in $colorScheme mode at $width pixels', async (options) => {
    const { page, waitForText } = await opened(options);
    await page.locator('#search').fill('o');
    await page.locator('#search').fill('iou');
    await waitForText('found', /Iou/);
    await page.locator('#found button').click();
    await waitForText('outcome', /^3 rows/);
    expect(await wrong(page)).toEqual([]);
    await page.getByRole('button', { name: 'Chart' }).click();
    expect(await wrong(page)).toEqual([]);
    await page.getByRole('button', { name: 'Table' }).click();
    await page.locator('#rows a').first().click();
    await waitForText('explained-text', /Iou/);
    expect(await wrong(page)).toEqual([]);
  });

  /** Problems that the audit of the project and axe find. */
  async function wrong(page: Look['page']): Promise<readonly string[]> {
    // Uses the protocol of the browser, because the policy of the page blocks injected scripts.
    await page.evaluate(axeSource);
    const found = await page.evaluate<readonly string[]>(`axe.run().then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 120))))`);
    return [...(await audit(page)), ...found];
  }
});
