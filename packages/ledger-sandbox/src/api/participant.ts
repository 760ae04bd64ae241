/** The parts of one sandbox participant. Endpoints use them. */
import type { RequiredRight } from '../identity/caller.ts';
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
  /** The version in GET /v2/version. Tokens of one version are not valid for another. */
  readonly version: string;
  /** Scripted faults, read again at every use. */
  readonly faults: Faults;
  readonly limits: Limits;
  /** The right that GET /v2/parties/participant-id requires of its caller. */
  readonly participantIdNeeds: RequiredRight;
  readonly packages: Packages;
  readonly parties: Parties;
  readonly users: Users;
  readonly identityProviders: IdentityProviders;
}
