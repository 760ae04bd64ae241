/** Pictures of the dashboards, drawn from the results of a real Prometheus and a real Postgres, with a real browser. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { DashboardResults } from './check.ts';
import { page as pageOf, pageWidth } from './picture/page.ts';

const programs = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const chromiumFlags =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

/** Writes `<name>.png` of each dashboard to `folder`. @throws Error if no browser is installed */
export async function drawPictures(dashboardAnswers: readonly DashboardResults[], folder: string): Promise<void> {
  const executablePath = programs.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('no pictures: no chromium; on Debian: apt-get install chromium');
  await mkdir(folder, { recursive: true });
  const browser = await chromium.launch({ executablePath, args: chromiumFlags.split(' ') });
  try {
    const tab = await browser.newPage({ viewport: { width: pageWidth, height: 900 } });
    for (const panelAnswer of dashboardAnswers) {
      await tab.setContent(pageOf(panelAnswer));
      await tab.screenshot({ path: join(folder, `${panelAnswer.name}.png`), fullPage: true });
    }
  } finally {
    await browser.close();
  }
}
