/** A row of the status page opens to its update, in a real browser before a real indexer: names, ids and numbers, no contents and no party. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { runIndexer, type IndexerRun } from '../e2e/runs/indexer-run.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import * as frames from '../support/frames.ts';
import { waitFor } from '../support/wait-for.ts';
import { audit, look, noBrowser, openBrowser, type Look } from './browser.ts';

if (noBrowser !== undefined) process.stdout.write(`update outline: ${noBrowser}\n`);

const secret = 'a-payload-that-is-nobodys-business';
const old = `00${'a1'.repeat(32)}`;
const fresh = `00${'b2'.repeat(32)}`;

let sandbox: Sandbox;
let database: TestDatabase;
let indexer: IndexerRun;

beforeAll(async () => {
  sandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  database = await createTestDatabase();
  const append = (events: (offset: number) => readonly frames.JsonRecord[]): void => {
    const offset = sandbox.ledger.ledgerEnd() + 1;
    const commandId = secret;
    const change = { recordTime: new Date().toISOString(), commandId, workflowId: secret };
    sandbox.ledger.appendRaw(JSON.stringify(frames.transaction(offset, [...events(offset)], change)), offset);
  };
  const created = (offset: number, nodeId: number, contractId: string): frames.JsonRecord => ({
    CreatedEvent: frames.created({ offset, nodeId, contractId, createArgument: { note: secret, owner: frames.alice } }),
  });
  indexer = await runIndexer({
    LEDGER_URL: sandbox.url,
    DATABASE_URL: database.url,
    INDEXER_HTTP_PORT: '0',
    INDEXER_START: 'genesis',
  });
  append((offset) => [created(offset, 0, old)]);
  append((offset) => [
    {
      ExercisedEvent: frames.exercised({
        offset,
        nodeId: 0,
        lastDescendantNodeId: 1,
        contractId: old,
        choiceArgument: { note: secret },
        exerciseResult: secret,
      }),
    },
    created(offset, 1, fresh),
  ]);
  append((offset) => Array.from({ length: 100 }, (_, node) => created(offset, node, `00c${String(node)}`)));
  await indexer.reaches(sandbox.ledger.ledgerEnd());
});
afterAll(async () => {
  await indexer[Symbol.asyncDispose]();
  await sandbox.close();
  await database.drop();
});

describe('/update', () => {
  const asked = async (query: string): Promise<readonly [number, string]> => {
    const response = await fetch(`${indexer.httpUrl}/update${query}`);
    return [response.status, await response.text()];
  };

  it('tells the tree of an update without contents and parties', async () => {
    const end = sandbox.ledger.ledgerEnd();
    const [status, text] = await asked(`?offset=${String(end - 1)}`);
    expect(status).toBe(200);
    for (const hidden of [secret, frames.alice, frames.bob]) expect(text).not.toContain(hidden);
    expect(JSON.parse(text)).toMatchObject({
      offset: end - 1,
      previousOffset: end - 2,
      nextOffset: end,
      events: 2,
      paidTrafficCost: 512,
      leftOut: 0,
      nodes: [
        { depth: 0, event: 'archived', choice: 'Transfer', contractId: old, otherContractId: fresh },
        { depth: 1, event: 'created', template: 'iou:Main.Iou:Iou', contractId: fresh, otherContractId: old },
      ],
    });
  });

  it('says how many events it leaves out, that there is no update, and what it takes', async () => {
    const [, wide] = await asked(`?offset=${String(sandbox.ledger.ledgerEnd())}`);
    expect(JSON.parse(wide)).toMatchObject({ events: 100, leftOut: 40 });
    expect((await asked('?offset=987654'))[0]).toBe(404);
    for (const query of ['', '?offset=x', '?offset=1&offset=2', '?offset=1&more=2', '?offset=99999999999999999'])
      expect((await asked(query))[0], query).toBe(400);
  });
});

describe.skipIf(noBrowser !== undefined)('a row of the page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
  });

  async function opened(options: Parameters<typeof look>[2] = {}): Promise<Look> {
    const seen = await look(browser, indexer.httpUrl, options);
    await seen.shows('updates', /Iou/);
    return seen;
  }

  it('is opened with the keyboard, walked from update to update, and closed', async () => {
    const { page, shows, errors } = await opened();
    const row = page.locator('#updates button').nth(1);
    await row.focus();
    await shows('read-at', /held while you are here/);
    await page.keyboard.press('Enter');
    await shows('outline-tree', /Transfer on Iou.*became .*created Iou.*in place of/);
    expect(await page.locator(':focus').textContent()).toBe('Close');
    await page.locator('#outline-before').press('Enter');
    await shows('outline-tree', /^\+created Iou[^−]*$/);
    await shows('outline-command', /ledger-indexer explain \d+/);
    await page.keyboard.press('Escape');
    expect(await page.evaluate<boolean>(`document.querySelector('dialog').open`)).toBe(false);
    expect(await page.locator(':focus').textContent()).toBe(await row.textContent());
    expect(await page.content()).not.toContain(secret);
    expect(errors).toEqual([]);
  });

  it.each([
    { colorScheme: 'light', width: 1180 },
    { colorScheme: 'dark', width: 375 },
    { colorScheme: 'light', width: 320 },
  ] as const)('can be read and heard: $colorScheme, $width wide', async (options) => {
    const { page, shows } = await opened(options);
    await page.locator('#updates button').first().click();
    await shows('outline-events', /100, 40 not shown/);
    expect(await audit(page)).toEqual([]);
    const [inner, outer] = await page.evaluate<readonly [number, number]>(`(() => {
      const box = document.querySelector('dialog');
      return [box.scrollWidth - box.clientWidth, box.getBoundingClientRect().right];
    })()`);
    expect(inner).toBe(0);
    expect(outer).toBeLessThanOrEqual(options.width);
  });

  it('says why an update does not open', async () => {
    const { page, shows } = await opened();
    await page.locator('#updates button').nth(1).click();
    await shows('outline-tree', /became/);
    await page.evaluate('openUpdate(987654)');
    await shows('outline-state', /brought no update here/);
    await page.route('**/update?*', (route) => route.abort());
    await page.evaluate('openUpdate(1)');
    await shows('outline-state', /does not answer/);
    await waitFor('the tree is hidden', async () =>
      (await page.locator('#outline-body').isHidden()) ? true : undefined,
    );
  });
});
