/**
 * A cause: something that goes wrong around an indexer, and the report of it that every surface of the indexer has to
 * give.
 */
import type { ErrorCode } from '../../../src/errors/catalogue.ts';
import type { CauseWorld, WorldOptions } from './world.ts';

export type CauseGroup = 'Participant' | 'Token' | 'Postgres' | 'Disk' | 'Pooler';

/** The reported code, and the state it is reported in. */
export interface Named {
  /** Absent where nothing fails. */
  readonly code?: ErrorCode;
  readonly state: 'backing_off' | 'parked' | 'live' | 'ledger_timeout' | 'stalled' | 'standby' | 'starting';
}

export interface Cause {
  readonly group: CauseGroup;
  /** As in the table of docs/runbook/causes.md: a sentence without its full stop. */
  readonly what: string;
  /** Within ten seconds, or `within`. */
  readonly soon: Named;
  /** Seconds; only if the indexer detects the cause by a time limit. */
  readonly within?: number;
  /** After five minutes, if different from `soon`. */
  readonly later?: Named;
  /** The clock of the indexer is not accelerated. */
  readonly isRealTime?: boolean;
  /** Further codes that may be counted: of the connection that the cause ended, and of retries until then. */
  readonly also?: readonly ErrorCode[];
  /** Alerts that fire when it has lasted for twenty minutes; all of them. */
  readonly alerts: readonly string[];
  /** Why it cannot be provoked on this machine. */
  readonly missing?: string | undefined;
  readonly world?: WorldOptions;
  readonly provoke: (world: CauseWorld) => Promise<void> | void;
  /** Removes the cause. Absent: the indexer needs an operator, or the world ends with it. */
  readonly end?: (world: CauseWorld) => Promise<void> | void;
}
