/** Every package of every DAR at hand, and those the sandbox writes: fetched from a participant, read, made into views. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLedgerClient, type LedgerClient } from '../../../src/ledger/api/client.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import { readPackageArchive } from '../../../src/daml/package-archive.ts';
import type { PackageModel } from '../../../src/daml/package-model.ts';
import { licensingUpgrade } from '../../../packages/ledger-sandbox/src/demo/packages/applications.ts';
import { demoPackages, startSandbox } from '../../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { migrate } from '../../../src/store/schema/migrations.ts';
import { storePackage } from '../../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../../src/store/typed/views.ts';
import { archivesOf, darNames, haveDars } from '../../daml/dars.ts';
import { createTestDatabase, query } from '../../support/database.ts';
import { darsFolder } from '../../support/wire/recorded.ts';

function clientOf(url: string): LedgerClient {
  return createLedgerClient({ url, tokenSource: createTokenSource({}), insecure: false, requestTimeoutMs: 10_000 });
}

/** The packages of a DAR as the participant gives them out after it was uploaded. */
async function fetched(dar: string): Promise<readonly PackageModel[]> {
  const sandbox = await startSandbox({});
  try {
    const ledger = clientOf(sandbox.url);
    await ledger.packages.uploadDar(readFileSync(join(darsFolder, dar)));
    const models: PackageModel[] = [];
    for (const archive of archivesOf(dar).values()) {
      const sent = readPackageArchive(archive);
      const { bytes } = await ledger.packages.content(sent.packageId);
      const model = readPackageArchive(bytes, sent.packageId);
      expect(model).toEqual(sent);
      models.push(model);
    }
    return models;
  } finally {
    await sandbox.close();
  }
}

/** The sandbox's own packages, those that a demo upgrades to included. */
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

/** Makes the views of everything in the packages, as if each template and interface had been seen in an event. */
async function expectViews(models: readonly PackageModel[]): Promise<void> {
  await using created = await createTestDatabase();
  const { url } = created;
  const database = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' });
  await migrate(database);
  for (const model of models) await storePackage(database, model);
  const seen = models.flatMap((model) =>
    [...model.templates, ...model.interfaces].map(({ moduleName, entityName }) => ({
      ...model,
      moduleName,
      entityName,
    })),
  );
  const rows = seen.map(({ packageId, moduleName, entityName, name }, index) =>
    [index + 1, packageId, moduleName, entityName, name].map((value) => `'${value}'`).join(', '),
  );
  await query(url, `insert into ledger.templates values ${rows.map((row) => `(${row})`).join(', ')}`);
  const { made, failed } = await syncTypedViews(database, models);
  await database.close();
  expect(failed).toEqual([]);
  // An interface without a field in its view has none: there would be no column of its own.
  const templates = models.flatMap(({ name, templates: all }) =>
    all.map((one) => `${name}:${one.moduleName}:${one.entityName}`),
  );
  expect(made.length).toBeGreaterThanOrEqual(new Set(templates).size);
  for (const view of made) await query(url, `select * from typed."${view}"`);
}

it('packages that the sandbox writes become views that Postgres accepts', async () => {
  await expectViews(await own());
});

describe.skipIf(!haveDars('their packages are not fetched back'))('packages from the participant', () => {
  it.each(darNames())('of %s become views that Postgres accepts', async (dar) => {
    await expectViews(await fetched(dar));
  });
});
