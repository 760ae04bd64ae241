/** Tests the status page in a browser, with an indexer that follows a sandbox ledger into a Postgres. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, query, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { needs } from '../support/skips/needs.ts';
import { waitFor } from '../support/wait-for.ts';
import { audit, openPage, browserSkipReason, openBrowser, type BrowserView } from './browser.ts';

interface TruncatedCell {
  readonly table: string;
  readonly text: string;
  /** Unused width in pixels of the column with the most unused width. */
  readonly room: number;
}

/** A column may be as wide as its usual words, because then the other columns keep their positions. */
const spareWidthPx = 24;

/** Runs in the browser: cells whose text is truncated, and the unused width of the other columns of their table. */
const truncatedCellsScript = `[...document.querySelectorAll('table')].flatMap((table) => {
  const rows = [...table.rows];
  const needs = (cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const { paddingLeft, paddingRight } = getComputedStyle(cell);
    return range.getBoundingClientRect().width + parseFloat(paddingLeft) + parseFloat(paddingRight);
  };
  const isCut = (cell) => cell.scrollWidth > cell.clientWidth;
  const roomOf = (column) => Math.min(...rows.map((row) => {
    const cell = row.cells[column];
    return isCut(cell) ? 0 : cell.getBoundingClientRect().width - needs(cell);
  }));
  const room = Math.max(...[...rows[0].cells].map((_, column) => roomOf(column)));
  return rows.flatMap((row) => [...row.cells]).filter(isCut)
    .map((cell) => ({ table: table.className, text: cell.textContent, room }));
})`;

