/** The status page of an indexer that stores nothing yet and then loses its ledger, in a browser. */
import { expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { runIndexer } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase } from '../support/database.ts';
import { needs } from '../support/skips/needs.ts';
import { audit, openPage, browserSkipReason, openBrowser } from './browser.ts';

/** Runs in the browser: pairs of visible paragraphs of which one covers the other. */
const overlapsScript = `(() => {
  const visible = [...document.querySelectorAll('main p, main dd')].filter((each) => each.checkVisibility() && !each.matches('.sr'));
  const boxes = visible.map((each) => ({ text: each.textContent, box: each.getBoundingClientRect() }));
  return boxes.flatMap((one, at) => boxes.slice(at + 1)
    .filter(({ box }) => box.top < one.box.bottom - 1 && one.box.top < box.bottom - 1 && box.left < one.box.right && one.box.left < box.right)
    .map((other) => one.text + ' / ' + other.text));
})()`;

it(
  'the status page displays cause, remedy and age of a lost ledger, and no empty values',
  needs(browserSkipReason),
  async () => {
    const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
    const database = await createTestDatabase();
    const browser = await openBrowser();
    try {
      await using indexer = await runIndexer({ LEDGER_URL: sandbox.url, DATABASE_URL: database.url });
      const { page, waitForText } = await openPage(browser, indexer.httpUrl);
      await waitForText('state', /^Live/);
      expect(await page.locator('#no-templates').isVisible()).toBe(true);
      expect(await page.locator('.templates').isVisible()).toBe(false);
      expect(await page.locator('#eta').isVisible()).toBe(false);
      await sandbox.close();
      await waitForText('remedy', /^What to do: (?!nothing)/);
      await waitForText('ledger-end', /, \d+ s ago$/);
      expect(await page.locator('#remedy').isVisible()).toBe(true);
      const [stale, muted] = await page.evaluate<string[]>(
        `['#ledger-end', '#why'].map((each) => getComputedStyle(document.querySelector(each)).color)`,
      );
      expect(stale).toBe(muted);
      await waitForText('errors', /What to do/);
      expect(await page.evaluate<string[]>(overlapsScript)).toEqual([]);
      expect(await audit(page)).toEqual([]);
    } finally {
      await browser.close();
      await database.drop();
    }
  },
);
