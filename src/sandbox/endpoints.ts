/** Every endpoint the sandbox serves, by area. */
import type { Endpoint, StreamEndpoint } from './endpoint.ts';
import { commandEndpoints } from './endpoints/commands.ts';
import { packageEndpoints } from './endpoints/packages.ts';
import { partyEndpoints } from './endpoints/parties.ts';
import { stateEndpoints, stateStreams } from './endpoints/state.ts';
import { updateEndpoints, updateStreams } from './endpoints/updates.ts';
import { versionEndpoints } from './endpoints/version.ts';

export const endpoints: readonly Endpoint[] = [
  ...versionEndpoints,
  ...stateEndpoints,
  ...updateEndpoints,
  ...commandEndpoints,
  ...packageEndpoints,
  ...partyEndpoints,
];

export const streamEndpoints: readonly StreamEndpoint[] = [...updateStreams, ...stateStreams];
