/** What the health of a process is judged by, and where it is told. */
import type { WorkClock } from '../figures/work-clock.ts';

export interface HealthOptions {
  readonly version: string;
  /** `host:port/name`, without anything secret. */
  readonly database?: string;
  readonly schema: string;
  readonly stalledAfterMs: number;
  /** Without having learned the ledger end, or received a frame, for so long, nothing is said of it; 10 s by default. */
  readonly blindAfterMs?: number;
  /** Told of every checkpoint that is in the database. */
  readonly onCheckpoint?: (checkpoint: number) => void;
  /** Told once, when everything up to the ledger end is stored for the first time. */
  readonly onLive?: () => void;
  /** Knows where the time of the stream goes. */
  readonly work?: Pick<WorkClock, 'shares'>;
  /** Monotonic milliseconds; `performance.now` by default. */
  readonly now?: () => number;
  /** Milliseconds since 1970; `Date.now` by default. */
  readonly wallNow?: () => number;
}
