/**
 * Fills a database with a long history: the demo's ledger with an accelerated clock, and the indexer with the settings
 * of the demo.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { messagesOf, startChild, type Child } from '../child.ts';
import { printStatus } from '../figures/terminal.ts';
import { startIndexerProcess } from '../indexer-process.ts';
import { schema, withClient } from '../postgres.ts';
import { waitForGoal } from '../progress.ts';
import type { LedgerMessage, LedgerPlan, StoredMessage } from './ledger-messages.ts';
import { startOfTraffic } from './traffic.ts';

/** Interfaces that the demo stores; see `withDemoDefaults` in src/cli/follow/run-indexer.ts. */
const demoInterfaces = 'tokens';
const ledgerHeapMiB = 4_096;
const reportEveryMs = 5_000;
/** Maximum time that the indexer needs for views and interfaces after the last update. */
const viewsLimitMs = 120_000;

/** A run of the indexer that stores the history. */
export interface FillRun {
  readonly updates: number;
  readonly projections: 'built-in' | 'off';
  /** Called after the last commit, while the indexer runs. */
  readonly onStored?: () => Promise<void>;
}

/**
 * Stores a history in a migrated database without data. Returns the time from the start of the indexer to the last
 * commit, seconds.
 * @throws Error if the ledger or the indexer ends, or stops advancing
 */
export async function fillHistory(databaseUrl: string, { updates, projections, onStored }: FillRun): Promise<number> {
  printStatus(`generating the month before ${String(updates)} updates`);
  const plan: LedgerPlan = { updates, startAtMs: startOfTraffic(updates, Date.now()) };
  const ledger = startChild({
    file: 'answers/ledger.js',
    args: [JSON.stringify(plan)],
    nodeArgs: [`--max-old-space-size=${String(ledgerHeapMiB)}`],
  });
  const message = messagesOf<LedgerMessage>(ledger);
  const { url: ledgerUrl } = await message('listening');
  const began = performance.now();
  const variant = { name: 'demo', env: { LEDGER_INTERFACES: demoInterfaces, INDEXER_PROJECTIONS: projections } };
  const indexer = startIndexerProcess({ variant, ledgerUrl, databaseUrl, start: 'genesis' });
  const following = new AbortController();
  const isFull = message('full');
  const reporting = reportStored({ databaseUrl, ledger, updates, stop: following.signal });
  // It is awaited below, and may fail before that.
  reporting.catch(() => undefined);
  const { ledgerEnd } = await Promise.race([isFull, indexer.died, reporting.then(() => isFull)]);
  await waitForGoal(databaseUrl, indexer, { checkpoint: ledgerEnd });
  const seconds = (performance.now() - began) / 1000;
  following.abort();
  await reporting;
  await onStored?.();
  await withClient(databaseUrl, (client) => untilViewsExist(client, indexer));
  await indexer.stop();
  await ledger.stop();
  printStatus('vacuum analyze');
  await withClient(databaseUrl, async (client) => {
    await client.query('vacuum (analyze)');
    await client.query('checkpoint');
  });
  return seconds;
}

interface Following {
  readonly databaseUrl: string;
  readonly ledger: Child;
  readonly updates: number;
  readonly stop: AbortSignal;
}

const pollMs = 50;

/** Sends the indexer's checkpoint to the ledger, which waits for it, and reports the progress. */
async function reportStored({ databaseUrl, ledger, updates, stop }: Following): Promise<void> {
  let reportedAt = performance.now();
  await withClient(databaseUrl, async (client) => {
    while (!stop.aborted) {
      const offset = await checkpointOf(client);
      const stored: StoredMessage = { kind: 'stored', offset };
      if (ledger.process.connected) ledger.process.send(stored);
      if (performance.now() - reportedAt > reportEveryMs) {
        reportedAt = performance.now();
        printStatus(`filling: stored up to offset ${String(offset)} of about ${String(Math.round(updates * 1.2))}`);
      }
      await sleep(pollMs);
    }
  });
}

/** 0 until the indexer has stored the first update. */
async function checkpointOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ checkpoint: string | null }>(`select checkpoint from ${schema}.stream`);
  return Number(rows[0]?.checkpoint ?? 0);
}

/** Waits for typed views and for interface views, which the indexer makes in the background. */
async function untilViewsExist(client: Client, indexer: Child): Promise<void> {
  printStatus('waiting for views');
  const end = performance.now() + viewsLimitMs;
  for (;;) {
    const { rows } = await Promise.race([
      client.query<{ ready: boolean }>(
        `select (select count(*) > 0 from pg_views where schemaname = 'typed')
                and not exists (select from explore.interface_coverage where state = 'backfilling') as ready`,
      ),
      indexer.died,
    ]);
    if (rows[0]?.ready === true) return;
    if (performance.now() > end)
      throw new Error('the indexer did not create the typed views, or not all interface views');
    await sleep(200);
  }
}

export interface HistorySize {
  readonly updates: number;
  readonly events: number;
}

/** The numbers of stored updates, and of stored creates and exercises. */
export async function countHistory(client: Client): Promise<HistorySize> {
  const { rows } = await client.query<{ updates: string; events: string }>(
    `select (select count(*) from ${schema}.updates) as updates,
            (select count(*) from ${schema}.contracts) + (select count(*) from ${schema}.exercises) as events`,
  );
  return { updates: Number(rows[0]?.updates), events: Number(rows[0]?.events) };
}
