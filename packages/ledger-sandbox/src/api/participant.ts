/** Everything one sandbox participant is made of; endpoints find their part here. */
import type { Need } from '../identity/caller.ts';
import type { Faults } from '../faults/faults.ts';
import type { IdentityProviders } from '../identity/identity-providers.ts';
import type { Users } from '../identity/users.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Limits } from '../wire/limits.ts';
import type { Packages } from '../packages/packages.ts';
import type { Parties } from '../parties/parties.ts';
import type { Release } from '../wire/release.ts';

export interface Participant {
  readonly ledger: Ledger;
  readonly release: Release;
  /** What GET /v2/version says; tokens of one version are of no use to another. */
  readonly version: string;
  /** Scripted misbehavior, read anew at every use. */
  readonly faults: Faults;
  readonly limits: Limits;
  /** What GET /v2/parties/participant-id asks of its caller. */
  readonly participantIdNeeds: Need;
  readonly packages: Packages;
  readonly parties: Parties;
  readonly users: Users;
  readonly identityProviders: IdentityProviders;
}
