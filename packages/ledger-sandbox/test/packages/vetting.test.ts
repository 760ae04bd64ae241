/** Changes of vetting, and their effect on the preferred packages. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { darOfPackage } from './dars.ts';
import { valueAt, post } from '../server/sockets.ts';
import type { Answer } from '../server/sockets.ts';

const versions = ['1.9.0', '1.10.0', '1.2.0'];
const dars = versions.map((version) => darOfPackage({ name: 'notes', version, templates: ['Note'] }));

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3, dars });
});
afterEach(() => sandbox.close());

type Reference = Readonly<Record<string, string>>;

async function change(kind: 'Vet' | 'Unvet', reference: Reference, overrides: object = {}): Promise<[number, Answer]> {
  const changes = [{ operation: { [kind]: { value: { packages: [reference] } } } }];
  const { status, body } = await post(sandbox.url, '/v2/package-vetting/update', { changes, ...overrides });
  return [status, body];
}

/** The vetted versions of `notes` in a part of a response. */
function versionsIn(body: unknown, listKey = 'newVettedPackages'): unknown[] {
  const packages = valueAt(body, listKey, 'packages') as Answer[];
  return packages.filter(({ packageName }) => packageName === 'notes').map(({ packageVersion }) => packageVersion);
}

async function preferredPackages(packageName: string, parties: string[], overrides: object = {}): Promise<unknown[]> {
  const request = { packageVettingRequirements: [{ packageName, parties }], ...overrides };
  const { status, body } = await post(sandbox.url, '/v2/interactive-submission/preferred-packages', request);
  return [status, valueAt(body, 'packageReferences', 0, 'packageVersion') ?? body['code']];
}

describe('changes of vetting', () => {
  it('return past and new vetted packages and increment the serial', async () => {
    const [status, body] = await change('Unvet', { packageName: 'notes', packageVersion: '1.9.0' });
    expect(status).toBe(200);
    expect(versionsIn(body, 'pastVettedPackages')).toEqual(['1.10.0', '1.2.0', '1.9.0']);
    expect(versionsIn(body)).toEqual(['1.10.0', '1.2.0']);
    const serial = Number(valueAt(body, 'newVettedPackages', 'topologySerial'));
    expect(valueAt(body, 'pastVettedPackages', 'topologySerial')).toBe(serial - 1);
    const [, secondResponse] = await change('Vet', { packageName: 'notes', packageVersion: '1.9.0' });
    expect([versionsIn(secondResponse), valueAt(secondResponse, 'newVettedPackages', 'topologySerial')]).toEqual([
      ['1.10.0', '1.2.0', '1.9.0'],
      serial + 1,
    ]);
  });

  it('apply to every package that a reference matches', async () => {
    const [, body] = await change('Unvet', { packageName: 'notes' });
    expect(versionsIn(body)).toEqual([]);
  });

  it('are reported but not made in a dry run', async () => {
    const [, dryRunResponse] = await change('Unvet', { packageName: 'notes' }, { dryRun: true });
    expect(versionsIn(dryRunResponse)).toEqual([]);
    const [, body] = await change('Vet', { packageName: 'notes' });
    expect(versionsIn(body, 'pastVettedPackages')).toHaveLength(3);
  });

  it('apply to one synchronizer', async () => {
    const [first, second] = sandbox.ledger.synchronizers;
    await change('Unvet', { packageName: 'notes' }, { synchronizerId: second.id });
    const [, body] = await change('Vet', { packageName: 'notes' }, { synchronizerId: first.id });
    expect(versionsIn(body, 'pastVettedPackages')).toHaveLength(3);
  });

  it.each([
    [{ packageVersion: '1.9.0' }, {}, 400, 'INVALID_ARGUMENT'],
    [{ packageId: '00' }, {}, 404, 'PACKAGE_NOT_FOUND'],
    [{ packageName: 'constructor' }, {}, 404, 'PACKAGE_NOT_FOUND'],
    [{ packageName: 'model-tests' }, {}, 400, 'INVALID_ARGUMENT'],
    [{ packageName: 'notes' }, { synchronizerId: 'x::y' }, 400, 'INVALID_PRESCRIBED_SYNCHRONIZER_ID'],
    [
      { packageName: 'notes' },
      { expectedTopologySerial: { serial: { Prior: { value: 99 } } } },
      400,
      'TOPOLOGY_SERIAL_MISMATCH',
    ],
    [
      { packageName: 'notes' },
      { expectedTopologySerial: { serial: { NoPrior: {} } } },
      400,
      'TOPOLOGY_SERIAL_MISMATCH',
    ],
  ])('are refused for %j with %j', async (reference, overrides, status, code) => {
    const [statusResult, body] = await change('Unvet', reference, overrides);
    expect([statusResult, body['code']]).toEqual([status, code]);
  });
});

describe('the preferred package', () => {
  it('is the vetted package with the highest version number', async () => {
    const party = sandbox.participantId;
    expect(await preferredPackages('notes', [party])).toEqual([200, '1.10.0']);
    await change('Unvet', { packageName: 'notes', packageVersion: '1.10.0' });
    const [first, second] = sandbox.ledger.synchronizers;
    expect(await preferredPackages('notes', [party], { synchronizerId: first.id })).toEqual([200, '1.9.0']);
    expect(await preferredPackages('notes', [party], { synchronizerId: second.id })).toEqual([200, '1.10.0']);
  });

  it('does not exist if the name is not vetted or the party is not hosted', async () => {
    expect(await preferredPackages('nothing', [sandbox.participantId])).toEqual([400, 'NO_PREFERRED_PACKAGES_FOUND']);
    expect(await preferredPackages('notes', ['stranger::1220'])).toEqual([400, 'NO_PREFERRED_PACKAGES_FOUND']);
  });
});
