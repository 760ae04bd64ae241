/** A row of the status page opens its update, in a real browser with a real indexer. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../support/skips/needs.ts';
import { waitFor } from '../support/wait-for.ts';
import { audit, openPage, browserSkipReason, openBrowser, type BrowserView } from './browser.ts';
import { startGateway } from './gateway.ts';
import { secret, startOutlineWorld, type OutlineWorld } from './outline-world.ts';

describe('the update dialog of the status page', needs(browserSkipReason), () => {
  let browser: Browser;
  let world: OutlineWorld;
  beforeAll(async () => {
    world = await startOutlineWorld();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await world[Symbol.asyncDispose]();
  });

  async function openQueryPage(options: Parameters<typeof openPage>[2] = {}): Promise<BrowserView> {
    const browserView = await openPage(browser, world.indexer.httpUrl, options);
    await browserView.waitForText('updates', /Iou/);
    return browserView;
  }

  it('opens, moves to the previous update and closes with the keyboard', async () => {
    const { page, waitForText, errors } = await openQueryPage();
    const row = page.locator('#updates button').nth(1);
    await row.focus();
    await waitForText('read-at', /held while you are here/);
    await page.keyboard.press('Enter');
    await waitForText('outline-tree', /Transfer on Iou.*became .*created Iou.*in place of/);
    expect(await page.locator(':focus').textContent()).toBe('Close');
    await page.locator('#outline-before').press('Enter');
    await waitForText('outline-tree', /^\+created Iou[^−]*$/);
    await waitForText('outline-command', /ledger-indexer explain \d+/);
    await page.keyboard.press('Escape');
    expect(await page.evaluate<boolean>(`document.querySelector('dialog').open`)).toBe(false);
    expect(await page.locator(':focus').textContent()).toBe(await row.textContent());
    expect(await page.content()).not.toContain(secret);
    expect(errors).toEqual([]);
  });

  it('works behind a gateway with a path prefix, as do the links of the page', async () => {
    await using gateway = await startGateway(world.indexer.httpUrl, '/indexer/');
    const { page, waitForText, errors, requests } = await openPage(browser, gateway.url);
    await waitForText('updates', /Iou/);
    await page.locator('#updates button').nth(1).click();
    await waitForText('outline-tree', /Transfer on Iou/);
    await page.keyboard.press('Escape');
    expect(errors).toEqual([]);
    for (const [link, text] of [
      ['status', '"checkpoint"'],
      ['readyz', '"ready":true'],
      ['query', 'Ready queries'],
    ] as const) {
      await page.locator(`a[href="${link}"]`).first().click();
      await page.waitForURL(`${gateway.url}${link}`);
      expect(await page.content()).toContain(text);
      if (link !== 'query') await page.goBack();
    }
    await page.getByRole('link', { name: 'Status', exact: true }).click();
    await page.waitForURL(gateway.url);
    expect(requests.filter((url) => !url.startsWith(gateway.url) && !url.startsWith('data:'))).toEqual([]);
  });

  it.each([
    { colorScheme: 'light', width: 1180 },
    { colorScheme: 'dark', width: 375 },
    { colorScheme: 'light', width: 320 },
  ] as const)('is accessible in $colorScheme mode at $width pixels', async (options) => {
    const { page, waitForText } = await openQueryPage(options);
    await page.locator('#updates button').first().click();
    await waitForText('outline-events', /100, 40 not shown/);
    expect(await audit(page)).toEqual([]);
    const [innerWidth, outerWidth] = await page.evaluate<readonly [number, number]>(`(() => {
      const box = document.querySelector('dialog');
      return [box.scrollWidth - box.clientWidth, box.getBoundingClientRect().right];
    })()`);
    expect(innerWidth).toBe(0);
    expect(outerWidth).toBeLessThanOrEqual(options.width);
  });

  it('displays the reason if an update cannot be opened', async () => {
    const { page, waitForText } = await openQueryPage();
    await page.locator('#updates button').nth(1).click();
    await waitForText('outline-tree', /became/);
    await page.evaluate('openUpdate(987654)');
    await waitForText('outline-state', /no update is stored at offset/);
    await page.route('**/update?*', (route) => route.abort());
    await page.evaluate('openUpdate(1)');
    await waitForText('outline-state', /does not respond/);
    await waitFor('the tree is hidden', async () =>
      (await page.locator('#outline-body').isHidden()) ? true : undefined,
    );
  });
});
