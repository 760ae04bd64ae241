/** Packages: what the participant can render and run. */
import type { Endpoint } from '../endpoint.ts';

export const packageEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/v2/packages',
    summary: 'The ids of the uploaded packages',
    response: 'ListPackagesResponse',
    run: ({ participant }) => JSON.stringify({ packageIds: participant.ledger.model.packageIds() }),
  },
];
