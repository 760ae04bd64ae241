/** The sandbox reads and accepts compiled packages. They are equal to the packages that the sandbox generates. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { readPackageArchive } from '../../../../src/daml/package-archive.ts';
import type { PackageModel } from '../../../../src/daml/package-model.ts';
import { darNames, noDars, readDar } from '../../../../test/daml/dars.ts';
import { needs } from '../../../../test/support/skips/needs.ts';
import { darsFolder } from '../../../../test/support/wire/recorded.ts';
import { licensingUpgrade } from '../../src/demo/packages/applications.ts';
import { demoPackages, startSandbox } from '../../src/demo/sandbox.ts';
import { readArchive } from '../../src/packages/archive.ts';
import { readDar as readSandboxDar } from '../../src/packages/dar.ts';
import { sha256 } from './dars.ts';

const all = [...demoPackages, licensingUpgrade];

describe('real DARs', needs(noDars), () => {
  it('are read with their names, their versions, and the hashes that their compilers computed as package ids', () => {
    const mains = darNames().map((name) => {
      const archives = readSandboxDar(readFileSync(join(darsFolder, name))).map(readArchive);
      for (const { id, payload } of archives) expect(sha256(payload)).toBe(id);
      const inside = Object.keys(unzipSync(readFileSync(join(darsFolder, name)))).filter((entry) =>
        entry.endsWith('.dalf'),
      );
      expect(inside.every((entry) => archives.some(({ id }) => entry.endsWith(`-${id}.dalf`)))).toBe(true);
      return archives[0];
    });
    const summaries = mains.map((main) => [main?.name, main?.version, main?.templates, main?.interfaces]);
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
    const listed = (await (await fetch(`${sandbox.url}/v2/packages`)).json()) as { readonly packageIds: string[] };
    expect(listed.packageIds.length).toBeGreaterThan(40);
  });
});

describe('compiled packages', needs(noDars), () => {
  /** Interfaces and types with package names instead of ids, which differ. The order of interfaces does not matter. */
  const comparable = (model: PackageModel, nameOf: (packageId: string) => string | undefined): unknown => {
    const { dataTypes } = model;
    const interfaces = model.interfaces.toSorted((a, b) => a.entityName.localeCompare(b.entityName));
    const text = JSON.stringify({ interfaces, dataTypes });
    const named = text.replaceAll(/[0-9a-f]{64}/g, (id) => (id === model.packageId ? model.name : (nameOf(id) ?? id)));
    return JSON.parse(named);
  };

  it.each([
    ['splice-api-token-metadata-v1'],
    ['splice-api-token-holding-v1'],
    ['splice-api-token-transfer-instruction-v1'],
  ])('of the token standard have the interfaces and types of the generated ones: %s', (name) => {
    const compiled = readDar(`${name}-1.0.0.dar`, name);
    const written = demoPackages.find((one) => one.name === name);
    if (written === undefined) throw new Error(`${name} is not written`);
    const ownModel = comparable(readPackageArchive(written.payload), (id) => all.find((one) => one.id === id)?.name);
    expect(ownModel).toEqual(comparable(compiled.main, (id) => compiled.packages(id)?.name));
  });
});
