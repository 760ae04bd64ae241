/**
 * The sandbox reads DARs as the participant does, and refuses them with the same error codes. Packages can be
 * downloaded and vetted.
 */
import { createHash } from 'node:crypto';
import { zipSync } from 'fflate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readDar } from '../../src/packages/dar.ts';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { compiled, darOf, darOfPackage, manifestOf, sealArchive, sha256 } from './dars.ts';
import { anyParty, valueAt, post, stream } from '../server/sockets.ts';

const notesPackage = {
  name: 'harbor-notes',
  version: '1.0.0',
  module: 'Harbor.Notes',
  templates: ['Note'],
  interfaces: ['Readable'],
};

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3 });
});
afterEach(async () => {
  await sandbox.close();
});

interface PackageResponse {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

async function send(
  path: string,
  bytes: Uint8Array,
  url = sandbox.url,
  headers: Record<string, string> = {},
): Promise<PackageResponse> {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: Buffer.from(bytes), headers });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

async function codeOf(bytes: Uint8Array, path = '/v2/dars'): Promise<unknown[]> {
  const { status, text } = await send(path, bytes);
  const body: unknown = JSON.parse(text);
  return [status, valueAt(body, 'code'), valueAt(body, 'errorCategory')];
}

async function ids(): Promise<string[]> {
  const response = await fetch(`${sandbox.url}/v2/packages`);
  return ((await response.json()) as { packageIds: string[] }).packageIds;
}

async function status(id: string): Promise<unknown> {
  return await (await fetch(`${sandbox.url}/v2/packages/${id}/status`)).json();
}

describe('an uploaded DAR', () => {
  it('gets the response {} on both paths, and its packages are listed once, even if it is sent several times', async () => {
    const base = compiled({ name: 'harbor-base', version: '1.0.0' });
    const main = compiled(notesPackage);
    const dar = darOf({ 'a-long-name-for-a-folder/harbor-notes-1.0.0.dalf': main.archive, 'base.dalf': base.archive });
    const idsBefore = await ids();
    expect(await send('/v2/dars', dar)).toEqual({ status: 200, type: 'application/json', text: '{}' });
    expect(await send('/v2/packages?vetAllPackages=false', dar)).toMatchObject({ status: 200, text: '{}' });
    expect(await ids()).toEqual([...idsBefore, main.id, base.id]);
  });

  it('can be downloaded byte for byte with its hash, and has a status', async () => {
    const { id, payload } = compiled(notesPackage);
    expect(await status(id)).toEqual({ packageStatus: 'PACKAGE_STATUS_UNSPECIFIED' });
    await send('/v2/dars', darOfPackage(notesPackage));
    expect(await status(id)).toEqual({ packageStatus: 'PACKAGE_STATUS_REGISTERED' });
    const response = await fetch(`${sandbox.url}/v2/packages/${id}`);
    expect(response.headers.get('canton-package-hash')).toBe(id);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(payload))).toBe(true);
  });

  it('makes its templates and interfaces known to filters', async () => {
    const filter = (kind: string, value: unknown): unknown => ({
      activeAtOffset: 0,
      eventFormat: { ...anyParty, filtersForAnyParty: { cumulative: [{ identifierFilter: { [kind]: { value } } }] } },
    });
    const template = filter('TemplateFilter', { templateId: '#harbor-notes:Harbor.Notes:Note' });
    const interfaceFilter = filter('InterfaceFilter', { interfaceId: '#harbor-notes:Harbor.Notes:Readable' });
    const absentFilter = filter('TemplateFilter', { templateId: '#harbor-notes:Harbor.Notes:Absent' });
    const refusalOf = async (request: unknown): Promise<unknown> => {
      const { frames } = await stream(sandbox.url, '/v2/state/active-contracts', request);
      return frames.map((frame) => valueAt(JSON.parse(frame), 'code'));
    };
    expect(await refusalOf(template)).toEqual(['PACKAGE_NAMES_NOT_FOUND']);
    await send('/v2/dars', darOfPackage(notesPackage));
    expect(await refusalOf(template)).toEqual([]);
    expect(await refusalOf(interfaceFilter)).toEqual([]);
    expect(await refusalOf(absentFilter)).toEqual(['NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME']);
  });

  it('may be passed at the start of the sandbox', async () => {
    await using startedSandbox = await startSandbox({ dars: [darOfPackage(notesPackage)] });
    expect((await fetch(`${startedSandbox.url}/v2/packages/${compiled(notesPackage).id}`)).status).toBe(200);
  });

  it('may have 3 MB, but not more than the limit of a request body', async () => {
    const ballast = createHash('shake256', { outputLength: 3 * 1024 * 1024 }).digest();
    const dar = darOf({ 'main.dalf': compiled(notesPackage).archive }, { 'Notes.hie': ballast });
    expect(dar.length).toBeGreaterThan(3 * 1024 * 1024);
    expect((await send('/v2/dars', dar)).status).toBe(200);
    await using smallSandbox = await startSandbox({ limits: { bodyBytes: 1024 * 1024 } });
    const { status, text } = await send('/v2/dars', dar, smallSandbox.url);
    expect([status, text]).toEqual([413, 'Payload Too Large']);
  });

  it('is only checked by /v2/dars/validate, which does not store it', async () => {
    const idsBefore = await ids();
    expect(await send('/v2/dars/validate', darOfPackage(notesPackage))).toEqual({ status: 200, type: null, text: '' });
    expect(await codeOf(Buffer.from('no zip'), '/v2/dars/validate')).toEqual([400, 'INVALID_DAR', 8]);
    expect(await ids()).toEqual(idsBefore);
  });
});

