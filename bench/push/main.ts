/**
 * `npm run bench:push -- [--transactions N] [--clients N] [--subscriptions N] [--only PART] [--json FILE]`: speed and
 * completeness of webhooks and `/changes`, and what filtered subscriptions cost ingest.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runToEnd } from '../cleanup.ts';
import { printStatus } from '../figures/terminal.ts';
import { prepareOutputs } from '../indexer-process.ts';
import { openServer } from '../postgres.ts';
import { profileNamed } from '../replay/profiles.ts';
import { updatesRecording } from '../replay/recording.ts';
import { measureDeliveries } from './deliveries.ts';
import { merged, type PushFigures, type PushPart } from './figures.ts';
import { measureStreams } from './streams.ts';
import { measureSubscriptions } from './subscriptions.ts';

/** The parts by the name that is printed while they run, one after the other. */
const pushParts: Readonly<Record<string, PushPart>> = {
  'deliveries to a webhook': measureDeliveries,
  'clients that listen': measureStreams,
  'filtered subscriptions': measureSubscriptions,
};

const { values } = parseArgs({
  options: {
    transactions: { type: 'string', default: '30000' },
    clients: { type: 'string', default: '10000' },
    subscriptions: { type: 'string', default: '0' },
    only: { type: 'string' },
    json: { type: 'string' },
  },
  strict: true,
});

/** @throws Error unless it is an integer that is not below `least` */
function parseInteger(flag: 'transactions' | 'clients' | 'subscriptions', least = 1): number {
  const value = Number(values[flag]);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`--${flag}: expected an integer of at least ${String(least)}, got ${values[flag]}`);
}

async function main(): Promise<void> {
  const [transactions, clients] = [parseInteger('transactions'), parseInteger('clients')];
  const subscriptions = parseInteger('subscriptions', 0);
  const parts = Object.entries(pushParts).filter(([name]) => values.only === undefined || name.includes(values.only));
  if (parts.length === 0) throw new Error(`--only: expected a part of ${Object.keys(pushParts).join(', ')}`);
  prepareOutputs();
  const folder = resolve('.bench');
  mkdirSync(folder, { recursive: true });
  const profile = profileNamed('default');
  const recording = updatesRecording({
    folder: resolve('.bench/cache'),
    profile,
    count: Math.max(transactions, 100),
    say: printStatus,
  });
  const server = await openServer({ url: undefined, folder, settings: {} });
  const figures: PushFigures[] = [];
  for (const [name, measure] of parts) {
    printStatus(name);
    figures.push(await measure({ server, profile, recording, transactions, clients, subscriptions }));
  }
  printStatus('');
  const [cpu] = cpus();
  const machine = `${String(cpus().length)} x ${cpu?.model.trim() ?? '?'}, Node ${process.version}, Postgres ${server.version}`;
  const text = `${JSON.stringify({ ...merged(figures), transactions, machine }, null, 2)}\n`;
  process.stdout.write(text);
  if (values.json !== undefined) writeFileSync(values.json, text);
}

await runToEnd('bench:push', main);
