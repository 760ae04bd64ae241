/** `npm run bench:push -- [--transactions N] [--clients N] [--json FILE]`: speed and completeness of webhooks and `/changes`. */
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

/** The parts by the name that is printed while they run, one after the other. */
const pushParts: Readonly<Record<string, PushPart>> = {
  'deliveries to a webhook': measureDeliveries,
  'clients that listen': measureStreams,
};

const { values } = parseArgs({
  options: {
    transactions: { type: 'string', default: '30000' },
    clients: { type: 'string', default: '10000' },
    json: { type: 'string' },
  },
  strict: true,
});

/** @throws Error unless it is a positive integer */
function parseInteger(flag: 'transactions' | 'clients'): number {
  const value = Number(values[flag]);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new Error(`--${flag}: expected a positive integer, got ${values[flag]}`);
}

async function main(): Promise<void> {
  const [transactions, clients] = [parseInteger('transactions'), parseInteger('clients')];
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
  for (const [name, measure] of Object.entries(pushParts)) {
    printStatus(name);
    figures.push(await measure({ server, profile, recording, transactions, clients }));
  }
  printStatus('');
  const [cpu] = cpus();
  const machine = `${String(cpus().length)} x ${cpu?.model.trim() ?? '?'}, Node ${process.version}, Postgres ${server.version}`;
  const text = `${JSON.stringify({ ...merged(figures), transactions, machine }, null, 2)}\n`;
  process.stdout.write(text);
  if (values.json !== undefined) writeFileSync(values.json, text);
}

await runToEnd('bench:push', main);
