/** Expectations about typed views of packages that a participant returned. */
import { expect } from 'vitest';
import { createLedgerClient, type LedgerClient } from '../../../src/ledger/api/client.ts';
import { createTokenSource } from '../../../src/ledger/access/token.ts';
import type { PackageModel } from '../../../src/daml/package-model.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { migrate } from '../../../src/store/schema/migrations.ts';
import { storePackage } from '../../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../../src/store/typed/views.ts';
import { createTestDatabase, query } from '../../support/database.ts';

export function clientOf(url: string): LedgerClient {
  return createLedgerClient({ url, tokenSource: createTokenSource({}), insecure: false, requestTimeoutMs: 10_000 });
}

/** Creates typed views of all templates and interfaces in the packages, as if each had been seen in an event. */
export async function expectViews(models: readonly PackageModel[]): Promise<void> {
  await using testDatabase = await createTestDatabase();
  const { url } = testDatabase;
  const database = openDatabase({ url, schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' });
  await migrate(database);
  for (const model of models) await storePackage(database, model);
  const seenEntities = models.flatMap((model) =>
    [...model.templates, ...model.interfaces].map(({ moduleName, entityName }) => ({
      ...model,
      moduleName,
      entityName,
    })),
  );
  const rows = seenEntities.map(({ packageId, moduleName, entityName, name }, index) =>
    [index + 1, packageId, moduleName, entityName, name].map((value) => `'${value}'`).join(', '),
  );
  await query(url, `insert into ledger.templates values ${rows.map((row) => `(${row})`).join(', ')}`);
  const { made: createdViews, failed: failedViews } = await syncTypedViews(database, models);
  await database.close();
  expect(failedViews).toEqual([]);
  // An interface whose view has no fields gets no typed view, because the view would have no columns of its own.
  const templates = models.flatMap(({ name, templates: viewTemplates }) =>
    viewTemplates.map((entity) => `${name}:${entity.moduleName}:${entity.entityName}`),
  );
  expect(createdViews.length).toBeGreaterThanOrEqual(new Set(templates).size);
  for (const view of createdViews) await query(url, `select * from typed."${view}"`);
}
