/** The scripts of a page, which the daemon joins into one: it must compile, for which no name may be declared twice. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Script } from 'node:vm';
import { expect, it } from 'vitest';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { ConsolePage, type ConsoleReads } from '../../src/observe/page/console-page.ts';
import { StatusPage } from '../../src/observe/page/status-page.ts';

const refuse = (): Promise<never> => Promise.reject(new Error('the test reads nothing'));
const reads: ConsoleReads = { ask: refuse, search: refuse, views: refuse, explain: refuse };
const health = new HealthTracker({ version: '1.2.3', schema: 'ledger', stalledAfterMs: 1000 });

const pages: readonly [string, { answerPage(response: ServerResponse): void }][] = [
  ['status', new StatusPage({ health, guide: { connect: 'psql', password: 'Ask.', queries: [] } })],
  [
    'query',
    new ConsolePage({
      reads,
      readsOf: () => reads,
      guide: { queries: [], explore: 'explore', maxSeconds: 30 },
      takesNodeTokens: false,
    }),
  ],
];

it.each(pages)('the %s page has one script that compiles', async (_, page) => {
  const server = createServer((_request, response) => page.answerPage(response)).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const html = await (await fetch(`http://127.0.0.1:${String(port)}/`)).text();
    const scripts = [...html.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script = '']) => script);
    expect(scripts).toHaveLength(1);
    expect(() => new Script(scripts[0] ?? '')).not.toThrow();
  } finally {
    server.close();
  }
});
