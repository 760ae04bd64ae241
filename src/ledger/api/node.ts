/** The node itself: release, health and its own descriptions. None of these calls needs a right. */
import type { Transport } from '../transport/transport.ts';
import { responseText, type Maybe } from './answer.ts';

export interface VersionResponse {
  /** The release of the participant, e.g. `3.5.10`. */
  readonly version: string;
  /** Limits of the node: page sizes, rights per user, time between OffsetCheckpoints. */
  readonly features?: Maybe<Features>;
}

export interface Features {
  readonly userManagement?: Maybe<{
    readonly supported?: boolean;
    readonly maxRightsPerUser?: number;
    readonly maxUsersPageSize?: number;
  }>;
  readonly partyManagement?: Maybe<{ readonly maxPartiesPageSize?: number }>;
  readonly offsetCheckpoint?: Maybe<{
    readonly maxOffsetCheckpointEmissionDelay?: Maybe<{ readonly seconds?: number; readonly nanos?: number }>;
  }>;
  readonly packageFeature?: Maybe<{ readonly maxVettedPackagesPageSize?: number }>;
  readonly experimental?: unknown;
}

export interface NodeCalls {
  /** `GET /v2/version`; all releases, and without a token. @throws IndexerError LEDGER_NOT_A_LEDGER */
  version(): Promise<VersionResponse>;
  /** `GET /livez`: resolves while the process is running. Documented since 3.5, but present before. */
  livez(): Promise<void>;
  /**
   * `GET /readyz`: the checks as text.
   * @throws IndexerError LEDGER_UNAVAILABLE (503) while the node does not serve requests
   */
  readyz(): Promise<string>;
  /** `GET /docs/openapi`: the description of the HTTP endpoints, YAML. */
  openapi(): Promise<string>;
  /** `GET /docs/asyncapi`: the description of the WebSocket endpoints, YAML. */
  asyncapi(): Promise<string>;
}

export function nodeCalls(transport: Transport): NodeCalls {
  return {
    async version() {
      const response = await transport.request('GET', '/v2/version');
      responseText(response, 'version', '/v2/version');
      return response as VersionResponse;
    },
    async livez() {
      await transport.requestText('GET', '/livez');
    },
    readyz: () => transport.requestText('GET', '/readyz'),
    openapi: () => transport.requestText('GET', '/docs/openapi'),
    asyncapi: () => transport.requestText('GET', '/docs/asyncapi'),
  };
}
