/** Fetches every package that the sandbox writes from a participant, reads it, and converts it to typed views. */
import { it } from 'vitest';
import { readPackageArchive } from '../../../src/daml/package-archive.ts';
import type { PackageModel } from '../../../src/daml/package-model.ts';
import { licensingUpgrade } from '../../../packages/ledger-sandbox/src/demo/packages/applications.ts';
import { demoPackages, startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { clientOf, expectViews } from './expect-views.ts';

/** The packages of the sandbox, including those of the demo upgrade. */
async function own(): Promise<readonly PackageModel[]> {
  await using sandbox = await startSandbox({});
  sandbox.ledger.model.vet(licensingUpgrade);
  const { packages } = clientOf(sandbox.url);
  const models: PackageModel[] = [];
  for (const { id } of [...demoPackages, licensingUpgrade]) {
    models.push(readPackageArchive((await packages.content(id)).bytes, id));
  }
  return models;
}

it('packages that the sandbox writes become views that Postgres accepts', async () => {
  await expectViews(await own());
});
