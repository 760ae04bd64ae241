/**
 * Text of the progress line. During a seed, it contains contracts per second. During a catch-up, it contains the
 * percentage, the rate and the remaining time.
 */
import { catchUpProgress, type CatchUpProgress, type CatchUpSample } from '../figures/lag.ts';
import type { HealthTracker } from '../health/health-tracker.ts';

export class ProgressLine {
  /** The current line; undefined if neither a seed nor a catch-up is running. Call it once a second. */
  text(health: HealthTracker): string | undefined {
    const { seed, catchUp, checkpoint, ledgerEnd } = health.status();
    if (health.phase === 'seeding') {
      return `seeding: ${seed?.contracts ?? 0} contracts, ${Math.round(health.throughput.seedContractsPerSecond)}/s`;
    }
    if (catchUp === null) return undefined;
    return progressText(catchUp, checkpoint ?? 0, ledgerEnd ?? 0);
  }
}

/** Text for a catch-up that began at offset `from`. Samples are sorted, with the oldest first. */
export function catchUpText(from: number, samples: readonly CatchUpSample[]): string {
  const progress = catchUpProgress(from, samples);
  const last = samples.at(-1);
  if (progress === undefined || last === undefined) return 'catching up';
  return progressText(progress, last.checkpoint, last.ledgerEnd);
}

function progressText(progress: CatchUpProgress, checkpoint: number, ledgerEnd: number): string {
  const { percent, offsetsPerSecond, etaSeconds } = progress;
  const text = `catching up: ${percent.toFixed(1)} %, offset ${checkpoint} of ${ledgerEnd}`;
  if (offsetsPerSecond === null) return text;
  const remaining = etaSeconds === null ? '' : `, ${span(etaSeconds)} left`;
  return `${text}, ${Math.round(offsetsPerSecond)} offsets/s${remaining}`;
}

function span(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
