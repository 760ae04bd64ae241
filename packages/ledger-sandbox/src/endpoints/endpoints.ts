/** Every endpoint that the sandbox serves, by area. */
import type { Endpoint, StreamEndpoint } from '../api/endpoint.ts';
import { commandEndpoints } from './commands.ts';
import { completionEndpoints, completionStreams } from './completions.ts';
import { contractEndpoints } from './contracts.ts';
import { docsEndpoints } from './docs.ts';
import { externalEndpoints } from './external.ts';
import { identityProviderEndpoints } from './identity-providers.ts';
import { packageEndpoints } from './packages.ts';
import { pageEndpoints } from './pages.ts';
import { partyEndpoints } from './parties.ts';
import { reassignmentEndpoints } from './reassignments.ts';
import { stateEndpoints, stateStreams } from './state.ts';
import { updateLookupEndpoints } from './update-lookups.ts';
import { updateEndpoints, updateStreams } from './updates.ts';
import { userEndpoints } from './users.ts';
import { versionEndpoints } from './version.ts';
import { vettingEndpoints } from './vetting.ts';

const describedEndpoints: readonly Endpoint[] = [
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

export const endpoints: readonly Endpoint[] = [
  ...describedEndpoints,
  ...docsEndpoints(describedEndpoints, streamEndpoints),
];
