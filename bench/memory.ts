/** Memory: resident size over a long run, and while Postgres does not respond for half a minute. */
import { setTimeout as sleep } from 'node:timers/promises';
import { onExit } from './cleanup.ts';
import { rssMiB } from './figures/process-cpu.ts';
import { printStatus } from './figures/terminal.ts';
import { runIngest, type IngestOptions, type IngestRun } from './ingest.ts';
import { withClient } from './postgres.ts';
import { openingTransactions, type Profile } from './replay/profiles.ts';
import { updatesRecording } from './replay/recording.ts';
import { plainVariant, type Session } from './session.ts';

export interface MemoryRun extends IngestRun {
  /**
   * Peak resident size in the second quarter of the run; the next field is that of the last quarter. MiB. If they are
   * equal, memory does not grow.
   */
  readonly secondQuarterMiB: number;
  readonly lastQuarterMiB: number;
}

/**
 * Measures one run.
 * @param stallSeconds how long the backends of the indexer are stopped, three seconds after its start
 */
export async function runMemory(options: IngestOptions, lastOffset: number, stallSeconds = 0): Promise<MemoryRun> {
  const quarters = [0, 0, 0, 0];
  const run = await runIngest({
    ...options,
    onSample: ({ reached: reachedOffset }, indexer) => {
      const quarterIndex = Math.min(3, Math.floor((4 * reachedOffset) / lastOffset));
      quarters[quarterIndex] = Math.max(quarters[quarterIndex] ?? 0, rssMiB(indexer.pid) ?? 0);
    },
    ...(stallSeconds > 0 ? { disturb: (_, url) => stall(url, stallSeconds) } : {}),
  });
  return { ...run, secondQuarterMiB: quarters[1] ?? 0, lastQuarterMiB: quarters[3] ?? 0 };
}

const runUpMs = 1_000;

/** Stops the Postgres processes that serve the indexer. The connections remain open, without responses. */
async function stall(url: string, seconds: number): Promise<void> {
  await sleep(runUpMs);
  const pids = await withClient(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and application_name = 'ledger-indexer'`,
    );
    return rows.map(({ pid }) => pid);
  });
  const cleanup = onExit(() => {
    for (const pid of pids) signal(pid, 'SIGCONT');
  });
  for (const pid of pids) signal(pid, 'SIGSTOP');
  await sleep(seconds * 1_000);
  await cleanup();
}

/** A backend that has ended meanwhile needs no signal. */
function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Measures a long run, and one in which Postgres is stopped. */
export async function runMemories(session: Session, profile: Profile): Promise<void> {
  const { options, server } = session;
  const transactions = options.transactions ?? options.memoryTransactions;
  const recording = updatesRecording({ folder: options.cache, profile, count: transactions, say: printStatus });
  const last = openingTransactions(profile) + transactions;
  const ingest = {
    server,
    profile,
    recording,
    transactions,
    variant: plainVariant(options),
    unchecked: !options.check,
  };
  // On another machine, the processes of the server cannot be stopped.
  const stalls = server.cpu() === undefined ? [0] : [0, options.stallSeconds];
  for (const seconds of stalls) {
    const name = seconds === 0 ? 'long run' : `stalled ${String(seconds)} s`;
    printStatus(`${profile.name}: memory, ${name}`);
    const run = await runMemory(ingest, last, seconds);
    session.memories.push({ profile: profile.name, name, run });
    if (run.error !== undefined) session.errors.push(`${profile.name}, memory, ${name}: ${run.error}`);
  }
}
