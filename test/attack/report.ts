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
    findings: results.filter(({ held: isHeld }) => !isHeld).length,
    crashed: results.filter(({ crashed }) => crashed).length,
    ingestion_stopped_s: Math.max(0, ...results.map((result) => result.ingestionStoppedSeconds)),
    results,
  };
}

/** Whether every promise was kept, no process crashed, and ingestion was never interrupted for too long. */
export function isPassing({ findings, crashed: hasCrashed, ingestion_stopped_s: stopped }: Report): boolean {
  return findings === 0 && hasCrashed === 0 && stopped <= longestStop;
}

/** The lines for results that are findings, crashes or long interruptions. */
export function findingLines({ results }: Report): readonly string[] {
  return results.flatMap(
    ({
      group,
      id,
      expected,
      seen: observation,
      held: isHeld,
      crashed: hasCrashed,
      ingestionStoppedSeconds: stopped,
    }) => [
      ...(isHeld ? [] : [`finding ${group}/${id}: expected ${expected}; seen ${observation}`]),
      ...(hasCrashed ? [`crash ${group}/${id}: the indexer ended; ${observation}`] : []),
      ...(stopped > longestStop ? [`stop ${group}/${id}: ingestion stopped ${stopped.toFixed(1)} s`] : []),
    ],
  );
}

export function lastLine({ attempts, findings, crashed: hasCrashed, ingestion_stopped_s: stopped }: Report): string {
  const counts = [`${String(attempts)} attempts`, `${String(findings)} findings`, `${String(hasCrashed)} crashed`];
  return `${counts.join(', ')}, ingestion stopped at most ${stopped.toFixed(1)} s`;
}