describe('the status page', needs(browserSkipReason), () => {
  let browser: Browser;
  let sandbox: Sandbox;
  let database: TestDatabase;
  let indexer: IndexerRun;
  let traffic: NodeJS.Timeout;

  const run = (port = '0'): Promise<IndexerRun> =>
    runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: database.url, INDEXER_HTTP_PORT: port });

  function append(change: Parameters<typeof frames.created>[0] = {}): void {
    const offset = sandbox.ledger.ledgerEnd() + 1;
    const event = { CreatedEvent: frames.created({ contractId: `00c${String(offset)}`, offset, ...change }) };
    const recordTime = new Date().toISOString();
    sandbox.ledger.appendRaw(JSON.stringify(frames.transaction(offset, [event], { recordTime })), offset);
  }

  beforeAll(async () => {
    sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    database = await createTestDatabase();
    for (let index = 0; index < 20; index += 1) append();
    indexer = await run();
    traffic = setInterval(() => append(), 100);
    browser = await openBrowser();
  });
  afterAll(async () => {
    clearInterval(traffic);
    await browser.close();
    await indexer[Symbol.asyncDispose]();
    await sandbox.close();
    await database.drop();
  });

  async function openQueryPage(options: Parameters<typeof openPage>[2] = {}): Promise<BrowserView> {
    const browserView = await openPage(browser, indexer.httpUrl, options);
    await browserView.waitForText('state', /^Live/);
    await browserView.waitForText('updates', /Iou/);
    return browserView;
  }

  const numberOf = (text: string): number => Number(text.replaceAll(',', ''));

  it('displays the live state and the delay message, and updates its numbers and plots', async () => {
    const { page, text, waitForText } = await openQueryPage();
    await waitForText('why', /^Not behind: /);
    expect(await page.title()).toBe('Live · Ledger Indexer');
    const checkpointBefore = numberOf(await text('checkpoint'));
    const line = page.locator('#plot-updates .line');
    const linePath = await line.getAttribute('d');
    await waitFor('a higher offset and a longer line', async () => {
      const hasMoved =
        numberOf(await text('checkpoint')) > checkpointBefore && (await line.getAttribute('d')) !== linePath;
      return hasMoved ? true : undefined;
    });
    expect(await page.locator('#plot-updates .number').textContent()).toMatch(/^\d/);
    expect(await page.locator('#plot-lag .number').textContent()).toMatch(/^[\d.]+ (?:ms|s)$/);
    expect(await page.locator('#templates tr').first().textContent()).toMatch(/Iou/);
  });

  it('displays background jobs with progress and remaining time', async () => {
    const { page } = await openQueryPage();
    expect(await page.locator('#jobs-card').isVisible()).toBe(false);
    await query(
      database.url,
      `insert into ledger.jobs (name, state, request, step, unit, done, total, per_second)
       values ('rebuild', 'working', '{}', 'following', 'offsets', 250, 1000, 10)`,
    );
    await waitFor('the job is visible', async () =>
      (await page.locator('#jobs li').count()) === 1 ? true : undefined,
    );
    const row = page.locator('#jobs li');
    expect(await row.textContent()).toMatch(
      /New schema {2}working since .*following, 250 of 1,000 offsets, 10.0\/s, 75 s left/u,
    );
    expect(await row.locator('[role=progressbar]').getAttribute('aria-valuenow')).toBe('25');
    expect(await audit(page)).toEqual([]);
    await query(database.url, 'delete from ledger.jobs');
    await waitFor('it is gone', async () => ((await page.locator('#jobs-card').isVisible()) ? undefined : true));
  });

  it('displays a projection that cannot be stored', async () => {
    const { page } = await openQueryPage();
    expect(await page.locator('#projections-card').isVisible()).toBe(false);
    await query(database.url, 'alter function explore.token_changes_between(bigint, bigint) rename to hidden');
    const row = page.locator('#projections li').filter({ hasText: 'token_changes' });
    await waitFor('the projection is visible', async () => ((await row.count()) === 1 ? true : undefined));
    expect(await row.textContent()).toMatch(/^token_changesSTORE_/u);
    expect(await audit(page)).toEqual([]);
    await query(database.url, 'alter function explore.hidden(bigint, bigint) rename to token_changes_between');
  });

  it('displays earlier measurements immediately after it is opened', async () => {
    const { page } = await openQueryPage();
    const linePoints = ((await page.locator('#plot-updates .line').getAttribute('d')) ?? '').split('L').length;
    expect(linePoints).toBeGreaterThan(2);
  });

  it('sends requests only to the indexer, without errors', async () => {
    const { errors, requests } = await openQueryPage();
    expect(errors).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(`${indexer.httpUrl}/`) && !url.startsWith('data:'))).toEqual([]);
  });

  it.each([
    { colorScheme: 'light', width: 1180 },
    { colorScheme: 'dark', width: 1180 },
    { colorScheme: 'light', width: 400 },
    { colorScheme: 'dark', width: 320 },
  ] as const)('is accessible in $colorScheme mode at $width pixels', async (options) => {
    const { page } = await openQueryPage(options);
    expect(await audit(page)).toEqual([]);
    const pageBackground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    expect(pageBackground).toBe(options.colorScheme === 'dark' ? 'rgb(14, 17, 19)' : 'rgb(246, 247, 246)');
  });

  it('truncates a name only if its table has no unused width', async () => {
    const entity = 'UnclaimedDevelopmentFundCouponOfAnEarlierRound';
    const templateId = `${'cd'.repeat(32)}:Some.Module.Below.Another.And.One.More:${entity}`;
    append({ templateId, packageName: 'a-package-with-a-long-name' });
    const narrowPage = await openQueryPage();
    await narrowPage.waitForText('templates', new RegExp(entity));
    const narrowCells = await narrowPage.page.evaluate<TruncatedCell[]>(truncatedCellsScript);
    expect(narrowCells.map(({ table }) => table)).toContain('templates');
    expect(narrowCells.filter(({ room: spareWidth }) => spareWidth > spareWidthPx)).toEqual([]);
    const widePage = await openQueryPage({ width: 1500 });
    await widePage.waitForText('templates', new RegExp(entity));
    const main = await widePage.page.evaluate<number>(`document.getElementById('main').clientWidth`);
    expect(main).toBeGreaterThan(1300);
  });

  it('has a keyboard order that equals the reading order, and a visible focus', async () => {
    const { page } = await openQueryPage();
    const focusedUrls: string[] = [];
    while (focusedUrls.at(-1) !== '/readyz' && focusedUrls.length < 80) {
      await page.keyboard.press('Tab');
      focusedUrls.push(await page.locator(':focus').innerText());
      expect(await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    }
    expect(focusedUrls.slice(0, 2)).toEqual(['Skip to the state', 'Query']);
    expect(focusedUrls.slice(-3)).toEqual(['/status', '/metrics', '/readyz']);
  });

  it('announces an unchanged state only once to screen readers', async () => {
    const { page, waitForText } = await openQueryPage();
    await waitForText('announced', /^State: Live\.$/);
    const changes = await page.evaluate<number>(`new Promise((resolve) => {
      let changes = 0;
      new MutationObserver((found) => (changes += found.length))
        .observe(document.getElementById('announced'), { childList: true, characterData: true, subtree: true });
      setTimeout(() => resolve(changes), 2500);
    })`);
    expect(changes).toBe(0);
  });

  it('displays a lost connection, and recovers after the indexer restarts', async () => {
    const { page, errors, waitForText } = await openQueryPage();
    const { port } = new URL(indexer.httpUrl);
    await indexer[Symbol.asyncDispose]();
    await waitForText('state', /^No connection$/);
    await waitForText('announced', /lost/);
    expect(await audit(page)).toEqual([]);
    indexer = await run(port);
    await waitForText('state', /^Live/);
    await waitForText('announced', /^State: Live\.$/);
    // The browser itself logs that it could not connect.
    expect(errors.filter((error) => !/ERR_CONNECTION|ERR_INCOMPLETE|net::ERR/.test(error))).toEqual([]);
  });
});
