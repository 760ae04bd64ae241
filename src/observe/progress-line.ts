/**
 * The words of the progress line: contracts per second while seeding, percent, rate and remaining time while catching
 * up. A remaining time is named only when three samples or more show that the distance shrinks.
 */
import type { HealthTracker } from './health-tracker.ts';

interface Sample {
  readonly atMs: number;
  readonly checkpoint: number;
  readonly ledgerEnd: number;
}

const kept = 30;

export class ProgressLine {
  #from: number | undefined;
  #samples: Sample[] = [];

  /** The line for now; undefined when there is nothing under way. Meant to be asked about once a second. */
  text(health: HealthTracker): string | undefined {
    if (health.phase === 'seeding') {
      const contracts = health.status().seed?.contracts ?? 0;
      return `seeding: ${contracts} contracts, ${Math.round(health.seedRate)}/s`;
    }
    const { checkpoint, ledgerEnd } = health;
    if (health.phase !== 'catching_up' || checkpoint === undefined || ledgerEnd === undefined) {
      this.#from = undefined;
      this.#samples = [];
      return undefined;
    }
    this.#from ??= checkpoint;
    this.#samples = [...this.#samples.slice(1 - kept), { atMs: health.now(), checkpoint, ledgerEnd }];
    return catchUpText(this.#from, this.#samples);
  }
}

/** Text for a catch-up that began at offset `from`, as seen by the samples, oldest first. */
export function catchUpText(from: number, samples: readonly Sample[]): string {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) return 'catching up';
  const whole = Math.max(1, last.ledgerEnd - from);
  const percent = Math.min(100, Math.max(0, (100 * (last.checkpoint - from)) / whole)).toFixed(1);
  const text = `catching up: ${percent} %, offset ${last.checkpoint} of ${last.ledgerEnd}`;
  const elapsed = (last.atMs - first.atMs) / 1000;
  if (samples.length < 3 || elapsed <= 0) return text;
  const rate = (last.checkpoint - first.checkpoint) / elapsed;
  const closing = rate - (last.ledgerEnd - first.ledgerEnd) / elapsed;
  const remaining = closing > 0 ? `, ${span((last.ledgerEnd - last.checkpoint) / closing)} left` : '';
  return `${text}, ${Math.round(rate)} offsets/s${remaining}`;
}

function span(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
