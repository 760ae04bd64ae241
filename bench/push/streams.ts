/**
 * Clients of `/changes`: each is sent what all others are, so a commit is written to as many sockets. Counted are clients that listen,
 * events that a client was not sent, or not in order, and the time from handing an update to the ledger's socket until a client has
 * read its last event.
 */
import { messagesOf, startChild, type Child, type MessageBy } from '../child.ts';
import { measured } from '../figures/cost.ts';
import { say } from '../figures/terminal.ts';
import { startIndexerProcess, type Variant } from '../indexer-process.ts';
import { runIngest } from '../ingest.ts';
import { explore, withClient, type RunDatabase } from '../postgres.ts';
import { openingTransactions } from '../replay/profiles.ts';
import { startReplay } from '../replay/replay.ts';
import type { ClientsMessage, ClientsSeen } from './clients.ts';
import type { PushFigures, PushOptions, PushPart } from './figures.ts';

/** Sent to everybody once they listen; the opening transactions are history then. */
const updates = 20;
const updatesPerSecond = 1;
/** How long the last event may take to come to all, beyond the time in which the updates are sent. */
const patienceMs = 60_000;

/** All of them listen from the same place on, and are sent the same updates. */
export const measureStreams: PushPart = async (options) => {
  const { server, profile, recording, clients } = options;
  // Room for clients that are just being cut off as well.
  const variant = { name: 'as shipped', env: { INDEXER_CHANGES_MAX_CLIENTS: String(clients + 100) } };
  let run: PushFigures | undefined;
  const opening = { server, profile, recording, variant, transactions: 1, unchecked: true };
  const ingested = await runIngest(opening, async (database) => {
    run = await streamed(options, variant, database);
  });
  if (run === undefined) throw new Error(ingested.error ?? 'nothing was indexed');
  return run;
};

async function streamed(options: PushOptions, variant: Variant, database: RunDatabase): Promise<PushFigures> {
  const { server, profile, recording } = options;
  const after = openingTransactions(profile) + 1;
  const last = after + updates;
  const stream = { path: recording.path, frames: last };
  const replay = await startReplay({ updates: stream, ledgerEnd: last, updatesPerSecond, heldAt: after });
  const indexer = startIndexerProcess({ variant, ledgerUrl: replay.url, databaseUrl: database.url, start: 'genesis' });
  const url = await listeningAt(indexer);
  // Three events an update: a transaction of this profile. The database says at the end whether it was so.
  const plan = { url, clients: options.clients, after, last, events: updates * profile.triples * 3 };
  const clients = startChild({ file: 'push/clients.js', args: [JSON.stringify(plan)] });
  const message = messagesOf<ClientsMessage>(clients);
  try {
    say(`${String(options.clients)} clients begin to listen`);
    await message('listening');
    say(`${String(updates)} updates`);
    const cost = measured({ server, node: indexer.pid });
    replay.release();
    const { at } = await Promise.race([replay.message('first'), indexer.died, clients.died]);
    const { microseconds } = await replay.message('sent');
    const seen = await seenByAll(clients, message);
    if (microseconds.length !== updates) throw new Error('the indexer asked for updates again while they were sent');
    const { nodeCpu, seconds } = cost();
    if (seen.problem !== undefined) say(`a client: ${seen.problem}`);
    const delays = delaysOf(seen, at, microseconds).toSorted((a, b) => a - b);
    const committed = await eventsBehind(database, after);
    const share = nodeCpu === undefined ? '' : `; the indexer took ${(nodeCpu / 1e6 / seconds).toFixed(2)} of a core`;
    const sent = Math.round((updates * 3 * options.clients) / (updates / updatesPerSecond));
    say(
      `${String(sent)} events a second to all, half of the updates within ${String(percentile(delays, 50))} ms${share}\n`,
    );
    return {
      sse_clients: options.clients - seen.ended,
      lost: committed * options.clients - (seen.events - seen.reordered),
      reordered: seen.reordered,
      p99_ms: percentile(delays, 99),
    };
  } finally {
    await clients.stop();
    await indexer.stop();
    await replay.stop();
  }
}

/** The line of the log that says where it listens. */
async function listeningAt(indexer: Child): Promise<string> {
  const said = new Promise<string>((resolve) => {
    indexer.process.stdout?.on('data', (chunk: Buffer) => {
      const [, url] = /"http":"([^"]+)"/u.exec(chunk.toString()) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  return await Promise.race([said, indexer.died]);
}

/** What they have seen once each was sent everything, or whatever it is after the limit. */
async function seenByAll(clients: Child, message: MessageBy<ClientsMessage>): Promise<ClientsSeen> {
  const timer = setTimeout(() => clients.process.send('seen'), patienceMs);
  try {
    return await message('seen');
  } finally {
    clearTimeout(timer);
  }
}

/** Milliseconds, of each client and update that came. */
function delaysOf({ from, arrivals }: ClientsSeen, first: bigint, sent: Float64Array): Float64Array {
  const startedMs = Number(first - from) / 1e6;
  const delays = Array.from(arrivals, (at, index) => at / 1e6 - startedMs - (sent[index % sent.length] ?? 0) / 1e3);
  return Float64Array.from(delays.filter((_, index) => arrivals[index] !== 0));
}

function percentile(sorted: Float64Array, percent: number): number {
  const found = sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
  return Number(found.toFixed(1));
}

async function eventsBehind({ url }: RunDatabase, offset: number): Promise<number> {
  return await withClient(url, async (client) => {
    const text = `select count(*) as events from ${explore}.events where "offset" > $1`;
    const { rows } = await client.query<{ events: string }>(text, [offset]);
    return Number(rows[0]?.events);
  });
}
