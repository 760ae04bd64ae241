/**
 * `npm run bench:api -- [--updates N] [--seconds N] [--json FILE]`: times of requests to `/api`, and the rate with 50
 * clients, on the history of the demo.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fillHistory } from '../answers/fill.ts';
import { untilViewsExist, type DemoRun } from '../answers/demo-run.ts';
import { messagesOf, startChild } from '../child.ts';
import { runToEnd } from '../cleanup.ts';
import { printStatus } from '../figures/terminal.ts';
import { prepareOutputs } from '../indexer-process.ts';
import { migrateSchema, openServer, withClient } from '../postgres.ts';
import type { ClientMessage, ClientPlan, ClientReport } from './clients.ts';
import { requestsFor } from './requests.ts';

const clients = 50;

const { values } = parseArgs({
  options: {
    updates: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '15' },
    json: { type: 'string' },
  },
  strict: true,
});

/** @throws Error unless it is a positive integer */
function parseInteger(flag: 'updates' | 'seconds'): number {
  const value = Number(values[flag]);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new Error(`--${flag}: expected a positive integer, got ${values[flag]}`);
}

/** Measures while the indexer runs and no update arrives. */
async function measure(databaseUrl: string, demo: DemoRun, seconds: number): Promise<ClientReport> {
  await untilViewsExist(databaseUrl, demo);
  await withClient(databaseUrl, (client) => client.query('vacuum (analyze)'));
  const requests = await requestsFor(databaseUrl);
  const plan: ClientPlan = { url: demo.httpUrl, requests, clients, seconds };
  const child = startChild({ file: 'api/clients.js', args: [JSON.stringify(plan)] });
  const message = messagesOf<ClientMessage>(child);
  try {
    printStatus('requests one after the other');
    await Promise.race([message('timed'), child.died, demo.indexer.died]);
    printStatus(`${String(clients)} clients`);
    return (await Promise.race([message('done'), child.died, demo.indexer.died])).report;
  } finally {
    await child.stop();
  }
}

async function main(): Promise<void> {
  const [updates, seconds] = [parseInteger('updates'), parseInteger('seconds')];
  prepareOutputs();
  const folder = resolve('.bench');
  mkdirSync(folder, { recursive: true });
  const server = await openServer({ url: undefined, folder, settings: {} });
  const { url } = await migrateSchema(await server.createDatabase());
  let report: ClientReport | undefined;
  const onStored = async (demo: DemoRun): Promise<void> => {
    report = await measure(url, demo, seconds);
  };
  await fillHistory(url, { updates, projections: 'built-in', api: true, onStored });
  printStatus('');
  const [cpu] = cpus();
  const machine = `${String(cpus().length)} x ${cpu?.model.trim() ?? '?'}, Node ${process.version}, Postgres ${server.version}`;
  const text = `${JSON.stringify({ ...report, updates, clients, machine }, null, 2)}\n`;
  process.stdout.write(text);
  if (values.json !== undefined) writeFileSync(values.json, text);
  if (report === undefined || report.errors > 0) process.exitCode = 1;
}

await runToEnd('bench:api', main);
