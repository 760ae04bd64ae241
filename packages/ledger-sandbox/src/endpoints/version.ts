/** Version and health: requests that a client may send first. */
import type { Endpoint } from '../api/endpoint.ts';

const features = {
  experimental: { staticTime: { supported: false }, commandInspectionService: { supported: true } },
  userManagement: { supported: true, maxRightsPerUser: 1000, maxUsersPageSize: 1000 },
  partyManagement: { maxPartiesPageSize: 10_000 },
  offsetCheckpoint: {
    maxOffsetCheckpointEmissionDelay: { seconds: 75, nanos: 0, unknownFields: { fields: {} } },
  },
  packageFeature: { maxVettedPackagesPageSize: 100 },
};

const readyText = '[+] ledger ok (SERVING)\nreadyz check passed\n';
const readiness = { type: 'text/plain; charset=UTF-8', content: readyText };

export const versionEndpoints: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/v2/version',
    summary: 'The release and the features of the participant',
    response: 'GetLedgerApiVersionResponse',
    needs: 'none',
    run: ({ participant }) => JSON.stringify({ version: participant.version, features }),
  },
  {
    method: 'GET',
    path: '/livez',
    summary: 'Whether the process is alive',
    needs: 'none',
    run: () => ({ type: '', content: '' }),
  },
  ...(['/health/liveness', '/health/readiness'] as const).map((path): Endpoint => ({
    method: 'GET',
    path,
    summary: 'The same as /livez and /readyz, under other names',
    since: '3.6',
    needs: 'none',
    run: () => (path === '/health/liveness' ? { type: '', content: '' } : readiness),
  })),
  {
    method: 'GET',
    path: '/readyz',
    summary: 'Whether the participant serves requests',
    needs: 'none',
    run: () => readiness,
  },
];
