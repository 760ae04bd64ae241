/** Daml packages: upload, list, fetch, vetting. */
import { pathSegment } from '../transport/endpoint-url.ts';
import type { Transport } from '../transport/transport.ts';
import { responseField, responseList, responseText, responseTexts, nextPageToken, type Maybe } from './answer.ts';

export interface UploadOptions {
  /** Vet all packages of the archive; the node's default is true. */
  readonly vetAllPackages?: boolean;
  /** Synchronizer to vet the packages on; required when the node is connected to more than one. */
  readonly synchronizerId?: string;
}

export interface PackageContent {
  /** A DALF archive payload (protobuf). */
  readonly bytes: Uint8Array;
  /** Header `Canton-Package-Hash`: lower-case hex, equal to the package id; undefined if a proxy dropped the header. */
  readonly hash: string | undefined;
}

export interface ListVettedPackages {
  readonly packageMetadataFilter?: {
    readonly packageIds?: readonly string[];
    readonly packageNamePrefixes?: readonly string[];
  };
  readonly topologyStateFilter?: {
    readonly participantIds?: readonly string[];
    readonly synchronizerIds?: readonly string[];
  };
  readonly pageToken?: string;
  /** At most `features.packageFeature.maxVettedPackagesPageSize` of the version (100). */
  readonly pageSize?: number;
}

export interface VettedPackages {
  readonly packages?: Maybe<readonly VettedPackage[]>;
  readonly participantId?: string;
  readonly synchronizerId?: string;
  readonly topologySerial?: number;
}

export interface VettedPackage {
  readonly packageId: string;
  readonly packageName?: Maybe<string>;
  readonly packageVersion?: Maybe<string>;
  readonly validFromInclusive?: Maybe<string>;
  readonly validUntilExclusive?: Maybe<string>;
}

interface PackageRef {
  readonly packageId?: string;
  readonly packageName?: string;
  readonly packageVersion?: string;
}

export interface UpdateVettedPackages {
  readonly changes: readonly {
    readonly operation:
      | {
          readonly Vet: {
            readonly value: {
              readonly packages: readonly PackageRef[];
              readonly newValidFromInclusive?: string;
              readonly newValidUntilExclusive?: string;
            };
          };
        }
      | { readonly Unvet: { readonly value: { readonly packages: readonly PackageRef[] } } };
  }[];
  readonly dryRun?: boolean;
  readonly synchronizerId?: string;
  readonly updateVettedPackagesForceFlags?: readonly string[];
}

export interface PackageCalls {
  /**
   * `POST /v2/dars`: uploads a DAR (the bytes of the file); all releases. Right: ParticipantAdmin.
   * @throws IndexerError LEDGER_REQUEST_INVALID for a broken archive or one that breaks upgrade rules (400), or one
   *   larger than the node's largest body (413: 8 MiB on 3.5, 10 MiB on 3.6)
   */
  uploadDar(dar: Uint8Array, options?: UploadOptions): Promise<void>;
  /** `POST /v2/dars/validate`: the same checks as `uploadDar`, without any effect. Right: ParticipantAdmin. */
  validateDar(dar: Uint8Array, options?: Pick<UploadOptions, 'synchronizerId'>): Promise<void>;
  /** `POST /v2/packages`: like `uploadDar`. @deprecated the node announces its removal; use `uploadDar` */
  upload(dar: Uint8Array, options?: UploadOptions): Promise<void>;
  /** `GET /v2/packages`: the ids of all packages; all releases, any authenticated user. */
  list(): Promise<readonly string[]>;
  /** `GET /v2/packages/{package-id}`; any authenticated user. @throws IndexerError (404) for an unknown id */
  content(packageId: string): Promise<PackageContent>;
  /** `GET /v2/packages/{package-id}/status`: `PACKAGE_STATUS_REGISTERED`, or `…_UNSPECIFIED` for an unknown id. */
  status(packageId: string): Promise<string>;
  /**
   * `POST /v2/package-vetting/list`: one page of the packages that each participant vetted on each synchronizer; any
   * authenticated user. 3.5 and later.
   */
  vetted(
    request?: ListVettedPackages,
  ): Promise<{ readonly vettedPackages: readonly VettedPackages[]; readonly nextPageToken: string | undefined }>;
  /** `POST /v2/package-vetting/update`: returns the state after the change. Right: ParticipantAdmin. 3.5 and later. */
  updateVetted(request: UpdateVettedPackages): Promise<VettedPackages>;
}

const hashHeader = 'canton-package-hash';

async function packageContent(transport: Transport, packageId: string): Promise<PackageContent> {
  const { bytes, headers } = await transport.requestBytes('GET', `/v2/packages/${pathSegment(packageId)}`);
  const hash = headers[hashHeader];
  return { bytes, hash: typeof hash === 'string' ? hash : undefined };
}

async function updateVetted(transport: Transport, request: UpdateVettedPackages): Promise<VettedPackages> {
  const path = '/v2/package-vetting/update';
  return responseField(await transport.request('POST', path, request), 'newVettedPackages', path);
}

export function packageCalls(transport: Transport): PackageCalls {
  const upload = async (path: string, dar: Uint8Array, options: UploadOptions = {}): Promise<void> => {
    await transport.requestText('POST', path, dar, { ...options });
  };
  return {
    uploadDar: (dar, options) => upload('/v2/dars', dar, options),
    validateDar: (dar, options) => upload('/v2/dars/validate', dar, options),
    upload: (dar, options) => upload('/v2/packages', dar, options),
    list: async () => responseTexts(await transport.request('GET', '/v2/packages'), 'packageIds', '/v2/packages'),
    content: (packageId) => packageContent(transport, packageId),
    async status(packageId) {
      const path = `/v2/packages/${pathSegment(packageId)}/status`;
      return responseText(await transport.request('GET', path), 'packageStatus', path);
    },
    async vetted(request = {}) {
      const path = '/v2/package-vetting/list';
      const response = await transport.request('POST', path, request);
      const vettedPackages = responseList(response, 'vettedPackages', path) as readonly VettedPackages[];
      return { vettedPackages, nextPageToken: nextPageToken(response) };
    },
    updateVetted: (request) => updateVetted(transport, request),
  };
}
