/** Fetches every package of every DAR from a participant, reads it, and converts it to typed views. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPackageArchive } from '../../../src/daml/package-archive.ts';
import type { PackageModel } from '../../../src/daml/package-model.ts';
import { startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { archivesOf, darNames, darsSkipReason } from '../../daml/dars.ts';
import { needs } from '../../support/skips/needs.ts';
import { darsFolder } from '../../support/wire/recorded.ts';
import { clientOf, expectViews } from './expect-views.ts';

/** The packages of a DAR as the participant returns them after the upload. */
async function fetchModels(dar: string): Promise<readonly PackageModel[]> {
  const sandbox = await startSandbox({});
  try {
    const ledger = clientOf(sandbox.url);
    await ledger.packages.uploadDar(readFileSync(join(darsFolder, dar)));
    const models: PackageModel[] = [];
    for (const archive of archivesOf(dar).values()) {
      const sentPackage = readPackageArchive(archive);
      const { bytes } = await ledger.packages.content(sentPackage.packageId);
      const model = readPackageArchive(bytes, sentPackage.packageId);
      expect(model).toEqual(sentPackage);
      models.push(model);
    }
    return models;
  } finally {
    await sandbox.close();
  }
}

describe('packages fetched from the participant', needs(darsSkipReason), () => {
  it.each(darNames())('produce typed views that Postgres accepts: %s', async (dar) => {
    await expectViews(await fetchModels(dar));
  });
});