describe('an upload or lookup is refused', () => {
  it('as text when the body, vetAllPackages or synchronizerId cannot be read', async () => {
    const refusal = async (path: string, bytes: Uint8Array): Promise<unknown[]> => {
      const { status, type, text } = await send(path, bytes);
      return [status, type, text];
    };
    const plainText = 'text/plain; charset=UTF-8';
    const dar = darOfPackage(notesPackage);
    expect(await refusal('/v2/dars', Buffer.alloc(0))).toEqual([400, plainText, 'Invalid value for: body']);
    const vet = 'Invalid value for: query parameter vetAllPackages';
    expect(await refusal('/v2/dars?vetAllPackages=maybe', dar)).toEqual([400, plainText, vet]);
    const synchronizer = 'Invalid value for: query parameter synchronizerId';
    expect(await refusal('/v2/packages?synchronizerId=nowhere::1220', dar)).toEqual([400, plainText, synchronizer]);
  });

  it('with INVALID_DAR if it is not a zip, has no manifest, or has one without a main archive', async () => {
    const { archive } = compiled(notesPackage);
    expect(await codeOf(Buffer.from('no zip'))).toEqual([400, 'INVALID_DAR', 8]);
    expect(await codeOf(zipSync({ 'main.dalf': archive }))).toEqual([400, 'INVALID_DAR', 8]);
    expect(await codeOf(zipSync({ 'META-INF/MANIFEST.MF': manifestOf([]), 'main.dalf': archive }))).toEqual([
      400,
      'INVALID_DAR',
      8,
    ]);
  });

  it('with INVALID_ZIP_ENTRY if the manifest names a missing entry, or an archive occurs twice', async () => {
    const { archive } = compiled(notesPackage);
    const darWithoutArchive = zipSync({
      'META-INF/MANIFEST.MF': manifestOf(['main.dalf', 'gone.dalf']),
      'main.dalf': archive,
    });
    expect(await codeOf(darWithoutArchive)).toEqual([400, 'INVALID_ZIP_ENTRY', 8]);
    const twinDar = Buffer.from(darOf({ 'main.dalf': archive }, { 'twin.dalf': archive }));
    const duplicatedDar = Buffer.from(twinDar.toString('latin1').replaceAll('twin.dalf', 'main.dalf'), 'latin1');
    expect(await codeOf(duplicatedDar)).toEqual([400, 'INVALID_ZIP_ENTRY', 8]);
  });

  it('with DAR_PARSE_ERROR when an archive is damaged, has a wrong hash or another language version', async () => {
    const { payload } = compiled(notesPackage);
    const refusalOf = async (archive: Uint8Array): Promise<unknown> =>
      (await codeOf(darOf({ 'main.dalf': archive })))[1];
    expect(await refusalOf(Buffer.from('not protobuf'))).toBe('DAR_PARSE_ERROR');
    expect(await refusalOf(sealArchive(payload, sha256(Buffer.from('other'))))).toBe('DAR_PARSE_ERROR');
    expect(await refusalOf(sealArchive(Buffer.from([0x1a, 1, 0x36, 0x12, 0])))).toBe('DAR_PARSE_ERROR');
    expect(await refusalOf(sealArchive(payload))).toBeUndefined();
  });

  it('with ZIP_BOMB before inflating more than the limit', () => {
    const dar = darOf({ 'main.dalf': Buffer.alloc(1024 * 1024) });
    expect(dar.length).toBeLessThan(4096);
    expect(() => readDar(dar, 64 * 1024)).toThrow('ZIP_BOMB');
    expect(readDar(dar, 2 * 1024 * 1024)).toHaveLength(1);
  });

  it('with KNOWN_PACKAGE_VERSION when another package of that name and version is vetted', async () => {
    await send('/v2/dars', darOfPackage(notesPackage));
    const otherDar = darOfPackage({ ...notesPackage, templates: ['Note', 'Draft'] });
    expect(await codeOf(otherDar)).toEqual([400, 'KNOWN_PACKAGE_VERSION', 8]);
    expect((await send('/v2/dars?vetAllPackages=false', otherDar)).status).toBe(200);
    expect((await send('/v2/dars', darOfPackage({ ...notesPackage, version: '1.0.1' }))).status).toBe(200);
    const library = { name: 'library', version: '1.0.0' };
    expect((await send('/v2/dars', darOfPackage(library))).status).toBe(200);
    expect((await send('/v2/dars', darOfPackage({ ...library, module: 'Other' }))).status).toBe(200);
  });

  it('with PACKAGE_NOT_FOUND if the requested package is unknown, or only its name is known', async () => {
    sandbox.ledger.model.register({
      name: 'nowhere:Nowhere:Thing',
      signatories: () => [],
      observers: () => [],
      interfaces: [],
      choices: {},
    });
    const packageIdOfUnknown = sandbox.ledger.model.packages.idOf('nowhere');
    for (const id of ['ab'.repeat(32), packageIdOfUnknown]) {
      const response = await fetch(`${sandbox.url}/v2/packages/${id}`);
      expect([response.status, valueAt(await response.json(), 'code')]).toEqual([404, 'PACKAGE_NOT_FOUND']);
    }
    expect(await status(packageIdOfUnknown)).toEqual({ packageStatus: 'PACKAGE_STATUS_REGISTERED' });
  });

  it('without a token', async () => {
    await using protectedSandbox = await startSandbox({ token: 'right' });
    const dar = darOfPackage(notesPackage);
    expect((await send('/v2/dars', dar, protectedSandbox.url)).status).toBe(401);
    expect((await send('/v2/dars', dar, protectedSandbox.url, { authorization: 'Bearer right' })).status).toBe(200);
  });
});

