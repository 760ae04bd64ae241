/** What the page is sent over `/events`: `hello` when it opens, then `tick` every second. Both sides are checked against this. */
import type { StatusDocument } from '../health/health-tracker.ts';
import type { ReadFacts, TemplateFacts, UpdateFacts } from './recent-facts.ts';

/** What a reader of the page may paste. */
export interface PageGuide {
  /** A command that connects to the database, without a secret in it. */
  readonly connect: string;
  /** A sentence on where the password comes from. */
  readonly password: string;
  readonly queries: readonly string[];
}

export interface Hello {
  readonly guide: PageGuide | null;
  /** Whether `/query` answers who looks. */
  readonly mayQuery: boolean;
  /** The oldest first. */
  readonly samples: readonly Sample[];
}

export interface Tick {
  readonly status: Omit<StatusDocument, 'counts' | 'lastError'>;
  readonly sample: Sample | undefined;
  readonly recent: Recent;
}

/** Null: not read yet. */
export interface Recent extends Omit<ReadFacts, 'facts'> {
  readonly templates: readonly RatedTemplate[] | null;
  readonly updates: readonly UpdateFacts[] | null;
}

export interface RatedTemplate extends TemplateFacts {
  /** Events per second of the last seconds. */
  readonly rate: number;
}

/** Time in milliseconds since 1970, updates/s, events/s, milliseconds of a commit, seconds of lag. Null: nothing measured. */
export type Sample = readonly [
  at: number,
  updates: number,
  events: number,
  commitMs: number | null,
  lag: number | null,
];
