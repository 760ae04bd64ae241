/** If names and messages contain markup, the page displays it as text and runs no script. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { CheckpointWaiters } from '../../src/observe/health/checkpoint-waiters.ts';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { startHttpServer, type RunningHttpServer } from '../../src/observe/http/http-server.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { StatusPage } from '../../src/observe/page/status-page.ts';
import { needs } from '../support/skips/needs.ts';
import { audit, openPage, browserSkipReason, openBrowser } from './browser.ts';

const markup = `<img src=x onerror="document.title='taken'"></script><script>document.title='taken'</script>`;
const password = 'a-password-in-a-message';

describe('the status page', needs(browserSkipReason), () => {
  let browser: Browser;
  let server: RunningHttpServer;

  beforeAll(async () => {
    const health = new HealthTracker({ version: markup, schema: markup, stalledAfterMs: 60_000 });
    health.source.participantId = markup;
    const message = `${markup} postgres://reader:${password}@db.example/ledger`;
    const error = new IndexerError(message, { code: 'STORE_FAILED', retry: 'park', remedy: markup });
    health.failed(error);
    health.failed(error);
    health.phaseChanged('parked', error);
    const update = { offset: 1, kind: markup, recordTime: null, events: 1, templates: [`${markup}:${markup}`] };
    const facts = { templates: [{ name: `p:M:${markup}`, active: 1 }], updates: [update] };
    const guide = { connect: markup, password: markup, queries: [markup] };
    server = await startHttpServer({
      host: '127.0.0.1',
      port: 0,
      metrics: createMetrics({ version: '1.2.3' }),
      status: () => health.status(),
      verdict: () => health.verdict(),
      waiters: new CheckpointWaiters(),
      page: new StatusPage({ health, readRecent: () => Promise.resolve(facts), guide }),
    });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  it('displays markup in names, errors, remedies and queries as text', async () => {
    const { page, errors, waitForText, text } = await openPage(browser, server.url);
    await waitForText('state', /^Parked$/);
    await waitForText('templates', /<img/);
    for (const id of ['updates', 'errors', 'why', 'remedy', 'snippets', 'password', 'about'])
      expect(await text(id)).toContain('<img');
    expect(await page.locator('img, main script').count()).toBe(0);
    expect(await page.title()).toBe('Parked · Ledger Indexer');
    expect(await text('errors')).toContain('2 times');
    expect(errors).toEqual([]);
    expect(await audit(page)).toEqual([]);
  });

  it('displays no password of an error message', async () => {
    const { page, waitForText } = await openPage(browser, server.url);
    await waitForText('errors', /reader:\*\*\*@db\.example/);
    expect(await page.content()).not.toContain(password);
  });
});
