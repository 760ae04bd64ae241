/** Every endpoint the sandbox serves, by area. */
import type { Endpoint, StreamEndpoint } from './endpoint.ts';
import { commandEndpoints } from './endpoints/commands.ts';
import { completionEndpoints, completionStreams } from './endpoints/completions.ts';
import { contractEndpoints } from './endpoints/contracts.ts';
import { docsEndpoints } from './endpoints/docs.ts';
import { externalEndpoints } from './endpoints/external.ts';
import { identityProviderEndpoints } from './endpoints/identity-providers.ts';
import { packageEndpoints } from './endpoints/packages.ts';
import { pageEndpoints } from './endpoints/pages.ts';
import { partyEndpoints } from './endpoints/parties.ts';
import { reassignmentEndpoints } from './endpoints/reassignments.ts';
import { stateEndpoints, stateStreams } from './endpoints/state.ts';
import { updateLookupEndpoints } from './endpoints/update-lookups.ts';
import { updateEndpoints, updateStreams } from './endpoints/updates.ts';
import { userEndpoints } from './endpoints/users.ts';
import { versionEndpoints } from './endpoints/version.ts';
import { vettingEndpoints } from './endpoints/vetting.ts';

const described: readonly Endpoint[] = [
  ...versionEndpoints,
  ...stateEndpoints,
  ...updateEndpoints,
  ...updateLookupEndpoints,
  ...contractEndpoints,
  ...pageEndpoints,
  ...commandEndpoints,
  ...reassignmentEndpoints,
  ...completionEndpoints,
  ...externalEndpoints,
  ...packageEndpoints,
  ...vettingEndpoints,
  ...partyEndpoints,
  ...userEndpoints,
  ...identityProviderEndpoints,
];

export const streamEndpoints: readonly StreamEndpoint[] = [...updateStreams, ...stateStreams, ...completionStreams];

export const endpoints: readonly Endpoint[] = [...described, ...docsEndpoints(described, streamEndpoints)];
