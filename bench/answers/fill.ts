/**
 * Fills a database with a long history: the demo's ledger with an accelerated clock, and the indexer with the settings
 * of the demo.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { printStatus } from '../figures/terminal.ts';
import { schema, withClient } from '../postgres.ts';
import { waitForGoal } from '../progress.ts';
import { startDemo, untilViewsExist, type DemoPlan, type DemoRun } from './demo-run.ts';

const reportEveryMs = 5_000;

/** A run of the indexer that stores the history. */
export interface FillRun extends Omit<DemoPlan, 'pace'> {
  /** Called after the last commit, while the indexer runs. */
  readonly onStored?: (demo: DemoRun) => Promise<void>;
}

/**
 * Stores a history in a migrated database without data. Returns the time from the start of the indexer to the last
 * commit, seconds.
 * @throws Error if the ledger or the indexer ends, or stops advancing
 */
export async function fillHistory(databaseUrl: string, { onStored, ...plan }: FillRun): Promise<number> {
  const demo = await startDemo(databaseUrl, plan);
  const { indexer } = demo;
  const began = performance.now();
  const following = new AbortController();
  const isFull = demo.message('full');
  const reporting = reportStored({ databaseUrl, demo, updates: plan.updates, stop: following.signal });
  // It is awaited below, and may fail before that.
  reporting.catch(() => undefined);
  const { ledgerEnd } = await Promise.race([isFull, indexer.died, reporting.then(() => isFull)]);
  await waitForGoal(databaseUrl, indexer, { checkpoint: ledgerEnd });
  const seconds = (performance.now() - began) / 1000;
  following.abort();
  await reporting;
  await onStored?.(demo);
  await untilViewsExist(databaseUrl, demo);
  await demo.stop();
  printStatus('vacuum analyze');
  await withClient(databaseUrl, async (client) => {
    await client.query('vacuum (analyze)');
    await client.query('checkpoint');
  });
  return seconds;
}

interface Following {
  readonly databaseUrl: string;
  readonly demo: DemoRun;
  readonly updates: number;
  readonly stop: AbortSignal;
}

const pollMs = 50;

/** Sends the indexer's checkpoint to the ledger, which waits for it, and reports the progress. */
async function reportStored({ databaseUrl, demo, updates, stop }: Following): Promise<void> {
  let reportedAt = performance.now();
  await withClient(databaseUrl, async (client) => {
    while (!stop.aborted) {
      const offset = await checkpointOf(client);
      demo.send({ kind: 'stored', offset });
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
