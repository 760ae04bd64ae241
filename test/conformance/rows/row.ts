/** A row of the conformance table: an operation, an outcome, and the call with which a client gets the outcome. */
import type { LedgerClient } from '../../../src/ledger/api/client.ts';
import type { StreamPath } from '../../../src/ledger/transport/frame-stream.ts';
import type { Faults } from '../../../packages/ledger-sandbox/src/faults/faults.ts';
import type { Release } from '../../../packages/ledger-sandbox/src/wire/release.ts';
import type { OutcomeName } from '../outcomes.ts';
import type { World } from '../world.ts';

/**
 * `admin` administers, reads and acts for all parties of the world. `reader` reads as any party. `nobody` is a user
 * without rights. `stranger` sends no token.
 */
export type UserName = 'admin' | 'reader' | 'nobody' | 'stranger';

/** The client of one user. */
export interface Session {
  readonly client: LedgerClient;
  /**
   * Opens a stream, and resolves to its frames when the participant ends it or after `enough` frames. Rejects with the
   * IndexerError that ended it.
   */
  readonly stream: (path: StreamPath, request: object, enough?: number) => Promise<readonly string[]>;
}

export type Call = (session: Session, world: World) => Promise<unknown>;

export interface Refusal {
  readonly run: Call;
  /** User of the row; by default the user of the case. */
  readonly as?: UserName;
  /** Releases of the row; by default the releases of the case. */
  readonly releases?: readonly Release[];
  readonly fault?: Faults;
  /** Whether the row needs a feature that only a sandbox has, although the operation is read-only. */
  readonly inSandbox?: boolean;
}

/** One operation: a call that succeeds, and calls that the participant rejects. */
export interface Case {
  /** Name in the descriptions, such as `GET /v2/packages/{package-id}` or `WS /v2/updates`. */
  readonly operation: string;
  /** User of the successful call; `reader` by default. */
  readonly as?: UserName;
  /** The credentials that the call needs: none, a valid token, or a token with a right; `right` by default. */
  readonly needs?: 'nothing' | 'token' | 'right';
  /** Releases that have the operation; all by default. */
  readonly releases?: readonly Release[];
  /** Whether 3.6 refuses the operation by default and later releases do not have the operation. */
  readonly deprecated?: boolean;
  /** Whether the call can run on any participant, because it changes nothing and only needs some history. */
  readonly readOnly?: boolean;
  readonly call: Call;
  readonly check?: (result: unknown, world: World) => void;
  /** Further successful calls, by name; only on sandboxes. */
  readonly also?: Readonly<Record<string, Call | Pick<Refusal, 'run' | 'releases'>>>;
  /**
   * Kind of invalid body to send: `json` for incomplete JSON, `bytes` for an empty body. Absent if the operation has no
   * body.
   */
  readonly body?: 'json' | 'bytes';
  /** Names of query parameters that are tried with a value of the wrong type. */
  readonly badQuery?: readonly string[];
  /** Calls that are refused, by outcome. */
  readonly refused?: Partial<Readonly<Record<OutcomeName, Call | Refusal>>>;
}

export interface Row {
  readonly operation: string;
  /** An outcome, `success`, or `success (<variant>)`. */
  readonly outcome: OutcomeName | `success${string}`;
  /** Distinguishes rows with the same outcome. */
  readonly how: string;
  readonly as: UserName;
  readonly releases: readonly Release[];
  readonly readOnly: boolean;
  readonly fault: Faults | undefined;
  readonly call: Call;
  readonly check: (result: unknown, world: World) => void;
}
