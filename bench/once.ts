/** What is measured after the rounds, because it takes long or needs much disk: memory and growth. */
import { figureOf } from './figures/figures.ts';
import { runIngest } from './ingest.ts';
import { runMemory } from './memory.ts';
import { preloadedCounts, preloadedDatabase } from './preload.ts';
import { openingTransactions, type Profile } from './replay/profiles.ts';
import { updatesRecording } from './replay/recording.ts';
import type { RunDatabase } from './postgres.ts';
import { note, plainVariant, type Session } from './session.ts';
import { say } from './figures/terminal.ts';

/** A long run, and one in which Postgres stands still. */
export async function runMemories(session: Session, profile: Profile): Promise<void> {
  const { options, server } = session;
  const transactions = options.transactions ?? options.memoryTransactions;
  const recording = updatesRecording({ folder: options.cache, profile, count: transactions, say });
  const last = openingTransactions(profile) + transactions;
  const ingest = {
    server,
    profile,
    recording,
    transactions,
    variant: plainVariant(options),
    unchecked: !options.check,
  };
  // A server on another machine has no processes to stop.
  const stalls = server.cpu() === undefined ? [0] : [0, options.stallSeconds];
  for (const seconds of stalls) {
    const name = seconds === 0 ? 'long run' : `stalled ${String(seconds)} s`;
    say(`${profile.name}: memory, ${name}`);
    const run = await runMemory(ingest, last, seconds);
    session.memories.push({ profile: profile.name, name, run });
    if (run.error !== undefined) session.errors.push(`${profile.name}, memory, ${name}: ${run.error}`);
  }
}

/** Name of a growth line. */
export function growthName(contracts: number): string {
  return contracts === 0 ? 'growth: empty' : `growth: over ${String(contracts)}`;
}

const growthRounds = 3;
const growthTransactions = { quick: 15_000, full: 60_000 } as const;

interface Start {
  readonly contracts: number;
  readonly template: RunDatabase | undefined;
}

/** The same rate of updates into databases that hold more and more; half of the archives hit what was there. */
export async function runGrowth(session: Session, profile: Profile): Promise<void> {
  const { options, server } = session;
  const starts: Start[] = [{ contracts: 0, template: undefined }];
  for (const contracts of options.growthSizes) {
    say(`${profile.name}: a database of ${String(contracts)} contracts`);
    starts.push({ contracts, template: await preloadedDatabase(server, contracts) });
  }
  const transactions = options.transactions ?? growthTransactions[options.quick ? 'quick' : 'full'];
  for (let round = 0; round < Math.min(options.rounds, growthRounds); round += 1) {
    for (const { contracts: preloaded, template } of starts) {
      const recording = updatesRecording({ folder: options.cache, profile, count: transactions, preloaded, say });
      await note(session, profile.name, growthName(preloaded), async () => {
        const run = await runIngest({
          server,
          profile,
          recording,
          transactions,
          variant: plainVariant(options),
          unchecked: !options.check,
          preloaded: preloadedCounts(preloaded),
          ...(template === undefined ? {} : { template }),
        });
        return figureOf(run, run.events, run.steady);
      });
    }
  }
  for (const { template } of starts) await template?.drop();
}
