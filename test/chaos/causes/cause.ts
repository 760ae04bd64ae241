/** A cause: something that goes wrong around an indexer, and what every surface of it has to say of that. */
import type { ErrorCode } from '../../../src/errors/catalogue.ts';
import type { CauseWorld, WorldOptions } from './world.ts';

export type CauseGroup = 'Participant' | 'Token' | 'Postgres' | 'Disk' | 'Pooler';

/** What is named, and the state it is named in. */
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
  /** Seconds, where only a time limit shows the cause. */
  readonly within?: number;
  /** After five minutes, if something else than `soon`. */
  readonly later?: Named;
  /** The clock of the indexer is not accelerated. */
  readonly isRealTime?: boolean;
  /** Codes that may be counted besides: of the connection that the cause ended, and of what was tried on the way. */
  readonly also?: readonly ErrorCode[];
  /** Alerts that fire when it has lasted for twenty minutes; all of them. */
  readonly alerts: readonly string[];
  /** Why it cannot be provoked on this machine. */
  readonly missing?: string | undefined;
  readonly world?: WorldOptions;
  readonly provoke: (world: CauseWorld) => Promise<void> | void;
  /** Takes the cause away. Absent: the indexer needs a person, or the world ends with it. */
  readonly end?: (world: CauseWorld) => Promise<void> | void;
}
