/**
 * Clients of `/changes`. All receive the same events, so a commit is written to as many sockets as there are clients.
 * Counts the listening clients, and events that a client did not receive, or not in order. Measures the time from
 * handing an update to the ledger's socket until a client has read its last event.
 */
import { messagesOf, startChild, type Child, type MessageOfKind } from '../child.ts';
import { startCost } from '../figures/cost.ts';
import { printStatus } from '../figures/terminal.ts';
import { startIndexerProcess, type Variant } from '../indexer-process.ts';
import { runIngest } from '../ingest.ts';
import { explore, withClient, type RunDatabase } from '../postgres.ts';
import { openingTransactions } from '../replay/profiles.ts';
import { startReplay } from '../replay/replay.ts';
import type { ClientMessage, ClientResult } from './clients.ts';
import type { PushFigures, PushOptions, PushPart } from './figures.ts';

/** Number of updates that are sent once all clients listen. The opening transactions are history by then. */
const updates = 20;
const updatesPerSecond = 1;
/**
 * Time within which the last event must reach all clients, in addition to the time in which the updates are sent,
 * milliseconds.
 */
const timeLimitMs = 60_000;

/** All clients listen from the same position and receive the same updates. */
export const measureStreams: PushPart = async (options) => {
  const { server, profile, recording, clients } = options;
  // Leaves capacity for clients that are being disconnected.
  const variant = { name: 'as shipped', env: { INDEXER_CHANGES_MAX_CLIENTS: String(clients + 100) } };
  let run: PushFigures | undefined;
  const openingOptions = { server, profile, recording, variant, transactions: 1, unchecked: true };
  const ingestResult = await runIngest(openingOptions, async (database) => {
    run = await streamed(options, variant, database);
  });
  if (run === undefined) throw new Error(ingestResult.error ?? 'nothing was indexed');
  return run;
};

async function streamed(options: PushOptions, variant: Variant, database: RunDatabase): Promise<PushFigures> {
  const { server, profile, recording } = options;
  const firstOffset = openingTransactions(profile) + 1;
  const last = firstOffset + updates;
  const stream = { path: recording.path, frames: last };
  const replay = await startReplay({ updates: stream, ledgerEnd: last, updatesPerSecond, heldAt: firstOffset });
  const indexer = startIndexerProcess({ variant, ledgerUrl: replay.url, databaseUrl: database.url, start: 'genesis' });
  const url = await listeningAt(indexer);
  // A transaction of this profile has three events per triple. The database confirms the number at the end.
  const plan = { url, clients: options.clients, after: firstOffset, last, events: updates * profile.triples * 3 };
  const clients = startChild({ file: 'push/clients.js', args: [JSON.stringify(plan)] });
  const message = messagesOf<ClientMessage>(clients);
  try {
    printStatus(`${String(options.clients)} clients begin to listen`);
    await message('listening');
    printStatus(`${String(updates)} updates`);
    const cost = startCost({ server, node: indexer.pid });
    replay.release();
    const { at: firstSentAt } = await Promise.race([replay.message('first'), indexer.died, clients.died]);
    const { microseconds } = await replay.message('sent');
    const seenResult = await waitForClients(clients, message);
    if (microseconds.length !== updates) throw new Error('the indexer requested updates again while they were sent');
    const { nodeCpu, seconds } = cost();
    if (seenResult.problem !== undefined) printStatus(`a client: ${seenResult.problem}`);
    const delays = delaysOf(seenResult, firstSentAt, microseconds).toSorted((a, b) => a - b);
    const committedOffset = await eventsBehind(database, firstOffset);
    const share = nodeCpu === undefined ? '' : `; the indexer took ${(nodeCpu / 1e6 / seconds).toFixed(2)} of a core`;
    const sentCount = Math.round((updates * 3 * options.clients) / (updates / updatesPerSecond));
    printStatus(
      `${String(sentCount)} events a second to all, half of the updates within ${String(percentile(delays, 50))} ms${share}\n`,
    );
    return {
      sse_clients: options.clients - seenResult.ended,
      lost: committedOffset * options.clients - (seenResult.events - seenResult.reordered),
      reordered: seenResult.reordered,
      p99_ms: percentile(delays, 99),
    };
  } finally {
    await clients.stop();
    await indexer.stop();
    await replay.stop();
  }
}

/** The address from the log line that reports where the indexer listens. */
async function listeningAt(indexer: Child): Promise<string> {
  const listeningUrl = new Promise<string>((resolve) => {
    indexer.process.stdout?.on('data', (chunk: Buffer) => {
      const [, url] = /"http":"([^"]+)"/u.exec(chunk.toString()) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  return await Promise.race([listeningUrl, indexer.died]);
}

/** The received events once each client has all of them, or those at the time limit. */
async function waitForClients(clients: Child, message: MessageOfKind<ClientMessage>): Promise<ClientResult> {
  const timer = setTimeout(() => clients.process.send('seen'), timeLimitMs);
  try {
    return await message('seen');
  } finally {
    clearTimeout(timer);
  }
}

/** Milliseconds for each client and received update. */
function delaysOf(
  { from, arrivals: arrivalTimes }: ClientResult,
  first: bigint,
  sentTimes: Float64Array,
): Float64Array {
  const startedMs = Number(first - from) / 1e6;
  const delays = Array.from(
    arrivalTimes,
    (arrivalNanos, index) => arrivalNanos / 1e6 - startedMs - (sentTimes[index % sentTimes.length] ?? 0) / 1e3,
  );
  return Float64Array.from(delays.filter((_, index) => arrivalTimes[index] !== 0));
}

function percentile(sortedTimes: Float64Array, percent: number): number {
  const percentileValue =
    sortedTimes[Math.min(sortedTimes.length - 1, Math.floor((sortedTimes.length * percent) / 100))] ?? Number.NaN;
  return Number(percentileValue.toFixed(1));
}

async function eventsBehind({ url }: RunDatabase, offset: number): Promise<number> {
  return await withClient(url, async (client) => {
    const text = `select count(*) as events from ${explore}.events where "offset" > $1`;
    const { rows } = await client.query<{ events: string }>(text, [offset]);
    return Number(rows[0]?.events);
  });
}
