/**
 * Deliveries to a webhook: an existing history is delivered as fast as a local receiver accepts it, each event once.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild, type Child } from '../child.ts';
import { startCost, now } from '../figures/cost.ts';
import { peakRssMiB } from '../figures/process-cpu.ts';
import { startIndexerProcess } from '../indexer-process.ts';
import { runIngest } from '../ingest.ts';
import { explore, schema, withClient, type RunDatabase } from '../postgres.ts';
import { openingTransactions } from '../replay/profiles.ts';
import { startReplay } from '../replay/replay.ts';
import { addWebhook } from '../../src/store/webhooks/hooks.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { grantReader } from '../../src/store/roles/reader-role.ts';
import { newSecret } from '../../src/webhooks/signature.ts';
import type { PushFigures, PushOptions } from './figures.ts';
import type { ReceiverResult } from './receiver.ts';

/** Results in addition to those of the report. */
interface DeliveriesRun extends PushFigures {
  readonly deliveries_per_s: number;
  readonly delivered_events: number;
  /** Number of events that were delivered again, with the same webhook-id. */
  readonly delivered_twice: number;
  /** CPU time of the indexer during delivery, as a share of one core. */
  readonly deliveries_node_share: number | undefined;
  /** Peak memory of the indexer. It does not depend on the length of the history. */
  readonly deliveries_peak_mib: number | undefined;
}

const role = 'bench_webhook';
/** Nanoseconds. An event that has not arrived after this time counts as lost. */
const silenceNanos = 30_000_000_000n;
const variant = { name: 'as shipped', env: { INDEXER_WEBHOOK_NETWORKS: 'loopback' } };

/** Indexes first, then measures from the first delivery to the last. */
export async function measureDeliveries(options: PushOptions): Promise<DeliveriesRun> {
  let run: DeliveriesRun | undefined;
  const ingestResult = await runIngest({ ...options, variant, unchecked: true }, async (database) => {
    run = await measureDelivery(options, database);
  });
  if (run === undefined) throw new Error(ingestResult.error ?? 'nothing was indexed');
  return run;
}

async function measureDelivery(
  { server, profile, transactions, recording }: PushOptions,
  { url }: RunDatabase,
): Promise<DeliveriesRun> {
  const frames = openingTransactions(profile) + transactions;
  const receiver = startChild({ file: 'push/receiver.js' });
  const port = Number(await readAnswer(receiver));
  await addReceiver(url, `http://127.0.0.1:${String(port)}/`);
  const events = await withClient(url, async (client) => {
    const { rows } = await client.query<{ events: string }>(`select count(*) as events from ${explore}.events`);
    return Number(rows[0]?.events);
  });
  const replay = await startReplay({ updates: { path: recording.path, frames }, ledgerEnd: frames });
  const indexer = startIndexerProcess({ variant, ledgerUrl: replay.url, databaseUrl: url, start: 'genesis' });
  try {
    let receiverState = await requestState(receiver);
    let cost = startCost({ server, node: indexer.pid });
    const isComplete = (): boolean =>
      receiverState.different >= events || (receiverState.received > 0 && now() - receiverState.lastAt > silenceNanos);
    for (; !isComplete(); receiverState = await requestState(receiver)) {
      if (receiverState.received === 0) cost = startCost({ server, node: indexer.pid });
      await Promise.race([sleep(200), indexer.died, receiver.died, replay.died]);
    }
    const { nodeCpu } = cost();
    const seconds = Number(receiverState.lastAt - receiverState.firstAt) / 1e9;
    return {
      deliveries_per_s: Math.round(receiverState.received / seconds),
      lost: events - receiverState.different,
      reordered: receiverState.reordered,
      delivered_events: events,
      delivered_twice: receiverState.received - receiverState.different,
      deliveries_node_share: nodeCpu === undefined ? undefined : Number((nodeCpu / 1e6 / seconds).toFixed(2)),
      deliveries_peak_mib: peakRssMiB(indexer.pid),
    };
  } finally {
    await indexer.stop();
    await replay.stop();
    await receiver.stop();
  }
}

async function addReceiver(url: string, to: string): Promise<void> {
  const database = openDatabase({ url, schema, statementTimeoutMs: 60_000, applicationName: 'bench' });
  try {
    await grantReader(database, { role, parties: [], password: undefined });
    const unfilteredRequest = { template: null, party: null, eventTypes: [], after: 0 };
    await addWebhook(database, { name: 'bench', url: to, secret: newSecret(), role, ...unfilteredRequest });
  } finally {
    await database.close();
  }
}

async function readAnswer(receiver: Child): Promise<unknown> {
  const [message] = (await Promise.race([once(receiver.process, 'message'), receiver.died])) as [unknown];
  return message;
}

async function requestState(receiver: Child): Promise<ReceiverResult> {
  const whenAnswered = readAnswer(receiver);
  receiver.process.send('seen');
  return (await whenAnswered) as ReceiverResult;
}
