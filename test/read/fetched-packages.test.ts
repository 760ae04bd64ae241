/** Every package of every DAR at hand: uploaded to a participant, fetched back, read, and made into views. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLedgerClient } from '../../src/ledger/client.ts';
import { createTokenSource } from '../../src/ledger/token.ts';
import { readPackageArchive } from '../../src/packages/package-archive.ts';
import type { PackageModel } from '../../src/packages/package-model.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrations.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { archivesOf, darNames, haveDars } from '../packages/dars.ts';
import { createTestDatabase, query } from '../support/database.ts';
import { darsFolder } from '../support/recorded.ts';

/** The packages of a DAR as the participant gives them out after it was uploaded. */
async function fetched(dar: string): Promise<readonly PackageModel[]> {
  const sandbox = await startSandbox({});
  try {
    const ledger = createLedgerClient({
      url: sandbox.url,
      tokenSource: createTokenSource({}),
      insecure: false,
      requestTimeoutMs: 10_000,
    });
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

describe.skipIf(!haveDars('their packages are not fetched back'))('packages from the participant', () => {
  it.each(darNames())('of %s become views that Postgres accepts', async (dar) => {
    const models = await fetched(dar);
    await using created = await createTestDatabase();
    const database = openDatabase({
      url: created.url,
      schema: 'ledger',
      statementTimeoutMs: 60_000,
      applicationName: 'test',
    });
    await migrate(database);
    for (const model of models) await storePackage(database, model);
    // As if each template and interface had been seen in an event.
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
    await query(created.url, `insert into ledger.templates values ${rows.map((row) => `(${row})`).join(', ')}`);
    const { made, failed } = await syncTypedViews(database, models);
    await database.close();
    expect(failed).toEqual([]);
    expect(made.length).toBeGreaterThanOrEqual(seen.length);
    for (const view of made) await query(created.url, `select * from typed."${view}"`);
  });
});
