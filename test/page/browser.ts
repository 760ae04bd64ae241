/** A real browser for tests of the page: the installed Chromium. */
import { existsSync, readFileSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';
import { waitFor } from '../support/wait-for.ts';

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);
const args =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

/** The reason for which the tests cannot use a browser; undefined if they can use one. */
export const browserSkipReason =
  program === undefined ? 'needs Chromium (apt-get install -y --no-install-recommends chromium)' : undefined;

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: program ?? '', args: args.split(' ') });
}

export interface BrowserView {
  readonly page: Page;
  /** Errors of scripts, of the console and of the security policy, so far. */
  readonly errors: readonly string[];
  /** Requested URLs so far. */
  readonly requests: readonly string[];
  /** The text of an element by its id. */
  readonly text: (id: string) => Promise<string>;
  /** Waits until the text of an element matches. */
  readonly waitForText: (id: string, pattern: RegExp) => Promise<void>;
}

export interface ViewOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
}

/** Opens the page of an indexer in a separate browser context. */
export async function openPage(browser: Browser, url: string, options: ViewOptions = {}): Promise<BrowserView> {
  const { colorScheme = 'light', width = 1180 } = options;
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
  const page = await context.newPage();
  const errors: string[] = [];
  const requests: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text());
  });
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(url);
  const text = async (id: string): Promise<string> => (await page.locator(`#${id}`).textContent()) ?? '';
  return {
    page,
    errors,
    requests,
    text,
    waitForText: async (id, pattern) => {
      await waitFor(`#${id} shows ${String(pattern)}`, async () => (pattern.test(await text(id)) ? true : undefined));
    },
  };
}

const auditScript = readFileSync(new URL('audit.js', import.meta.url), 'utf8');

/** Accessibility problems of the page (low vision, screen reader, keyboard); one sentence each. */
export function audit(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(auditScript);
}
