// Draws docs/images/{status,query}-page-{light,dark}.png: starts the built demo with its own data folder, opens its page in
// Chromium, waits until the plots have data, and takes the pictures. Needs `npm run build` and Chromium.
//   npm run docs:screenshots [-- --seconds 90] [-- --out FOLDER]
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '75' }, out: { type: 'string', default: join(root, 'docs/images') } },
});
const browserArgs =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';
const largest = 200_000;

const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (program === undefined) {
  process.stderr.write('screenshots: no Chromium here: apt-get install -y --no-install-recommends chromium\n');
  process.exit(69);
}

const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-pictures-'));
const demo = spawn(process.execPath, [join(root, 'dist/main.js'), 'demo'], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { PATH: process.env.PATH, INDEXER_DATA_DIR: folder, INDEXER_HTTP_PORT: '0', INDEXER_LOG_FORMAT: 'json' },
});
const ended = new Promise((resolve) => demo.once('close', resolve));
try {
  await draw(await addressOf(demo));
} finally {
  demo.kill('SIGTERM');
  await ended;
  rmSync(folder, { recursive: true, force: true });
}

/** Reads the address of the demo from its log. */
function addressOf(child) {
  return new Promise((resolve, reject) => {
    let log = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      log += text;
      const found = /"http":"([^"]+)"/.exec(log);
      if (found !== null) resolve(found[1]);
    });
    void ended.then(() => reject(new Error(`the demo ended:\n${log.slice(-2_000)}`)));
  });
}

/** Takes the picture in both color schemes. */
async function take(page, name, fullPage = false) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.waitForTimeout(500);
    const path = join(values.out, `${name}-${colorScheme}.png`);
    await page.screenshot({ path, fullPage });
    const { size } = statSync(path);
    process.stdout.write(`${path}: ${String(size)} bytes\n`);
    if (size > largest) throw new Error(`${path} is larger than ${String(largest)} bytes`);
  }
}

async function draw(url) {
  const browser = await chromium.launch({ executablePath: program, args: browserArgs.split(' ') });
  try {
    const page = await browser.newPage({ viewport: { width: 1180, height: 1000 }, reducedMotion: 'reduce' });
    await page.goto(url);
    await page.locator('#state', { hasText: /^Live/ }).waitFor({ timeout: 120_000 });
    await page.waitForTimeout(1_000 * Number(values.seconds));
    mkdirSync(values.out, { recursive: true });
    await take(page, 'status-page');
    await page.goto(`${url}/query`);
    await page.locator('#views', { hasText: 'explore' }).waitFor();
    await page.getByRole('button', { name: 'Holdings by instrument' }).click();
    await page.locator('#outcome', { hasText: / rows, / }).waitFor();
    await page.getByRole('button', { name: 'Chart' }).click();
    await take(page, 'query-page', true);
  } finally {
    await browser.close();
  }
}
