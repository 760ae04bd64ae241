/** A row of the conformance table: one operation, one outcome, and the call by which a client gets it. */
import type { LedgerClient } from '../../../src/ledger/api/client.ts';
import type { StreamPath } from '../../../src/ledger/transport/frame-stream.ts';
import type { Faults } from '../../../packages/ledger-sandbox/src/faults/faults.ts';
import type { Release } from '../../../packages/ledger-sandbox/src/wire/release.ts';
import type { Outcome } from '../outcomes.ts';
import type { World } from '../world.ts';

/**
 * `admin` administers, reads and acts for all parties of the world; `reader` reads as any party; `nobody` is a user
 * without a right; `stranger` sends no token.
 */
export type UserName = 'admin' | 'reader' | 'nobody' | 'stranger';

/** The client of one user. */
export interface Session {
  readonly client: LedgerClient;
  /**
   * Opens a stream and resolves with its frames when the participant ends it, or once there are `enough` of them.
   * Rejects with the IndexerError it ended with.
   */
  readonly stream: (path: StreamPath, request: object, enough?: number) => Promise<readonly string[]>;
}

export type Call = (session: Session, world: World) => Promise<unknown>;

export interface Refusal {
  readonly run: Call;
  /** The user of the case unless given. */
  readonly as?: UserName;
  /** The releases of the case unless given. */
  readonly releases?: readonly Release[];
  readonly fault?: Faults;
  /** Needs a feature that only a sandbox has, although the operation is read-only. */
  readonly inSandbox?: boolean;
}

/** One operation: a call that succeeds, and calls that the participant rejects. */
export interface Case {
  /** As the descriptions name it, e.g. `GET /v2/packages/{package-id}` or `WS /v2/updates`. */
  readonly operation: string;
  /** `reader` unless given. */
  readonly as?: UserName;
  /** Credentials of the caller: none, a valid token, or (unless given) a right, too. */
  readonly needs?: 'nothing' | 'token' | 'right';
  /** Releases that have the operation; all unless given. */
  readonly releases?: readonly Release[];
  /** Whether 3.6 refuses it by default, and later releases do not have it. */
  readonly deprecated?: boolean;
  /** Changes nothing and needs only a participant with some history: suitable for any participant. */
  readonly readOnly?: boolean;
  readonly call: Call;
  readonly check?: (result: unknown, world: World) => void;
  /** Further ways to succeed, by name; for sandboxes. */
  readonly also?: Readonly<Record<string, Call | Pick<Refusal, 'run' | 'releases'>>>;
  /** A body the decoder refuses, for operations with one: `json` for half an object, `bytes` for nothing at all. */
  readonly body?: 'json' | 'bytes';
  /** Query parameters with a value of the wrong type, by name. */
  readonly badQuery?: readonly string[];
  /** Ways to be refused, by outcome. */
  readonly refused?: Partial<Readonly<Record<Outcome, Call | Refusal>>>;
}

export interface Row {
  readonly operation: string;
  /** `success`, or `success (<variant>)`. */
  readonly outcome: Outcome | `success${string}`;
  /** Distinguishes rows of the same outcome. */
  readonly how: string;
  readonly as: UserName;
  readonly releases: readonly Release[];
  readonly readOnly: boolean;
  readonly fault: Faults | undefined;
  readonly call: Call;
  readonly check: (result: unknown, world: World) => void;
}
