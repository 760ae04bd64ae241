/** Changes of vetted packages, and the preferred package of a name, which all participants involved have vetted. */
import type { Call, Endpoint } from '../api/endpoint.ts';
import { failure, invalidArgument, missingField } from '../wire/failure.ts';
import { asList, asObject, asText, asTexts } from '../wire/json.ts';
import type { Json } from '../wire/json.ts';
import { compareVersions } from '../packages/package-name.ts';
import type { VettingChange } from '../packages/packages.ts';
import type { Participant } from '../api/participant.ts';
import { numberOf } from '../api/requests.ts';
import { parseTime, requireSynchronizer } from '../ledger/submission-request.ts';
import { vettingBody } from './packages.ts';

/** Ids of the packages that the references of a change match. If several packages match, all are returned. */
function referenced({ packages }: Participant, references: Json | undefined): readonly string[] {
  const packageReferences = asList(references).map((reference) => asObject(reference) ?? {});
  if (packageReferences.length === 0) throw missingField('packages');
  return packageReferences.flatMap((reference) => {
    const [id, name, version] = [
      asText(reference['packageId']),
      asText(reference['packageName']),
      asText(reference['packageVersion']),
    ];
    if (id === '' && name === '') throw invalidArgument('a package reference needs a package_id or a package_name');
    return packages.matching({ id, name, version }).map((archive) => archive.id);
  });
}

/**
 * Parses a change. The times from and until which a package is vetted are ignored: a package is either vetted or not.
 */
function changeOf(participant: Participant, body: Json): VettingChange {
  const operation = asObject(asObject(body)?.['operation']) ?? {};
  const vet = asObject(asObject(operation['Vet'])?.['value']);
  const operationValue = vet ?? asObject(asObject(operation['Unvet'])?.['value']);
  if (operationValue === undefined) throw missingField('operation');
  if ((operationValue['newValidFromInclusive'] ?? operationValue['newValidUntilExclusive'] ?? null) !== null) {
    throw invalidArgument('the sandbox does not support vetting for a limited time');
  }
  return { vets: vet !== undefined, packages: referenced(participant, operationValue['packages']) };
}

/** Refuses a change if the current serial is another one than expected. */
function requireSerial(expectedSerial: Json | undefined, serial: number): void {
  const serialField = asObject(asObject(expectedSerial)?.['serial']) ?? {};
  const priorSerial =
    asObject(serialField['NoPrior']) === undefined ? numberOf(asObject(serialField['Prior'])?.['value']) : 0;
  if (priorSerial === undefined || priorSerial === serial) return;
  const cause = `The given serial ${priorSerial} does not match the actual serial ${serial}`;
  throw failure({ code: 'TOPOLOGY_SERIAL_MISMATCH', category: 9, cause });
}

/**
 * The synchronizer of a request; the first one if none is named. A real participant that has several requires a name.
 */
function synchronizerOf({ participant: { ledger }, body }: Call): string {
  const synchronizerId = asText(body['synchronizerId']);
  if (synchronizerId !== '') requireSynchronizer(ledger, synchronizerId);
  return synchronizerId === '' ? ledger.synchronizers[0].id : synchronizerId;
}

function updateVetted(call: Call): string {
  const { participant, body } = call;
  const { ledger, packages } = participant;
  const changes = asList(body['changes']).map((changeBody) => changeOf(participant, changeBody));
  if (changes.length === 0) throw missingField('changes');
  const synchronizerId = synchronizerOf(call);
  const currentVetting = packages.vetting(synchronizerId);
  requireSerial(body['expectedTopologySerial'], currentVetting.serial);
  const next = packages.change(synchronizerId, changes, body['dryRun'] === true);
  const bodies = {
    pastVettedPackages: vettingBody(ledger, currentVetting),
    newVettedPackages: vettingBody(ledger, next),
  };
  return JSON.stringify(bodies);
}

interface Requirement {
  readonly packageName: string;
  readonly parties: readonly string[];
}

