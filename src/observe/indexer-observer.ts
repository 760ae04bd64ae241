/**
 * Observers of the pipeline. They update metrics and health, and write one log line per change of state and one status
 * line every ten seconds. They never write a line per update, and never a payload.
 */
import type { Observers } from '../pipeline/ports/observer.ts';
import { WorkTimer } from './figures/work-clock.ts';
import type { HealthTracker } from './health/health-tracker.ts';
import { CompletionReport } from './log/completion-report.ts';
import { InterfaceReport } from './log/interface-report.ts';
import type { Logger } from './log/logger.ts';
import { PackageReport } from './log/package-report.ts';
import { PollReport } from './log/poll-report.ts';
import { ProgressLine } from './log/progress-line.ts';
import { ReleaseReport } from './log/release-report.ts';
import { ProjectionReport } from './log/projection-report.ts';
import { RetentionReport } from './log/retention-report.ts';
import { SeedReport } from './log/seed-report.ts';
import { StreamReport } from './log/stream-report.ts';
import { TrafficReport } from './log/traffic-report.ts';
import { FilterExtensionReport } from './log/filter-extension-report.ts';
import { JobReport } from './log/job-report.ts';
import type { Metrics } from './metrics/metrics.ts';

export interface ObserverParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly health: HealthTracker;
  /** Measures how much time the stream spends on each activity. */
  readonly work?: WorkTimer;
  /** Updates the progress line of a terminal; undefined if there is none. */
  readonly progress?: ((text: string | undefined) => void) | undefined;
  readonly statusEveryMs?: number;
}

/** Observers that must be closed, because otherwise their last progress line remains on the terminal. */
export interface IndexerObservers extends Observers {
  /** Called when everything up to this offset is in the database. */
  checkpointReached(checkpoint: number): void;
  close(): void;
}

export function createObservers(parts: ObserverParts): IndexerObservers {
  const { metrics, health, work = new WorkTimer(), progress, statusEveryMs = 10_000 } = parts;
  const progressLine = new ProgressLine();
  const printProgress = (): void => progress?.(progressLine.text(health));
  const stream = new StreamReport({ ...parts, work, onPhase: printProgress });
  const polls = new PollReport(parts);
  const timers = [setInterval(() => logStatus(parts, stream), statusEveryMs).unref()];
  if (progress !== undefined) timers.push(setInterval(printProgress, 1000).unref());
  return {
    stream,
    polls,
    seed: new SeedReport(parts),
    release: new ReleaseReport(parts),
    packages: new PackageReport(parts),
    interfaces: new InterfaceReport(parts),
    filterExtension: new FilterExtensionReport(parts),
    completions: new CompletionReport(parts),
    retention: new RetentionReport(parts),
    projections: new ProjectionReport(parts),
    traffic: new TrafficReport(parts),
    jobs: new JobReport(parts),
    checkpointReached: (checkpoint) => {
      health.checkpointReached(checkpoint);
      metrics.checkpoint.set(checkpoint);
      polls.showHeadroom();
    },
    close: () => {
      for (const timer of timers) clearInterval(timer);
      progress?.(undefined);
    },
  };
}

function logStatus({ health, logger, progress }: ObserverParts, { phase }: StreamReport): void {
  // On a terminal, the progress line already has the same content.
  if (progress !== undefined && (phase === 'seeding' || phase === 'catching_up')) return;
  const { state, checkpoint, ledgerEnd, offsetsBehind, lagSeconds, updatesPerSecond, eventsPerSecond } =
    health.status();
  const facts = { state, checkpoint, ledgerEnd, offsetsBehind, lagSeconds, updatesPerSecond, eventsPerSecond };
  if (state === 'stalled' || state === 'ledger_timeout')
    logger.warn({ ...facts, reason: health.verdict().reason }, 'status');
  else logger.info(facts, 'status');
}
