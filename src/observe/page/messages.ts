/**
 * Messages of `/events`: `hello` when the page opens, then `tick` every second. Both sides are type-checked against
 * these types.
 */
import type { StatusDocument } from '../health/health-tracker.ts';
import type { RecentFactsResult, TemplateFacts, UpdateFacts } from './recent-facts.ts';

/** Commands that users of the page can copy. */
export interface PageGuide {
  /** A command that connects to the database. It contains no secret. */
  readonly connect: string;
  /** A sentence on where to find the password. */
  readonly password: string;
  readonly queries: readonly string[];
}

export interface HelloMessage {
  readonly guide: PageGuide | null;
  /** Whether the viewer may use `/query`. */
  readonly mayQuery: boolean;
  /** The oldest sample first. */
  readonly samples: readonly Sample[];
}

export interface TickMessage {
  readonly status: Omit<StatusDocument, 'counts' | 'lastError'>;
  readonly sample: Sample | undefined;
  readonly recent: Recent;
}

/** Facts from the database; null if they were not read yet. */
export interface Recent extends Omit<RecentFactsResult, 'facts'> {
  readonly templates: readonly RatedTemplate[] | null;
  readonly updates: readonly UpdateFacts[] | null;
}

export interface RatedTemplate extends TemplateFacts {
  /** Events per second, averaged over the last seconds. */
  readonly rate: number;
}

/**
 * Time in milliseconds since 1970, updates/s, events/s, commit time in milliseconds, lag in seconds. Null if nothing
 * was measured.
 */
export type Sample = readonly [
  at: number,
  updates: number,
  events: number,
  commitMs: number | null,
  lag: number | null,
];