function requirementOf(body: Json): Requirement {
  const requirement = asObject(body) ?? {};
  const [packageName, parties] = [asText(requirement['packageName']), asTexts(requirement['parties'])];
  if (packageName === '') throw missingField('package_name');
  if (parties.length === 0) throw missingField('parties');
  return { packageName, parties };
}

/**
 * The newest vetted package of the name on all participants that host the parties. This participant represents all of
 * them.
 */
function preferredPackage(
  { packages, parties }: Participant,
  synchronizerId: string,
  requirement: Requirement,
): object | undefined {
  if (!requirement.parties.every((party) => parties.permissions(party)?.has(synchronizerId) === true)) return undefined;
  const namedPackages = packages
    .vetting(synchronizerId)
    .packages.filter(({ name }) => name === requirement.packageName);
  const newestPackage = [...namedPackages].sort((a, b) => compareVersions(a.version, b.version)).at(-1);
  return (
    newestPackage && {
      packageId: newestPackage.id,
      packageName: newestPackage.name,
      packageVersion: newestPackage.version,
    }
  );
}

function preferredPackages({ participant, body }: Call): string {
  const { ledger } = participant;
  const requirements = asList(body['packageVettingRequirements']).map(requirementOf);
  if (requirements.length === 0) throw missingField('package_vetting_requirements');
  parseTime(body['vettingValidAt'], 'vetting_valid_at');
  const synchronizerId = asText(body['synchronizerId']);
  if (synchronizerId !== '') requireSynchronizer(ledger, synchronizerId);
  for (const { id } of ledger.synchronizers.filter(
    (synchronizer) => synchronizerId === '' || synchronizer.id === synchronizerId,
  )) {
    const packageReferences = requirements.map((requirement) => preferredPackage(participant, id, requirement));
    if (!packageReferences.includes(undefined)) return JSON.stringify({ packageReferences, synchronizerId: id });
  }
  const names = requirements.map(({ packageName }) => packageName).join(', ');
  const cause = `No synchronizer satisfies the vetting requirements for the package names ${names}`;
  throw failure({ code: 'NO_PREFERRED_PACKAGES_FOUND', category: 9, cause });
}

/** The deprecated lookup of one name. */
function preferredVersion({ participant, query }: Call): string {
  const requirement = requirementOf({ packageName: query.get('package-name') ?? '', parties: query.getAll('parties') });
  for (const { id: synchronizerId } of participant.ledger.synchronizers) {
    const packageReference = preferredPackage(participant, synchronizerId, requirement);
    if (packageReference !== undefined) {
      return JSON.stringify({ packagePreference: { packageReference, synchronizerId } });
    }
  }
  return JSON.stringify({ packagePreference: null });
}

const update = {
  method: 'POST',
  needs: 'admin',
  request: 'UpdateVettedPackagesRequest',
  response: 'UpdateVettedPackagesResponse',
  run: updateVetted,
} as const;

export const vettingEndpoints: readonly Endpoint[] = [
  { ...update, path: '/v2/package-vetting/update', summary: 'Vet and unvet packages', since: '3.5' },
  {
    ...update,
    path: '/v2/package-vetting',
    summary: 'Vet and unvet packages; superseded by the POST of the update',
    last: '3.6',
    deprecatedIn: '3.5',
  },
  {
    method: 'GET',
    path: '/v2/interactive-submission/preferred-package-version',
    summary: 'The newest package of a name that the participants of some parties have vetted',
    query: ['parties', 'package-name', 'vetting_valid_at', 'synchronizer-id'],
    last: '3.6',
    deprecatedIn: '3.4',
    response: 'GetPreferredPackageVersionResponse',
    run: preferredVersion,
  },
  {
    method: 'POST',
    path: '/v2/interactive-submission/preferred-packages',
    summary: 'The newest packages of some names that the participants of some parties have vetted',
    request: 'GetPreferredPackagesRequest',
    response: 'GetPreferredPackagesResponse',
    run: preferredPackages,
  },
];
