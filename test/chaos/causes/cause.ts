/**
 * A cause is a fault in the environment of an indexer. It defines the code and the state that every interface of the
 * indexer must report for it.
 */
import type { ErrorCode } from '../../../src/errors/catalogue.ts';
import type { CauseWorld, WorldOptions } from './world.ts';

export type CauseGroup = 'Participant' | 'Token' | 'Postgres' | 'Disk' | 'Pooler';

/** A state, and the code reported in it. */
export interface AlertCodes {
  /** Absent if nothing fails. */
  readonly code?: ErrorCode;
  readonly state: 'backing_off' | 'parked' | 'live' | 'ledger_timeout' | 'stalled' | 'standby' | 'starting';
}

export interface AlertCause {
  readonly group: CauseGroup;
  /** Text in the table of docs/runbook/causes.md: a sentence without its period. */
  readonly what: string;
  /** Reported within ten seconds, or within `within`. */
  readonly soon: AlertCodes;
  /** Time limit in seconds until the cause is reported; set only if the indexer detects the cause by a timeout. */
  readonly within?: number;
  /** Reported after five minutes, if different from `soon`. */
  readonly later?: AlertCodes;
  /** True if the clock of the indexer must keep its normal speed. */
  readonly isRealTime?: boolean;
  /** Further codes that may be counted. They come from connections that the cause ended, and from retries. */
  readonly also?: readonly ErrorCode[];
  /** All alerts that fire after the cause has lasted for twenty minutes. */
  readonly alerts: readonly string[];
  /** Why the test machine cannot provoke the cause; absent if it can. */
  readonly missing?: string | undefined;
  readonly world?: WorldOptions;
  readonly provoke: (world: CauseWorld) => Promise<void> | void;
  /** Removes the cause. Absent if the indexer needs an operator, or if the test world ends with the cause. */
  readonly end?: (world: CauseWorld) => Promise<void> | void;
}
