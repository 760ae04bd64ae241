/** Everything one sandbox participant is made of; endpoints find their part here. */
import type { Need } from './caller.ts';
import type { Faults } from './faults.ts';
import type { IdentityProviders } from './identity/identity-providers.ts';
import type { Users } from './identity/users.ts';
import type { Ledger } from './ledger.ts';
import type { Packages } from './packages/packages.ts';
import type { Parties } from './parties/parties.ts';
import type { Release } from './release.ts';

export interface Participant {
  readonly ledger: Ledger;
  readonly release: Release;
  /** Scripted misbehaviour, read anew at every use. */
  readonly faults: Faults;
  readonly limits: Limits;
  /** What GET /v2/parties/participant-id asks of its caller. */
  readonly participantIdNeeds: Need;
  readonly packages: Packages;
  readonly parties: Parties;
  readonly users: Users;
  readonly identityProviders: IdentityProviders;
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
  /** Milliseconds after which a request is answered with 503 (`request-timeout`). */
  readonly requestTimeoutMs: number;
}
