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
import { compiled, darOf, darOfPackage, manifestOf, sealed, sha256 } from './dars.ts';
import { anyParty, at, post, stream } from '../server/sockets.ts';

const notes = {
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

interface Got {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

async function send(
  path: string,
  bytes: Uint8Array,
  url = sandbox.url,
  headers: Record<string, string> = {},
): Promise<Got> {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: Buffer.from(bytes), headers });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

async function codeOf(bytes: Uint8Array, path = '/v2/dars'): Promise<unknown[]> {
  const { status, text } = await send(path, bytes);
  const body: unknown = JSON.parse(text);
  return [status, at(body, 'code'), at(body, 'errorCategory')];
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
    const main = compiled(notes);
    const dar = darOf({ 'a-long-name-for-a-folder/harbor-notes-1.0.0.dalf': main.archive, 'base.dalf': base.archive });
    const before = await ids();
    expect(await send('/v2/dars', dar)).toEqual({ status: 200, type: 'application/json', text: '{}' });
    expect(await send('/v2/packages?vetAllPackages=false', dar)).toMatchObject({ status: 200, text: '{}' });
    expect(await ids()).toEqual([...before, main.id, base.id]);
  });

  it('can be downloaded byte for byte with its hash, and has a status', async () => {
    const { id, payload } = compiled(notes);
    expect(await status(id)).toEqual({ packageStatus: 'PACKAGE_STATUS_UNSPECIFIED' });
    await send('/v2/dars', darOfPackage(notes));
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
    const declared = filter('InterfaceFilter', { interfaceId: '#harbor-notes:Harbor.Notes:Readable' });
    const absent = filter('TemplateFilter', { templateId: '#harbor-notes:Harbor.Notes:Absent' });
    const refused = async (request: unknown): Promise<unknown> => {
      const { frames } = await stream(sandbox.url, '/v2/state/active-contracts', request);
      return frames.map((frame) => at(JSON.parse(frame), 'code'));
    };
    expect(await refused(template)).toEqual(['PACKAGE_NAMES_NOT_FOUND']);
    await send('/v2/dars', darOfPackage(notes));
    expect(await refused(template)).toEqual([]);
    expect(await refused(declared)).toEqual([]);
    expect(await refused(absent)).toEqual(['NO_TEMPLATES_FOR_PACKAGE_NAME_AND_QUALIFIED_NAME']);
  });

  it('may be passed at the start of the sandbox', async () => {
    await using started = await startSandbox({ dars: [darOfPackage(notes)] });
    expect((await fetch(`${started.url}/v2/packages/${compiled(notes).id}`)).status).toBe(200);
  });

  it('may have 3 MB, but not more than the limit of a request body', async () => {
    const ballast = createHash('shake256', { outputLength: 3 * 1024 * 1024 }).digest();
    const dar = darOf({ 'main.dalf': compiled(notes).archive }, { 'Notes.hie': ballast });
    expect(dar.length).toBeGreaterThan(3 * 1024 * 1024);
    expect((await send('/v2/dars', dar)).status).toBe(200);
    await using small = await startSandbox({ limits: { bodyBytes: 1024 * 1024 } });
    const { status, text } = await send('/v2/dars', dar, small.url);
    expect([status, text]).toEqual([413, 'Payload Too Large']);
  });

  it('is only checked by /v2/dars/validate, which does not store it', async () => {
    const before = await ids();
    expect(await send('/v2/dars/validate', darOfPackage(notes))).toEqual({ status: 200, type: null, text: '' });
    expect(await codeOf(Buffer.from('no zip'), '/v2/dars/validate')).toEqual([400, 'INVALID_DAR', 8]);
    expect(await ids()).toEqual(before);
  });
});

