/** A newer version replaces a package of the sandbox while the ledger runs. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readPackageArchive } from '../../../../src/daml/package-archive.ts';
import { initialLicensing, licensingUpgrade } from '../../src/demo/packages/applications.ts';
import { demoPackages, startSandbox } from '../../src/demo/sandbox.ts';
import type { Sandbox } from '../../src/server/sandbox.ts';
import { valueAt, post } from '../server/sockets.ts';

const installRequest = 'quickstart-licensing:Licensing.AppInstall:AppInstallRequest';

let sandbox: Sandbox;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 3 });
});
afterEach(() => sandbox.close());

function request(templateId: string): { readonly contractId: string; readonly packageId: string } {
  const argument = { dso: 'DSO', provider: 'app', user: 'ann', meta: { values: {} } };
  const contractId = sandbox.ledger.create(templateId, argument, ['ann']);
  expect(contractId.representativePackageId).toBe(contractId.templateId.slice(0, 64));
  return { contractId: contractId.contractId, packageId: contractId.templateId.slice(0, 64) };
}

async function ids(): Promise<readonly string[]> {
  const response = (await (await fetch(`${sandbox.url}/v2/packages`)).json()) as { packageIds: string[] };
  return response.packageIds;
}

async function preferredPackages(): Promise<unknown> {
  const party = [...sandbox.ledger.localParties()].find((candidateParty) => candidateParty.startsWith('ann')) ?? '';
  const request = { packageVettingRequirements: [{ packageName: 'quickstart-licensing', parties: [party] }] };
  const { body } = await post(sandbox.url, '/v2/interactive-submission/preferred-packages', request);
  return valueAt(body, 'packageReferences', 0, 'packageVersion');
}

it('the sandbox serves the bytes of every package it lists, and their hashes are the ids', async () => {
  const packageIds = await ids();
  for (const { id, name } of demoPackages) {
    expect(packageIds).toContain(id);
    const response = await fetch(`${sandbox.url}/v2/packages/${id}`);
    expect(response.headers.get('canton-package-hash')).toBe(id);
    expect(readPackageArchive(new Uint8Array(await response.arrayBuffer()), id).name).toBe(name);
  }
});

it('a newer version is used for new contracts, and existing ones are unchanged', async () => {
  const responseBefore = request(`#${installRequest}`);
  expect(responseBefore.packageId).toBe(initialLicensing.id);
  expect(await preferredPackages()).toBe('0.0.4');
  expect(await ids()).not.toContain(licensingUpgrade.id);

  sandbox.ledger.model.vet(licensingUpgrade);
  sandbox.ledger.model.vet(licensingUpgrade);
  sandbox.ledger.model.vet(initialLicensing);
  expect(sandbox.ledger.model.vettedVersion('quickstart-licensing')).toBe('0.0.5');
  const after = request(`#${installRequest}`);
  expect(after.packageId).toBe(licensingUpgrade.id);
  expect(await preferredPackages()).toBe('0.0.5');
  const packageIds = await ids();
  expect(packageIds.filter((id) => id === licensingUpgrade.id || id === initialLicensing.id)).toHaveLength(2);
  expect((await fetch(`${sandbox.url}/v2/packages/${licensingUpgrade.id}`)).status).toBe(200);
  expect(sandbox.ledger.find(responseBefore.contractId)?.created.templateId).toContain(initialLicensing.id);

  const { events } = sandbox.ledger.exercise(
    responseBefore.contractId,
    'AppInstallRequest_Reject',
    { meta: { values: {} } },
    ['app'],
  );
  expect(valueAt(events, '0', 'ExercisedEvent', 'consuming')).toBe(true);
  // A command may also name the older version.
  expect(request(`${initialLicensing.id}:${installRequest.slice(installRequest.indexOf(':') + 1)}`).packageId).toBe(
    licensingUpgrade.id,
  );
});

it('both versions of a package are listed as vetted', async () => {
  sandbox.ledger.model.vet(licensingUpgrade);
  const filter = { packageMetadataFilter: { packageNamePrefixes: ['quickstart-licensing'] } };
  const { body } = await post(sandbox.url, '/v2/package-vetting/list', filter);
  const packages = valueAt(body, 'vettedPackages', 0, 'packages') as readonly Record<string, unknown>[];
  expect(packages.map(({ packageId, packageVersion }) => [packageId, packageVersion])).toEqual([
    [initialLicensing.id, '0.0.4'],
    [licensingUpgrade.id, '0.0.5'],
  ]);
});
