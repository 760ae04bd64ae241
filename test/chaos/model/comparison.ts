/** Compares the rows of a run with the rows of an undisturbed run, and counts the differences. */
import type { ChaosDatabase } from '../databases.ts';
import { differingRowsOf, type RunOutcome } from './oracle.ts';
import type { Report } from '../report.ts';

interface Run {
  readonly database: ChaosDatabase;
  readonly outcome: RunOutcome;
}

/** The differences as sentences; empty if both databases contain the same rows. */
export async function differences(report: Report, expected: Run, actual: Run): Promise<readonly string[]> {
  if (expected.outcome.digest === actual.outcome.digest) return [];
  const {
    lost: lostCount,
    duplicated: duplicatedCount,
    altered: alteredCount,
    examples,
  } = await differingRowsOf(expected.database, actual.database);
  report.lost += lostCount;
  report.duplicated += duplicatedCount;
  report.altered += alteredCount;
  return ['the tables differ from those of an undisturbed run', ...examples];
}
