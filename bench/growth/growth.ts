/**
 * Growth: the same stream into databases with more and more contracts, where half of the archives concern existing
 * contracts. Each run begins and ends with a checkpoint, so that it consists of complete checkpoint cycles. Pages are
 * logged completely when they are first changed after a checkpoint, so a shorter run would overstate them.
 */
import { baselineDatabase, runBaseline, stageBaseline, type BaselineRows } from '../baselines/baseline.ts';
import { pqsLayout } from '../baselines/pqs-layout.ts';
import { figureOf } from '../figures/figures.ts';
import { printStatus } from '../figures/terminal.ts';
import { runIngest, type IngestOptions } from '../ingest.ts';
import type { RunDatabase } from '../postgres.ts';
import { expectedAfter, type ExpectedCounts, type Profile } from '../replay/profiles.ts';
import { updatesRecording } from '../replay/recording.ts';
import { recordFigure, plainVariant, type Session } from '../session.ts';
import { preloadedCounts, preloadedDatabase } from './preload.ts';

/** Name of a line for growth. @param qualifier name of a baseline; empty for the indexer */
export function growthName(contracts: number, qualifier = ''): string {
  return `growth${qualifier === '' ? '' : `, ${qualifier}`}: ${contracts === 0 ? 'empty' : `over ${String(contracts)}`}`;
}

/** Maximum number of contracts for a baseline. More would provide no new information and take long to create. */
const maxBaselineContracts = 1_000_000;
const growthRounds = 3;
/**
 * The full run has at least 200,000 events. With default settings, less than a cycle would overstate the pages that are
 * logged completely.
 */
const growthTransactions = { quick: 8_000, full: 70_000 } as const;

/** Measures one size after the other, so that only one database is on disk at a time. */
export async function runGrowth(session: Session, profile: Profile): Promise<void> {
  const { options } = session;
  for (const contracts of [0, ...options.growthSizes.filter((size) => size > 0)]) {
    const stagedBaseline = await growthOfIndexer(session, profile, contracts);
    if (stagedBaseline === undefined) continue;
    await growthOfBaseline(session, profile, contracts, stagedBaseline);
    await stagedBaseline.forget();
  }
}

function roundsOf({ options }: Session): readonly number[] {
  return Array.from({ length: Math.min(options.rounds, growthRounds) }, (_, round) => round);
}

/** Runs the rounds of one size. Returns the rows for the baseline, if it is measured at this size. */
async function growthOfIndexer(
  session: Session,
  profile: Profile,
  contracts: number,
): Promise<BaselineRows | undefined> {
  const { server } = session;
  printStatus(`${profile.name}: a database of ${String(contracts)} contracts`);
  const template = contracts === 0 ? undefined : await preloadedDatabase(server, contracts);
  try {
    const run = ingestOf(session, profile, contracts, template);
    const keptBaselines: BaselineRows[] = [];
    const stageRows = async (database: RunDatabase): Promise<void> => {
      if (contracts > maxBaselineContracts || keptBaselines.length > 0) return;
      printStatus(`${profile.name}: rows for ${pqsLayout.name}`);
      const expected = withPreloaded(profile, run.transactions, contracts);
      keptBaselines.push(await stageBaseline(pqsLayout, database, { recording: run.recording, expected }));
    };
    for (const _ of roundsOf(session)) {
      await recordFigure(session, profile.name, growthName(contracts), async () => {
        const ingestResult = await runIngest(run, stageRows);
        return figureOf(ingestResult, ingestResult.events, ingestResult.steady);
      });
    }
    return keptBaselines[0];
  } finally {
    await template?.drop();
  }
}

function ingestOf(
  { options, server }: Session,
  profile: Profile,
  contracts: number,
  template: RunDatabase | undefined,
): IngestOptions {
  const transactions = options.transactions ?? growthTransactions[options.quick ? 'quick' : 'full'];
  const request = { folder: options.cache, profile, count: transactions, preloaded: contracts, say: printStatus };
  return {
    server,
    profile,
    recording: updatesRecording(request),
    transactions,
    variant: plainVariant(options),
    weigh: 'cycle',
    unchecked: !options.check,
    preloaded: preloadedCounts(contracts),
    ...(template === undefined ? {} : { template }),
  };
}

/** Expected counts of the stream; the active contracts are those of the complete database. */
function withPreloaded(profile: Profile, transactions: number, contracts: number): ExpectedCounts {
  const expected = expectedAfter(profile, transactions);
  return { ...expected, active: expected.active + preloadedCounts(contracts).active };
}

async function growthOfBaseline(
  session: Session,
  profile: Profile,
  contracts: number,
  rows: BaselineRows,
): Promise<void> {
  const { server } = session;
  printStatus(`${profile.name}: ${pqsLayout.name} with ${String(contracts)} contracts`);
  const template = contracts === 0 ? undefined : await baselineDatabase(server, pqsLayout, contracts);
  for (const _ of roundsOf(session)) {
    await recordFigure(session, profile.name, growthName(contracts, pqsLayout.name), async () => {
      return figureOf(await runBaseline(server, rows, 'cycle', template), rows.events);
    });
  }
  await template?.drop();
}
