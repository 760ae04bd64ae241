/** Inputs and results of `bench:push`. */
import type { Server } from '../postgres.ts';
import type { Profile } from '../replay/profiles.ts';
import type { Recording } from '../replay/recording.ts';

export interface PushOptions {
  readonly server: Server;
  readonly profile: Profile;
  readonly recording: Recording;
  /** Number of transactions of the profile after the opening ones; the length of the recording. */
  readonly transactions: number;
  /** Number of concurrent clients of /changes. */
  readonly clients: number;
  /** Number of filtered subscriptions; 0 to leave out this part. */
  readonly subscriptions: number;
}

/** The report; undefined for parts that were not measured. */
export interface PushFigures {
  /** Rate of deliveries to one webhook from an existing history. */
  readonly deliveries_per_s?: number;
  readonly sse_clients?: number;
  /** Number of events that a receiver or client should have received and did not. */
  readonly lost: number;
  /** Number of events that arrived before an earlier one of the same contract, or of the same stream. */
  readonly reordered: number;
  /**
   * Time from handing an update to the ledger's socket until a client has read its last event, milliseconds; 99th
   * percentile over all clients and updates.
   */
  readonly p99_ms?: number;
  readonly subscriptions?: number;
  /** Events per second from the first frame to the last commit, without and with filtered subscriptions. */
  readonly ingest_alone_per_s?: number | undefined;
  readonly ingest_filtered_per_s?: number | undefined;
  readonly filtered_vs_alone?: number;
  readonly filtered_events?: number;
  /** Time from the last commit until every subscription has reached it. */
  readonly filtered_behind_s?: number;
}

/** One measurement. It leaves nothing behind, and may print more than the report contains. */
export type PushPart = (options: PushOptions) => Promise<PushFigures>;

/** Sums up lost and reordered events of all parts. */
export function merged(pushParts: readonly PushFigures[]): PushFigures {
  const sum = (field: 'lost' | 'reordered'): number =>
    pushParts.reduce((total, pushPart) => total + pushPart[field], 0);
  return Object.assign({}, ...pushParts, { lost: sum('lost'), reordered: sum('reordered') }) as PushFigures;
}
