/** Compares the rows of a run with the rows of an undisturbed run, and counts the differences. */
import type { ChaosDatabase } from '../databases.ts';
import { rowsThatDiffer, type Outcome } from './oracle.ts';
import type { Report } from '../report.ts';

interface Run {
  readonly database: ChaosDatabase;
  readonly outcome: Outcome;
}

/** The differences as sentences; empty if both databases contain the same rows. */
export async function differences(report: Report, expected: Run, found: Run): Promise<readonly string[]> {
  if (expected.outcome.digest === found.outcome.digest) return [];
  const { lost, duplicated, altered, examples } = await rowsThatDiffer(expected.database, found.database);
  report.lost += lost;
  report.duplicated += duplicated;
  report.altered += altered;
  return ['the tables differ from those of an undisturbed run', ...examples];
}
