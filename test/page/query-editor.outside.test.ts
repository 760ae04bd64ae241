/** Tests the editor of the query page in a browser: result in view, address, history, views, completion, numbers. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../support/skips/needs.ts';
import { waitFor } from '../support/wait-for.ts';
import { openPage, browserSkipReason, openBrowser, type BrowserView } from './browser.ts';
import { startQueryWorld, type QueryWorld } from './query-world.ts';

const readerToken = `lir_${'x'.repeat(43)}`;
/** Height of a target for a finger, CSS pixels. */
const targetPx = 44;

describe('the editor of the query page', needs(browserSkipReason), () => {
  let browser: Browser;
  let world: QueryWorld;
  beforeAll(async () => {
    world = await startQueryWorld();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await world[Symbol.asyncDispose]();
  });

  async function openQueryPage(hash = '', width = 1280): Promise<BrowserView> {
    const browserView = await openPage(browser, `${world.indexer.httpUrl}/query${hash}`, { width });
    await browserView.waitForText('ready', /Newest updates/);
    await browserView.waitForText('views', /explore/);
    return browserView;
  }

  const statementOf = (page: Page): Promise<string> => page.locator('#statement').inputValue();

  async function run(view: BrowserView, statement: string, outcome: RegExp): Promise<void> {
    await view.page.locator('#statement').fill(statement);
    await view.page.locator('#run').click();
    await view.waitForText('outcome', outcome);
  }

  it.each([375, 1280])('brings the result into view at %i pixels', async (width) => {
    const view = await openQueryPage('', width);
    const { page } = view;
    const windowHeight = 900;
    await page.setViewportSize({ width, height: windowHeight });
    await run(view, 'select n from generate_series(1, 50) n', /^50 rows/);
    await waitFor('the first rows are in view', async () => {
      const box = await page.locator('#rows tr').nth(3).boundingBox();
      return box !== null && box.y > 0 && box.y + box.height < windowHeight ? true : undefined;
    });
  });

  it('keeps the statement in the address and over a reload, without running it again', async () => {
    const statement = `select 'ä & #1 % <b>' as text -- "note"\n`;
    const view = await openQueryPage();
    const { page, requests } = view;
    await run(view, statement, /^1 row/);
    expect(decodeURIComponent(new URL(page.url()).hash)).toBe(`#sql/${statement}`);
    await page.reload();
    await view.waitForText('outcome', /from the address/);
    expect(await statementOf(page)).toBe(statement);
    await page.locator('#statement').press('End');
    await page.locator('#statement').pressSequentially('-- more');
    await waitFor('the new text in the address', () => (page.url().includes('more') ? true : undefined));
    await view.waitForText('views', /explore/);
    // The page twice, and one statement. No address with a statement was sent.
    expect(requests.filter((url) => url.endsWith('/query') || url.includes('/query#'))).toHaveLength(3);
  });

  it('fills the editor from a link, as text, and runs nothing', async () => {
    const markup = `<img src=x onerror="document.title='taken'"></textarea><script>document.title='taken'</script>`;
    const view = await openQueryPage(`#sql/${encodeURIComponent(markup)}`);
    const { page, requests, errors } = view;
    expect(await statementOf(page)).toBe(markup);
    expect(await page.locator('#paint').textContent()).toContain(markup);
    await view.waitForText('outcome', /It has not run\.$/);
    await page.evaluate(`location.hash = '#sql/' + encodeURIComponent('select 1 -- \\u202e2')`);
    await view.waitForText('outcome', /invisible characters/);
    await page.evaluate(`location.hash = '#sql/%zz'`);
    await page.evaluate(`location.hash = '#explain/%zz'`);
    expect(await page.locator('main img').count()).toBe(0);
    expect(await page.title()).toBe('Query · Ledger Indexer');
    // Only the page itself was requested. Statements are sent to the same URL.
    expect(requests.filter((url) => url.endsWith('/query'))).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  it('lists earlier statements, fills the editor with one, and clears them', async () => {
    const view = await openQueryPage();
    const { page } = view;
    expect(await page.locator('#history-card').isVisible()).toBe(false);
    await run(view, 'select 1 as one', /^1 row/);
    await run(view, 'select nothing', /does not exist/);
    await run(view, 'select  1\n as one', /^1 row/);
    await page.reload();
    await view.waitForText('history-count', /^2$/);
    await page.locator('#history-card summary').click();
    expect(await page.locator('#statements button').allInnerTexts()).toEqual(['select 1 as one', 'select nothing']);
    await page.locator('#statements button').nth(1).click();
    expect(await statementOf(page)).toBe('select nothing');
    await page.locator('#clear-history').click();
    expect(await page.locator('#history-card').isVisible()).toBe(false);
    expect(await page.evaluate<number>('localStorage.length')).toBe(0);
  });

  it('keeps at most 50 statements', async () => {
    const view = await openQueryPage();
    await view.page.evaluate(`localStorage.setItem('ledger-indexer statements /query',
      JSON.stringify(Array.from({ length: 60 }, (_, at) => 'select ' + at)))`);
    await run(view, 'select 100', /^1 row/);
    await view.waitForText('history-count', /^50$/);
    const kept = await view.page.evaluate<string[]>(`JSON.parse(Object.values(localStorage)[0])`);
    expect([kept.length, kept[0]]).toEqual([50, 'select 100']);
  });

  it.each([readerToken, 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl'])(
    'puts no statement with a token into the address or the history: %s',
    async (token) => {
      const view = await openQueryPage();
      await run(view, `select '${token}' as pasted`, /^1 row/);
      expect(view.page.url()).toBe(`${world.indexer.httpUrl}/query`);
      expect(await view.page.evaluate<number>('localStorage.length')).toBe(0);
    },
  );

  it('lists views and columns with their comments, queries rows and inserts names', async () => {
    const view = await openQueryPage();
    const { page } = view;
    await page.locator('#search').fill('active_contr');
    await page
      .locator('#views li summary', { hasText: /^active_contracts$/ })
      .first()
      .click();
    const facts = page.locator('#views li').filter({ hasText: 'contract_id' }).first();
    expect(await facts.innerText()).toMatch(/contract_id\s*text\s+\S/);
    await page.getByRole('button', { name: 'Show rows of explore.active_contracts' }).click();
    await view.waitForText('outcome', /^3 rows/);
    await page.locator('#statement').fill('select  from explore.active_contracts');
    await page.locator('#statement').press('Home');
    for (let index = 0; index < 7; index += 1) await page.keyboard.press('ArrowRight');
    await page.getByRole('button', { name: 'Insert explore.active_contracts.contract_id' }).click();
    expect(await statementOf(page)).toBe('select contract_id from explore.active_contracts');
  });

  it('completes names with the keyboard alone', async () => {
    const view = await openQueryPage();
    const { page } = view;
    const list = page.locator('#completions');
    await page.locator('#statement').pressSequentially('select * from explore.active_c');
    await list.waitFor();
    await view.waitForText('completion-state', /^1 name\. active_contracts/);
    await page.keyboard.press('Tab');
    expect(await list.isVisible()).toBe(false);
    await page.keyboard.type(' c where c.');
    await list.waitFor();
    const [first, second] = await list.locator('li .code').allInnerTexts();
    await page.keyboard.press('ArrowDown');
    const selected = await page.locator('#statement').getAttribute('aria-activedescendant');
    expect(await page.locator(`#${selected ?? ''}`).getAttribute('aria-selected')).toBe('true');
    await page.keyboard.press('Enter');
    expect(await statementOf(page)).toBe(`select * from explore.active_contracts c where c.${second ?? ''}`);
    expect(first).not.toBe(second);
    // Without an arrow key, Enter begins a line; Escape closes the list and leaves the statement.
    await page.keyboard.type(' = c.con');
    await list.waitFor();
    await page.keyboard.press('Enter');
    expect(await statementOf(page)).toMatch(/c\.con\n$/);
    await page.keyboard.press('Control+Space');
    await list.waitFor();
    await page.keyboard.press('Escape');
    expect(await list.isVisible()).toBe(false);
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('Run');
  });

  it('has the colored text exactly below the typed text', async () => {
    const { page } = await openQueryPage('', 375);
    await page
      .locator('#statement')
      .fill(`select 'a long text that wraps', "offset" from explore.updates -- \ttab\n\n`);
    const boxes = await page.evaluate<number[][]>(`['statement', 'paint'].map((id) => {
      const { x, y, width, height } = document.getElementById(id).getBoundingClientRect();
      return [x, y, width, height];
    })`);
    expect(boxes[0]).toEqual(boxes[1]);
    const [scrolled, shown] = await page.evaluate<number[]>(
      `[document.getElementById('statement').scrollHeight, document.getElementById('statement').clientHeight]`,
    );
    expect(scrolled).toBe(shown);
  });

  it('groups large numbers and drops zeros at the end, but copies the digits', async () => {
    const view = await openQueryPage();
    const rows = `(1234567.5000000000::numeric, 2026, 'x', 0.000::numeric), (-12.25, 1999, 'y', 1e20::numeric)`;
    await run(view, `select * from (values ${rows}) v (amount, year, name, rest)`, /^2 rows/);
    expect(await view.page.locator('#rows td').allTextContents()).toEqual([
      '1234567.5',
      '2026',
      'x',
      '0',
      '-12.25',
      '1999',
      'y',
      '100000000000000000000',
    ]);
    const separators = await view.page.evaluate<number[]>(
      `[...document.querySelectorAll('#rows td')].map((cell) => cell.querySelectorAll('.group').length)`,
    );
    expect(separators).toEqual([2, 0, 0, 0, 0, 0, 0, 6]);
    expect(await view.page.locator('#rows td').first().getAttribute('title')).toBe('1234567.5000000000');
  });

  it('offers a chart only with a sensible axis', async () => {
    const view = await openQueryPage();
    const { page } = view;
    await run(view, `select * from (values ('a', 1), ('b', 3)) v (name, amount)`, /^2 rows/);
    await page.getByRole('button', { name: 'Chart' }).click();
    expect(await page.locator('#chart canvas').isVisible()).toBe(true);
    expect(await page.locator('#chart').getAttribute('aria-label')).toBe(
      'amount by name: 2 rows, from 1 to 3. The table has the same values.',
    );
    await run(view, `select * from (values ('a', 1), ('a', 3)) v (name, amount)`, /^2 rows/);
    expect(await page.locator('#shown-as').isVisible()).toBe(false);
    expect(await page.locator('#rows-box').isVisible()).toBe(true);
  });

  it.each(['/', '/query'])('has targets of at least 44 pixels at 375 pixels on %s', async (path) => {
    const { page, waitForText } = await openPage(browser, `${world.indexer.httpUrl}${path}`, { width: 375 });
    if (path === '/query') {
      await waitForText('views', /explore/);
      for (const card of ['#who-card', '#views details', '#views li details']) {
        await page.locator(`${card} > summary`).first().click();
      }
    } else await waitForText('updates', /Iou/);
    const small = await page.evaluate<string[]>(`[...document.querySelectorAll('a, button, input, select, summary')]
      .filter((target) => target.checkVisibility() && !target.matches('.skip'))
      .filter((target) => target.getBoundingClientRect().height < ${String(targetPx)})
      .map((target) => target.outerHTML.slice(0, 80))`);
    expect(small).toEqual([]);
  });
});
