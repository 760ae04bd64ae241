/**
 * Ingest with and without filtered subscriptions to `/changes`: two runs of the same recording. Each subscription has
 * another filter, so that no two of them share a page.
 */
import { get, type IncomingMessage } from 'node:http';
import { freePort } from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { printStatus } from '../figures/terminal.ts';
import type { Variant } from '../indexer-process.ts';
import { runIngest, type IngestRun } from '../ingest.ts';
import { parties, templateName } from '../replay/names.ts';
import { openingTransactions } from '../replay/profiles.ts';
import type { PushOptions, PushPart } from './figures.ts';

/** Maximum time from the last commit until the last subscription has reached it, milliseconds. */
const timeLimitMs = 600_000;

export const measureSubscriptions: PushPart = async (options) => {
  if (options.subscriptions === 0) return { lost: 0, reordered: 0 };
  const alone = await measured(options, 0);
  const filtered = await measured(options, options.subscriptions);
  const [aloneRate, filteredRate] = [alone, filtered].map(({ run }) => Math.round(run.events / run.seconds));
  return {
    lost: 0,
    reordered: 0,
    subscriptions: options.subscriptions,
    ingest_alone_per_s: aloneRate,
    ingest_filtered_per_s: filteredRate,
    filtered_vs_alone: Number(((filteredRate ?? 0) / (aloneRate ?? 1)).toFixed(3)),
    filtered_events: filtered.events,
    filtered_behind_s: Number(filtered.behindSeconds.toFixed(2)),
  };
};

interface Measured {
  readonly run: IngestRun;
  /** Number of changes that all subscriptions received together. */
  readonly events: number;
  /** Time from the end of ingest until all subscriptions have reached it. */
  readonly behindSeconds: number;
}

async function measured(options: PushOptions, subscriptions: number): Promise<Measured> {
  const { server, profile, recording, transactions } = options;
  const last = openingTransactions(profile) + transactions;
  const port = await freePort();
  const env = { INDEXER_HTTP_PORT: String(port) };
  const variant: Variant = { name: 'as shipped', env };
  printStatus(`ingest with ${String(subscriptions)} filtered subscriptions`);
  let [whenComplete, events, endedAt] = [Promise.resolve<readonly number[]>([]), 0, 0];
  const run = await runIngest({
    server,
    profile,
    recording,
    transactions,
    variant,
    unchecked: true,
    disturb: async () => {
      const streams = Array.from({ length: subscriptions }, (_, index) => subscribe(port, filterOf(index, last)));
      await Promise.all(streams.map(({ begun }) => begun));
      whenComplete = Promise.all(streams.map(({ complete }) => complete));
      whenComplete.catch(() => undefined);
    },
    afterwards: async () => {
      const from = performance.now();
      events = (await withLimit(whenComplete)).reduce((sum, count) => sum + count, 0);
      endedAt = performance.now() - from;
    },
  });
  if (run.error !== undefined) throw new Error(run.error);
  return { run, events, behindSeconds: endedAt / 1_000 };
}

/** Conditions of four kinds, in turn. Contracts of the recording do not exist yet when the subscriptions begin. */
function filterOf(index: number, last: number): URLSearchParams {
  const { id, packageName, choices } = templateName(index % 12);
  const template = `${packageName}:${id.slice(id.indexOf(':') + 1)}`;
  const party = parties[index % parties.length] ?? '';
  const kinds: readonly Readonly<Record<string, string>>[] = [
    { template, where: `payload.owner = '${party}' and payload.amount > ${String(index)}` },
    { template, choice: choices[index % 2] ?? '', where: `payload.round > ${String(index)}` },
    { event: 'transfer.*', where: `amount > ${String(index)}` },
    { event_type: 'created', where: `parties has '${party}' and node_id >= ${String(index % 3)}` },
  ];
  return new URLSearchParams({ ...kinds[index % kinds.length], after: '0', until: String(last), unseen: 'allow' });
}

interface Subscription {
  readonly begun: Promise<void>;
  /** Number of received changes, when all changes up to the end were sent. */
  readonly complete: Promise<number>;
}

function subscribe(port: number, filter: URLSearchParams): Subscription {
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    get(`http://127.0.0.1:${String(port)}/changes?${filter.toString()}`, { agent: false }, resolve).on('error', reject);
  });
  return { begun: response.then(() => undefined), complete: response.then(countEvents) };
}

async function countEvents(response: IncomingMessage): Promise<number> {
  let [count, tail] = [0, ''];
  if (response.statusCode !== 200) throw new Error(`/changes returned ${String(response.statusCode)}`);
  response.setEncoding('latin1');
  for await (const chunk of response) {
    const lines = (tail + String(chunk)).split('\n');
    tail = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('data: {"offset"')) count += 1;
      else if (line.startsWith('data: {"reason":"complete"')) return count;
    }
  }
  throw new Error('a subscription ended before it was complete');
}

async function withLimit<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the subscriptions did not reach the end')), timeLimitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
