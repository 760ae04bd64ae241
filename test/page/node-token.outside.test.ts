/** The query page with a token of the participant, in a browser. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../support/skips/needs.ts';
import { limitsSkipReason } from '../support/skips/server-version.ts';
import { expiresIn } from '../support/tokens.ts';
import { canReadAs, NodeWorld } from '../security/node-tokens/world.ts';
import { openPage, browserSkipReason, openBrowser } from './browser.ts';

describe('the query page', needs(browserSkipReason ?? limitsSkipReason), () => {
  let browser: Browser;
  let world: NodeWorld;
  beforeAll(async () => {
    world = await NodeWorld.open();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await world[Symbol.asyncDispose]();
  });

  it('queries with the rights of a token of the participant, which only this tab has', async () => {
    const [alice = ''] = await world.parties(1);
    const token = await world.user('alice-user', canReadAs(alice));
    const { page, text, waitForText } = await openPage(browser, `${world.indexer.httpUrl}/query`);
    await page.locator('#who-card summary').click();
    expect(await text('token-kinds')).toBe('Reader token (lir_…), or token of the participant (a JSON Web Token)');
    await page.locator('#token').fill(await world.tokenOf('alice-user', { exp: expiresIn(-60_000) }));
    await page.keyboard.press('Enter');
    await waitForText('token-state', /has expired/);
    await page.locator('#token').fill(`Bearer ${token}`);
    await page.keyboard.press('Enter');
    await waitForText('asks-as', /^Querying as user alice-user of the participant$/);
    await page.locator('#statement').fill('select "offset", node_id from explore.events');
    await page.keyboard.press('Control+Enter');
    const visible = await world.visible(alice);
    await waitForText('outcome', new RegExp(`^${String(visible.length)} rows`));
    await page.reload();
    await waitForText('asks-as', /alice-user/);
    const kept = await page.evaluate<string>('JSON.stringify(localStorage) + location.href + document.body.outerHTML');
    expect(kept).not.toContain(token.split('.')[2]);
    const other = await page.context().newPage();
    await other.goto(`${world.indexer.httpUrl}/query`);
    expect(await other.evaluate<number>('sessionStorage.length')).toBe(0);
  });

  it('forgets a token of the participant that expires', async () => {
    const token = await world.tokenOf('alice-user');
    const { page, waitForText } = await openPage(browser, `${world.indexer.httpUrl}/query`);
    await page.clock.install();
    await page.evaluate(`sessionStorage.setItem('token', ${JSON.stringify(token)})`);
    await page.clock.setFixedTime(expiresIn(120_000) * 1000);
    await page.reload();
    await waitForText('token-state', /has expired and was forgotten/);
    expect(await page.evaluate<number>('sessionStorage.length')).toBe(0);
  });
});