describe('vetting', () => {
  const listPackages = async (body: unknown): Promise<unknown> =>
    (await post(sandbox.url, '/v2/package-vetting/list', body)).body;

  it('lists packages by name and version per synchronizer, filtered by id, name prefix and synchronizer', async () => {
    const [first, second] = sandbox.ledger.synchronizers;
    await send(`/v2/dars?synchronizerId=${encodeURIComponent(second.id)}`, darOfPackage(notesPackage));
    const { id } = compiled(notesPackage);
    const entry = { packageId: id, validFromInclusive: null, validUntilExclusive: null };
    const { participantId } = sandbox;
    const onlyNotes = {
      packages: [{ ...entry, packageName: 'harbor-notes', packageVersion: '1.0.0' }],
      participantId,
      synchronizerId: second.id,
      topologySerial: 2,
    };
    const packagePage = { vettedPackages: [onlyNotes], nextPageToken: '' };
    expect(await listPackages({ packageMetadataFilter: { packageNamePrefixes: ['harbor-no'] } })).toEqual(packagePage);
    expect(await listPackages({ packageMetadataFilter: { packageIds: [id] } })).toEqual(packagePage);
    const otherSynchronizerFilter = {
      topologyStateFilter: { synchronizerIds: [first.id] },
      packageMetadataFilter: { packageIds: [id] },
    };
    expect(await listPackages(otherSynchronizerFilter)).toEqual({ vettedPackages: [], nextPageToken: '' });
    expect(valueAt(await listPackages({}), 'vettedPackages', 'length')).toBe(2);
  });

  it('is listed in pages', async () => {
    const firstPage = await listPackages({ pageSize: 1 });
    const secondPage = await listPackages({ pageSize: 1, pageToken: valueAt(firstPage, 'nextPageToken') });
    const vettedOn = [firstPage, secondPage].map((page) => valueAt(page, 'vettedPackages', 0, 'synchronizerId'));
    expect(vettedOn).toEqual(sandbox.ledger.synchronizers.map(({ id }) => id));
    expect(valueAt(await listPackages({ pageSize: 101 }), 'code')).toBe('INVALID_ARGUMENT');
    expect(valueAt(await listPackages({ pageToken: 'no token!' }), 'code')).toBe('INVALID_ARGUMENT');
  });
});
