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
import { audit, openPage, browserSkipReason, openBrowser, type BrowserView } from './browser.ts';
import { contract, startQueryWorld, type QueryWorld } from './query-world.ts';

describe('the query page', needs(browserSkipReason), () => {
  let browser: Browser;
  let world: QueryWorld;
  let indexer: IndexerRun;
  let database: TestDatabase;
  let activeContractId: string;
  beforeAll(async () => {
    world = await startQueryWorld();
    ({ indexer, database } = world);
    activeContractId = `select 'statement' from pg_stat_activity where usename = '${world.role}' and wait_event = 'PgSleep'`;
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await world[Symbol.asyncDispose]();
  });

  async function openQueryPage(options: Parameters<typeof openPage>[2] = {}): Promise<BrowserView> {
    const browserView = await openPage(browser, `${indexer.httpUrl}/query`, options);
    await browserView.waitForText('ready', /Newest updates/);
    return browserView;
  }

  it('is linked from the status page, and runs the sample queries', async () => {
    const { page, waitForText, errors, requests } = await openPage(browser, indexer.httpUrl);
    await page.locator('#to-query').click();
    await page.getByRole('button', { name: 'Newest updates' }).click();
    await waitForText('outcome', /^3 rows, /);
    expect(await page.locator('#columns').innerText()).toMatch(/offset\s+kind\s+record_time/);
    await page.getByRole('button', { name: 'Updates per hour' }).click();
    await waitForText('outcome', /^1 row, /);
    expect(errors).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(`${indexer.httpUrl}/`) && !url.startsWith('data:'))).toEqual([]);
  });

  it('displays labels as hints of cells with parties, and leaves the rows as they are', async () => {
    const [{ party } = {}] = await query(database.url, 'select signatories[1] as party from explore.contracts limit 1');
    await query(
      database.url,
      `insert into ledger.party_labels (party, source, label) values ('${String(party)}', 'file', 'A <b>customer</b> \u202e')`,
    );
    const { page, waitForText, errors } = await openQueryPage();
    await page
      .locator('#statement')
      .fill('select signatories, signatories[1] as party, 1 as one from explore.contracts limit 1');
    await page.locator('#statement').press('Control+Enter');
    await waitForText('outcome', /^1 row, /);
    await waitFor('the hint of the cell', async () => {
      const hint = await page.locator('#rows td').nth(1).getAttribute('title');
      return hint?.startsWith(`"A <b>customer</b> \\u202e" is ${String(party)}`) === true ? true : undefined;
    });
    expect(await page.locator('#rows td').nth(0).getAttribute('title')).toContain('customer');
    expect(await page.locator('#rows td').nth(2).getAttribute('title')).toBeNull();
    expect(await page.locator('#rows').innerText()).not.toContain('customer');
    expect(errors).toEqual([]);
  });

  it('runs statements from links of the status page', async () => {
    const { page, waitForText } = await openPage(browser, indexer.httpUrl);
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
    const { page, text, requests } = await openPage(browser, `${indexer.httpUrl}/query#ready/select%201`);
    await page.getByRole('button', { name: 'Newest updates' }).waitFor();
    expect(await text('outcome')).toBe('No query has run yet.');
    // Only the page itself was requested. Statements are sent to the same URL.
    expect(requests.filter((url) => url.endsWith('/query'))).toHaveLength(1);
  });

  it('runs a statement with Ctrl+Enter, and cancels it in the database with Esc', async () => {
    const { page, waitForText } = await openQueryPage();
    await page.locator('#statement').fill('select pg_sleep(29)');
    await page.keyboard.press('Control+Enter');
    await waitForText('outcome', /^Running/);
    await waitFor('it runs', async () => ((await query(database.url, activeContractId)).length > 0 ? true : undefined));
    await page.keyboard.press('Escape');
    await waitForText('outcome', /^Stopped/);
    const isSessionEnded = async () => ((await query(database.url, activeContractId)).length === 0 ? true : undefined);
    await waitFor('it runs no more', isSessionEnded, 5_000);
    await page.locator('#statement').fill('select nothing from nowhere');
    await page.keyboard.press('Control+Enter');
    await waitForText('outcome', /"nowhere" does not exist at line 1, column 21/);
    expect(await audit(page)).toEqual([]);
  });

  it('opens the contract or update of an id, and closes it with Back or Esc', async () => {
    const { page, waitForText, errors } = await openQueryPage();
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
    const { page, waitForText } = await openQueryPage();
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
    const limitedRole = `limited_${randomBytes(4).toString('hex')}`;
    try {
      await grantReader(owner, { role: limitedRole, parties: ['nobody::1220'], password: undefined });
      const { id, token } = await createToken(owner, { role: limitedRole, name: null, expiresAt: null });
      const { page, waitForText, errors } = await openQueryPage();
      // On this machine no token is needed.
      expect(await page.locator('#token').isVisible()).toBe(false);
      await page.locator('#who-card summary').click();
      await page.locator('#token').fill('a password of another service');
      await page.getByRole('button', { name: 'Use token' }).click();
      await waitForText('token-state', /Not a token/);
      await page.locator('#token').fill('eyJhbGciOiJub25lIn0.e30.AAAA');
      await page.keyboard.press('Enter');
      await waitForText('token-state', /Tokens of the participant are turned off/);
      await page.locator('#token').fill(token);
      await page.keyboard.press('Enter');
      await waitForText('asks-as', new RegExp(`as role ${limitedRole}$`));
      await waitForText('ready', /Newest updates/);
      expect(await page.content()).not.toContain(token);
      await page.locator('#statement').fill('select contract_id from explore.contracts');
      await page.keyboard.press('Control+Enter');
      await waitForText('outcome', /^0 rows/);
      expect(await accessibilityProblems(page)).toEqual([]);
      // Another tab still queries without the token.
      const otherPage = await openQueryPage();
      await otherPage.waitForText('asks-as', /as this machine/);
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
      await query(database.url, `drop owned by ${limitedRole}; drop role ${limitedRole}`);
      await owner.close();
    }
  });

  it('exports all rows, including rows that are not displayed', async () => {
    const { page, waitForText } = await openQueryPage();
    await page.locator('#statement').fill('select n from generate_series(1, 2500) n');
    await page.keyboard.press('Control+Enter');
    await waitForText('outcome', /^The first 1,000 rows, there are more/);
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#export').click()]);
    expect((await readFile(await download.path(), 'utf8')).split('\r\n').length).toBe(2502);
  });

  it('rejects queries from pages of another origin', async () => {
    const { page } = await openQueryPage();
    const otherHostUrl = indexer.httpUrl.replace('127.0.0.1', 'localhost');
    const fetchResult = await page.evaluate<string>(`fetch('${otherHostUrl}/query', {
      method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' }, body: '{"statement":"select pg_sleep(9)"}'
    }).then((response) => response.type, () => 'refused')`);
    expect(fetchResult).toBe('refused');
    const otherOriginPage = await browser.newPage();
    await otherOriginPage.goto(`${otherHostUrl}/status`);
    const fetchScript = `fetch('${indexer.httpUrl}/query', {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"statement":"select pg_sleep(9)"}'
    }).then((response) => response.type, () => 'refused')`;
    expect(await otherOriginPage.evaluate<string>(fetchScript)).toBe('refused');
    expect(await query(database.url, activeContractId)).toEqual([]);
  });

  it.each([
    { colorScheme: 'light', width: 1180 },
    { colorScheme: 'dark', width: 375 },
  ] as const)('is accessible in $colorScheme mode at $width pixels', async (options) => {
    const { page, waitForText } = await openQueryPage(options);
    await page.locator('#search').fill('o');
    await page.locator('#search').fill('iou');
    await waitForText('found', /Iou/);
    await page.locator('#found button').click();
    await waitForText('outcome', /^3 rows/);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.locator('#rows a').first().click();
    await waitForText('explained-text', /Iou/);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.keyboard.press('Escape');
    for (const card of ['#who-card', '#history-card', '#views details:not([open])', '#views li details']) {
      await page.locator(`${card} > summary`).first().click();
    }
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.locator('#statement').fill("select * from (values ('a', 1), ('b', 2)) v (name, amount)");
    await page.locator('#run').click();
    await waitForText('outcome', /^2 rows/);
    await page.getByRole('button', { name: 'Chart' }).click();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.locator('#statement').fill('');
    await page.locator('#statement').pressSequentially('select contr');
    await page.locator('#completions').waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  /** Problems that the audit of the project and axe find. */
  async function accessibilityProblems(page: BrowserView['page']): Promise<readonly string[]> {
    // Uses the protocol of the browser, because the policy of the page blocks injected scripts.
    await page.evaluate(axeSource);
    const violations = await page.evaluate<readonly string[]>(`axe.run().then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 120))))`);
    return [...(await audit(page)), ...violations];
  }
});