describe('an upload or lookup is refused', () => {
  it('as text when the body, vetAllPackages or synchronizerId cannot be read', async () => {
    const refusal = async (path: string, bytes: Uint8Array): Promise<unknown[]> => {
      const { status, type, text } = await send(path, bytes);
      return [status, type, text];
    };
    const plain = 'text/plain; charset=UTF-8';
    const dar = darOfPackage(notes);
    expect(await refusal('/v2/dars', Buffer.alloc(0))).toEqual([400, plain, 'Invalid value for: body']);
    const vet = 'Invalid value for: query parameter vetAllPackages';
    expect(await refusal('/v2/dars?vetAllPackages=maybe', dar)).toEqual([400, plain, vet]);
    const synchronizer = 'Invalid value for: query parameter synchronizerId';
    expect(await refusal('/v2/packages?synchronizerId=nowhere::1220', dar)).toEqual([400, plain, synchronizer]);
  });

  it('with INVALID_DAR if it is not a zip, has no manifest, or has one without a main archive', async () => {
    const { archive } = compiled(notes);
    expect(await codeOf(Buffer.from('no zip'))).toEqual([400, 'INVALID_DAR', 8]);
    expect(await codeOf(zipSync({ 'main.dalf': archive }))).toEqual([400, 'INVALID_DAR', 8]);
    expect(await codeOf(zipSync({ 'META-INF/MANIFEST.MF': manifestOf([]), 'main.dalf': archive }))).toEqual([
      400,
      'INVALID_DAR',
      8,
    ]);
  });

  it('with INVALID_ZIP_ENTRY if the manifest names a missing entry, or an archive occurs twice', async () => {
    const { archive } = compiled(notes);
    const absent = zipSync({ 'META-INF/MANIFEST.MF': manifestOf(['main.dalf', 'gone.dalf']), 'main.dalf': archive });
    expect(await codeOf(absent)).toEqual([400, 'INVALID_ZIP_ENTRY', 8]);
    const twin = Buffer.from(darOf({ 'main.dalf': archive }, { 'twin.dalf': archive }));
    const twice = Buffer.from(twin.toString('latin1').replaceAll('twin.dalf', 'main.dalf'), 'latin1');
    expect(await codeOf(twice)).toEqual([400, 'INVALID_ZIP_ENTRY', 8]);
  });

  it('with DAR_PARSE_ERROR when an archive is damaged, has a wrong hash or another language version', async () => {
    const { payload } = compiled(notes);
    const refused = async (archive: Uint8Array): Promise<unknown> => (await codeOf(darOf({ 'main.dalf': archive })))[1];
    expect(await refused(Buffer.from('not protobuf'))).toBe('DAR_PARSE_ERROR');
    expect(await refused(sealed(payload, sha256(Buffer.from('other'))))).toBe('DAR_PARSE_ERROR');
    expect(await refused(sealed(Buffer.from([0x1a, 1, 0x36, 0x12, 0])))).toBe('DAR_PARSE_ERROR');
    expect(await refused(sealed(payload))).toBeUndefined();
  });

  it('with ZIP_BOMB before inflating more than the limit', () => {
    const dar = darOf({ 'main.dalf': Buffer.alloc(1024 * 1024) });
    expect(dar.length).toBeLessThan(4096);
    expect(() => readDar(dar, 64 * 1024)).toThrow('ZIP_BOMB');
    expect(readDar(dar, 2 * 1024 * 1024)).toHaveLength(1);
  });

  it('with KNOWN_PACKAGE_VERSION when another package of that name and version is vetted', async () => {
    await send('/v2/dars', darOfPackage(notes));
    const other = darOfPackage({ ...notes, templates: ['Note', 'Draft'] });
    expect(await codeOf(other)).toEqual([400, 'KNOWN_PACKAGE_VERSION', 8]);
    expect((await send('/v2/dars?vetAllPackages=false', other)).status).toBe(200);
    expect((await send('/v2/dars', darOfPackage({ ...notes, version: '1.0.1' }))).status).toBe(200);
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
    const named = sandbox.ledger.model.packages.idOf('nowhere');
    for (const id of ['ab'.repeat(32), named]) {
      const response = await fetch(`${sandbox.url}/v2/packages/${id}`);
      expect([response.status, at(await response.json(), 'code')]).toEqual([404, 'PACKAGE_NOT_FOUND']);
    }
    expect(await status(named)).toEqual({ packageStatus: 'PACKAGE_STATUS_REGISTERED' });
  });

  it('without a token', async () => {
    await using locked = await startSandbox({ token: 'right' });
    const dar = darOfPackage(notes);
    expect((await send('/v2/dars', dar, locked.url)).status).toBe(401);
    expect((await send('/v2/dars', dar, locked.url, { authorization: 'Bearer right' })).status).toBe(200);
  });
});

describe('vetting', () => {
  const listed = async (body: unknown): Promise<unknown> =>
    (await post(sandbox.url, '/v2/package-vetting/list', body)).body;

  it('lists packages by name and version per synchronizer, filtered by id, name prefix and synchronizer', async () => {
    const [first, second] = sandbox.ledger.synchronizers;
    await send(`/v2/dars?synchronizerId=${encodeURIComponent(second.id)}`, darOfPackage(notes));
    const { id } = compiled(notes);
    const entry = { packageId: id, validFromInclusive: null, validUntilExclusive: null };
    const { participantId } = sandbox;
    const only = {
      packages: [{ ...entry, packageName: 'harbor-notes', packageVersion: '1.0.0' }],
      participantId,
      synchronizerId: second.id,
      topologySerial: 2,
    };
    const found = { vettedPackages: [only], nextPageToken: '' };
    expect(await listed({ packageMetadataFilter: { packageNamePrefixes: ['harbor-no'] } })).toEqual(found);
    expect(await listed({ packageMetadataFilter: { packageIds: [id] } })).toEqual(found);
    const elsewhere = {
      topologyStateFilter: { synchronizerIds: [first.id] },
      packageMetadataFilter: { packageIds: [id] },
    };
    expect(await listed(elsewhere)).toEqual({ vettedPackages: [], nextPageToken: '' });
    expect(at(await listed({}), 'vettedPackages', 'length')).toBe(2);
  });

  it('is listed in pages', async () => {
    const one = await listed({ pageSize: 1 });
    const two = await listed({ pageSize: 1, pageToken: at(one, 'nextPageToken') });
    const on = [one, two].map((page) => at(page, 'vettedPackages', 0, 'synchronizerId'));
    expect(on).toEqual(sandbox.ledger.synchronizers.map(({ id }) => id));
    expect(at(await listed({ pageSize: 101 }), 'code')).toBe('INVALID_ARGUMENT');
    expect(at(await listed({ pageToken: 'no token!' }), 'code')).toBe('INVALID_ARGUMENT');
  });
});
