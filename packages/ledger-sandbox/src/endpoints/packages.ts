/** Packages: upload of DARs, lookup of packages, and vetting by synchronizer. */
import type { Answer, Call, Endpoint } from '../api/endpoint.ts';
import { UndecodableRequest } from '../wire/failure.ts';
import { asObject, asText, asTexts } from '../wire/json.ts';
import { pageOf } from '../wire/page.ts';
import type { Participant } from '../api/participant.ts';
import type { Vetting } from '../packages/packages.ts';

/** `maxVettedPackagesPageSize` of GET /v2/version. */
const largestVettingPage = 100;

/**
 * The synchronizers to vet on: the requested one, otherwise all. A real participant requires one if it is connected to
 * several. The sandbox does not, because clients of one synchronizer never name it.
 */
function synchronizersIn({ participant, query }: Call): readonly string[] {
  const ids = participant.ledger.synchronizers.map(({ id }) => id);
  const synchronizerId = query.get('synchronizerId') ?? '';
  if (synchronizerId === '') return ids;
  if (!ids.includes(synchronizerId)) throw new UndecodableRequest('query parameter synchronizerId');
  return [synchronizerId];
}

function isVettingRequested(query: URLSearchParams): boolean {
  const vetAllPackages = query.get('vetAllPackages') ?? 'true';
  if (vetAllPackages !== 'true' && vetAllPackages !== 'false')
    throw new UndecodableRequest('query parameter vetAllPackages');
  return vetAllPackages === 'true';
}

function upload(call: Call): string {
  const vets = isVettingRequested(call.query);
  const synchronizerIds = synchronizersIn(call);
  call.participant.packages.upload(call.bytes, vets ? synchronizerIds : []);
  return '{}';
}

function download({ participant, path }: Call): Answer {
  const id = path['package-id'] ?? '';
  const content = Buffer.from(participant.packages.payload(id));
  return { type: 'application/octet-stream', content, headers: { 'Canton-Package-Hash': id } };
}

function status({ participant, path }: Call): string {
  const isKnown = participant.packages.has(path['package-id'] ?? '');
  return JSON.stringify({ packageStatus: `PACKAGE_STATUS_${isKnown ? 'REGISTERED' : 'UNSPECIFIED'}` });
}

/** Whether a list contains the value; an empty list contains all. */
function names(list: readonly string[], value: string): boolean {
  return list.length === 0 || list.includes(value);
}

/** A `VettedPackages` for a response. */
export function vettingBody(
  { participantId }: Participant['ledger'],
  { packages, serial, synchronizerId }: Vetting,
): unknown {
  const bodies = packages.map(({ id, name, version }) => ({
    packageId: id,
    validFromInclusive: null,
    validUntilExclusive: null,
    packageName: name,
    packageVersion: version,
  }));
  return { packages: bodies, participantId, synchronizerId, topologySerial: serial };
}

function listVetted({ participant, body }: Call): string {
  const { ledger } = participant;
  const metadata = asObject(body['packageMetadataFilter']) ?? {};
  const ids = asTexts(metadata['packageIds']);
  const prefixes = asTexts(metadata['packageNamePrefixes']);
  const isUnfiltered = ids.length + prefixes.length === 0;
  const topology = asObject(body['topologyStateFilter']) ?? {};
  const vettings = ledger.synchronizers
    .filter(({ id }) => names(asTexts(topology['synchronizerIds']), id))
    .filter(() => names(asTexts(topology['participantIds']), ledger.participantId))
    .map(({ id }) => participant.packages.vetting(id))
    .map((vetting) => ({
      ...vetting,
      packages: vetting.packages.filter(
        ({ id, name }) => isUnfiltered || ids.includes(id) || prefixes.some((prefix) => name.startsWith(prefix)),
      ),
    }))
    .filter(({ packages }) => packages.length > 0)
    .sort((a, b) => (a.synchronizerId < b.synchronizerId ? -1 : 1));
  const size = typeof body['pageSize'] === 'number' ? body['pageSize'] : 0;
  const request = { size, token: asText(body['pageToken']) };
  const page = pageOf(vettings, ({ synchronizerId }) => synchronizerId, request, largestVettingPage);
  const vettedPackages = page.elements.map((vetting) => vettingBody(ledger, vetting));
  return JSON.stringify({ vettedPackages, nextPageToken: page.nextPageToken });
}

const uploads = {
  method: 'POST',
  needs: 'admin',
  takes: 'bytes',
  query: ['vetAllPackages', 'synchronizerId'],
  response: 'UploadDarFileResponse',
  run: upload,
} as const;

const vettedList = {
  request: 'ListVettedPackagesRequest',
  response: 'ListVettedPackagesResponse',
  takes: 'json',
  run: listVetted,
} as const;

export const packageEndpoints: readonly Endpoint[] = [
  { ...uploads, path: '/v2/dars', summary: 'Upload a DAR' },
  {
    method: 'POST',
    path: '/v2/dars/validate',
    summary: 'Check a DAR without storing it',
    needs: 'admin',
    takes: 'bytes',
    query: ['synchronizerId'],
    run: (call) => {
      call.participant.packages.validate(call.bytes, synchronizersIn(call));
      return { type: '', content: '' };
    },
  },
  { ...uploads, path: '/v2/packages', summary: 'Upload a DAR, as /v2/dars does' },
  {
    method: 'GET',
    path: '/v2/packages',
    summary: 'The ids of the packages',
    response: 'ListPackagesResponse',
    run: ({ participant }) => JSON.stringify({ packageIds: participant.packages.ids() }),
  },
  {
    method: 'GET',
    path: '/v2/packages/{package-id}',
    summary: 'The archive of a package',
    run: download,
  },
  {
    method: 'GET',
    path: '/v2/packages/{package-id}/status',
    summary: 'Whether the participant has a package',
    response: 'GetPackageStatusResponse',
    run: status,
  },
  {
    ...vettedList,
    method: 'GET',
    path: '/v2/package-vetting',
    summary: 'The vetted packages; superseded by the POST of the list',
    last: '3.6',
    deprecatedIn: '3.5',
  },
  { ...vettedList, method: 'POST', path: '/v2/package-vetting/list', summary: 'The vetted packages' },
];
