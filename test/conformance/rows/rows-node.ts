/** The node and its packages. */
import { expect } from 'vitest';
import { from } from '../../../packages/ledger-sandbox/src/wire/release.ts';
import { darOf, darOfPackage, sealArchive } from '../../../packages/ledger-sandbox/test/packages/dars.ts';
import type { UpdateVettedPackages } from '../../../src/ledger/api/packages.ts';
import type { Call, Case } from './row.ts';

export const nodeCases: readonly Case[] = [
  {
    operation: 'GET /v2/version',
    needs: 'nothing',
    readOnly: true,
    call: ({ client }) => client.node.version(),
    check: (result, { release }) => expect(result).toMatchObject({ version: expect.stringMatching(`^${release}`) }),
  },
  { operation: 'GET /livez', needs: 'nothing', readOnly: true, call: ({ client }) => client.node.livez() },
  {
    operation: 'GET /readyz',
    needs: 'nothing',
    readOnly: true,
    call: ({ client }) => client.node.readyz(),
    check: (result) => expect(result).toContain('readyz check passed'),
    refused: {
      SERVICE_NOT_RUNNING: {
        run: ({ client }) => client.node.readyz(),
        fault: { answer: { as: 'SERVICE_NOT_RUNNING', path: '/readyz', times: 1 } },
      },
    },
  },
  {
    operation: 'GET /docs/openapi',
    needs: 'nothing',
    readOnly: true,
    call: ({ client }) => client.node.openapi(),
    check: (result) => expect(result).toMatch(/^openapi: 3/u),
  },
  {
    operation: 'GET /docs/asyncapi',
    needs: 'nothing',
    readOnly: true,
    call: ({ client }) => client.node.asyncapi(),
    check: (result) => expect(result).toMatch(/^asyncapi: 2/u),
  },
  {
    operation: 'GET /v2/nothing-here',
    needs: 'nothing',
    releases: [],
    readOnly: true,
    call: ({ client }) => client.transport.request('GET', '/v2/nothing-here'),
  },
];

const thingDar = (name: string): Uint8Array => darOfPackage({ name, version: '1.0.0', templates: ['Thing'] });
/** A package with the name and version of the package that every world has, but with other content. */
const clashingDar = darOfPackage({ name: 'conformance', version: '1.0.0', templates: ['Other'] });
const invalidZip = Buffer.from('not a zip');
const invalidArchiveDar = darOf({ 'a.dalf': sealArchive(Buffer.from('not a package')) });
const oversizedDar = (): Buffer => Buffer.alloc(8 * 1024 * 1024 + 1);

const darRefusals: Case['refused'] = {
  INVALID_DAR: ({ client }) => client.packages.validateDar(invalidZip),
  DAR_PARSE_ERROR: ({ client }) => client.packages.validateDar(invalidArchiveDar),
  KNOWN_PACKAGE_VERSION: ({ client }) => client.packages.validateDar(clashingDar),
};

/** Vets or unvets a package: by default the one that every world has. */
function vet(operation: 'Vet' | 'Unvet', overrides: object = {}, packageName = 'conformance'): Call {
  const change = { [operation]: { value: { packages: [{ packageName, packageVersion: '1.0.0' }] } } };
  const changes = [{ operation: change as unknown as UpdateVettedPackages['changes'][number]['operation'] }];
  return ({ client }, { synchronizers }) =>
    client.packages.updateVetted({ changes, synchronizerId: synchronizers[0], ...overrides });
}

export const packageCases: readonly Case[] = [
  {
    operation: 'POST /v2/dars',
    as: 'admin',
    call: ({ client }, { unique }) => client.packages.uploadDar(thingDar(unique('dar'))),
    also: {
      'vetAllPackages=false': ({ client }, { unique }) =>
        client.packages.uploadDar(thingDar(unique('dar')), { vetAllPackages: false }),
      synchronizerId: ({ client }, { unique, synchronizers }) =>
        client.packages.uploadDar(thingDar(unique('dar')), { synchronizerId: synchronizers[0] }),
    },
    body: 'bytes',
    badQuery: ['vetAllPackages', 'synchronizerId'],
    refused: {
      INVALID_DAR: ({ client }) => client.packages.uploadDar(invalidZip),
      DAR_PARSE_ERROR: ({ client }) => client.packages.uploadDar(invalidArchiveDar),
      KNOWN_PACKAGE_VERSION: ({ client }) => client.packages.uploadDar(clashingDar),
      '413 text/plain': ({ client }) => client.packages.uploadDar(oversizedDar()),
    },
  },
  {
    operation: 'POST /v2/dars/validate',
    as: 'admin',
    call: ({ client }, { unique }) => client.packages.validateDar(thingDar(unique('dar'))),
    body: 'bytes',
    badQuery: ['synchronizerId'],
    refused: darRefusals,
  },
  {
    operation: 'POST /v2/packages',
    as: 'admin',
    call: ({ client }, { unique }) => client.packages.upload(thingDar(unique('dar'))),
    body: 'bytes',
    badQuery: ['vetAllPackages', 'synchronizerId'],
    refused: {
      INVALID_DAR: ({ client }) => client.packages.upload(invalidZip),
      KNOWN_PACKAGE_VERSION: ({ client }) => client.packages.upload(clashingDar),
    },
  },
  {
    operation: 'GET /v2/packages',
    needs: 'token',
    readOnly: true,
    call: ({ client }) => client.packages.list(),
    check: (result) => expect((result as string[]).every((id) => /^[0-9a-f]{64}$/u.test(id))).toBe(true),
  },
  {
    operation: 'GET /v2/packages/{package-id}',
    needs: 'token',
    call: ({ client }, { packageId }) => client.packages.content(packageId),
    check: (result, { packageId }) => expect(result).toMatchObject({ hash: packageId }),
    refused: { PACKAGE_NOT_FOUND: ({ client }) => client.packages.content('00') },
  },
  {
    operation: 'GET /v2/packages/{package-id}/status',
    needs: 'token',
    call: ({ client }, { packageId }) => client.packages.status(packageId),
    check: (result) => expect(result).toBe('PACKAGE_STATUS_REGISTERED'),
    also: { 'an unknown id': ({ client }) => client.packages.status('00') },
  },
  {
    operation: 'POST /v2/package-vetting/list',
    needs: 'token',
    call: ({ client }) => client.packages.vetted({ packageMetadataFilter: { packageNamePrefixes: ['conformance'] } }),
    check: (result) => expect(JSON.stringify(result)).toContain('"packageName":"conformance"'),
    body: 'json',
  },
  {
    operation: 'POST /v2/package-vetting/update',
    as: 'admin',
    releases: from('3.5'),
    call: async (session, world) => {
      await vet('Unvet')(session, world);
      return await vet('Vet')(session, world);
    },
    check: (result) => expect(JSON.stringify(result)).toContain('"packageName":"conformance"'),
    also: { dryRun: vet('Unvet', { dryRun: true }) },
    body: 'json',
    refused: {
      PACKAGE_NOT_FOUND: vet('Vet', {}, 'was-not-uploaded'),
      MISSING_FIELD: ({ client }) => client.packages.updateVetted({ changes: [] }),
    },
  },
];
