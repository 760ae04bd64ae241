/** Everything one sandbox participant is made of; endpoints find their part here. */
import type { Faults } from './faults.ts';
import type { Ledger } from './ledger.ts';
import type { Release } from './release.ts';

export interface Participant {
  readonly ledger: Ledger;
  readonly release: Release;
  /** Scripted misbehaviour, read anew at every use. */
  readonly faults: Faults;
  readonly limits: Limits;
}

export interface Limits {
  /** Milliseconds between OffsetCheckpoints of a stream. */
  readonly checkpointIntervalMs: number;
  /** Most elements of a list answer (`http-list-max-elements-limit`). */
  readonly listElements: number;
  /** Milliseconds of silence that end an open list (`http-list-wait-time`). */
  readonly listWaitMs: number;
  /** Bytes of a request body. */
  readonly bodyBytes: number;
}
