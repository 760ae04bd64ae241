/** The sandbox reads and accepts compiled packages. They are equal to the packages that the sandbox generates. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { readPackageArchive } from '../../../../src/daml/package-archive.ts';
import type { PackageModel } from '../../../../src/daml/package-model.ts';
import { darNames, darsSkipReason, readDar } from '../../../../test/daml/dars.ts';
import { needs } from '../../../../test/support/skips/needs.ts';
import { darsFolder } from '../../../../test/support/wire/recorded.ts';
import { licensingUpgrade } from '../../src/demo/packages/applications.ts';
import { demoPackages, startSandbox } from '../../src/demo/sandbox.ts';
import { readArchive } from '../../src/packages/archive.ts';
import { readDar as readSandboxDar } from '../../src/packages/dar.ts';
import { sha256 } from './dars.ts';

const allPackages = [...demoPackages, licensingUpgrade];

describe('real DARs', needs(darsSkipReason), () => {
  it('are read with their names, their versions, and the hashes that their compilers computed as package ids', () => {
    const mainPackages = darNames().map((name) => {
      const archives = readSandboxDar(readFileSync(join(darsFolder, name))).map(readArchive);
      for (const { id, payload } of archives) expect(sha256(payload)).toBe(id);
      const zipEntryNames = Object.keys(unzipSync(readFileSync(join(darsFolder, name)))).filter((entry) =>
        entry.endsWith('.dalf'),
      );
      expect(zipEntryNames.every((entry) => archives.some(({ id }) => entry.endsWith(`-${id}.dalf`)))).toBe(true);
      return archives[0];
    });
    const summaries = mainPackages.map((main) => [main?.name, main?.version, main?.templates, main?.interfaces]);
    expect(summaries).toContainEqual(['richtypes', '0.0.1', ['RichTypes:Marker', 'RichTypes:RichRecord'], []]);
    const holding = 'Splice.Api.Token.HoldingV1:Holding';
    expect(summaries).toContainEqual(['splice-api-token-holding-v1', '1.0.0', [], [holding]]);
  });

  it('can all be uploaded to one participant, although their standard libraries differ', async () => {
    await using sandbox = await startSandbox({ seed: 3 });
    for (const name of darNames()) {
      const body = readFileSync(join(darsFolder, name));
      const { status } = await fetch(`${sandbox.url}/v2/dars`, { method: 'POST', body });
      expect([name, status]).toEqual([name, 200]);
    }
    const packageIds = (await (await fetch(`${sandbox.url}/v2/packages`)).json()) as { readonly packageIds: string[] };
    expect(packageIds.packageIds.length).toBeGreaterThan(40);
  });
});

describe('compiled packages', needs(darsSkipReason), () => {
  /** Interfaces and types with package names instead of ids, which differ. The order of interfaces does not matter. */
  const comparable = (model: PackageModel, nameOf: (packageId: string) => string | undefined): unknown => {
    const { dataTypes } = model;
    const interfaces = model.interfaces.toSorted((a, b) => a.entityName.localeCompare(b.entityName));
    const text = JSON.stringify({ interfaces, dataTypes });
    const namedText = text.replaceAll(/[0-9a-f]{64}/g, (id) =>
      id === model.packageId ? model.name : (nameOf(id) ?? id),
    );
    return JSON.parse(namedText);
  };

  it.each([
    ['splice-api-token-metadata-v1'],
    ['splice-api-token-holding-v1'],
    ['splice-api-token-transfer-instruction-v1'],
  ])('of the token standard have the interfaces and types of the generated ones: %s', (name) => {
    const compiled = readDar(`${name}-1.0.0.dar`, name);
    const ownPackage = demoPackages.find((model) => model.name === name);
    if (ownPackage === undefined) throw new Error(`${name} is not written`);
    const ownModel = comparable(
      readPackageArchive(ownPackage.payload),
      (id) => allPackages.find((model) => model.id === id)?.name,
    );
    expect(ownModel).toEqual(comparable(compiled.main, (id) => compiled.packages(id)?.name));
  });
});
