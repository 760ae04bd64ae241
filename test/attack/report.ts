/** Formats the results of a run as lines and as JSON. */
import type { Result } from './campaign.ts';

/**
 * Longest interruption of ingestion that counts as normal, in seconds. A busy machine can cause such an interruption
 * without an attack.
 */
const longestStop = 2;

export interface Report {
  readonly attempts: number;
  readonly findings: number;
  readonly crashed: number;
  readonly ingestion_stopped_s: number;
  readonly results: readonly Result[];
}

export function reportOf(results: readonly Result[]): Report {
  return {
    attempts: results.length,
    findings: results.filter(({ held }) => !held).length,
    crashed: results.filter(({ crashed }) => crashed).length,
    ingestion_stopped_s: Math.max(0, ...results.map((result) => result.ingestionStoppedSeconds)),
    results,
  };
}

/** Whether every promise was kept, no process crashed, and ingestion was never interrupted for too long. */
export function isGood({ findings, crashed, ingestion_stopped_s: stopped }: Report): boolean {
  return findings === 0 && crashed === 0 && stopped <= longestStop;
}

/** The lines for results that are findings, crashes or long interruptions. */
export function findingLines({ results }: Report): readonly string[] {
  return results.flatMap(({ group, id, expected, seen, held, crashed, ingestionStoppedSeconds: stopped }) => [
    ...(held ? [] : [`finding ${group}/${id}: expected ${expected}; seen ${seen}`]),
    ...(crashed ? [`crash ${group}/${id}: the indexer ended; ${seen}`] : []),
    ...(stopped > longestStop ? [`stop ${group}/${id}: ingestion stopped ${stopped.toFixed(1)} s`] : []),
  ]);
}

export function lastLine({ attempts, findings, crashed, ingestion_stopped_s: stopped }: Report): string {
  const counts = [`${String(attempts)} attempts`, `${String(findings)} findings`, `${String(crashed)} crashed`];
  return `${counts.join(', ')}, ingestion stopped at most ${stopped.toFixed(1)} s`;
}
