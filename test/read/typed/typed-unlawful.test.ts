/** Participants should reject unrelated packages with the same name. If they accept them, the views still work. */
import { expect, it } from 'vitest';
import type { DamlField, PackageModel } from '../../../src/daml/package-model.ts';
import { openDatabase } from '../../../src/store/connection/database.ts';
import { storePackage } from '../../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../../src/store/typed/views.ts';
import { created, transaction } from '../../support/frames.ts';
import { createReadDatabase } from '../read-database.ts';

const [numbers, records] = ['a1'.repeat(32), 'b2'.repeat(32)];

function versionOf(packageId: string, version: string, x: DamlField['type']): PackageModel {
  const innerField: DamlField = { name: 'y', type: { kind: 'builtin', name: 'int64' } };
  return {
    packageId,
    name: 'p',
    version,
    languageVersion: '2.1',
    templates: [{ moduleName: 'M', entityName: 'T', choices: [], implements: [], key: undefined }],
    interfaces: [],
    dataTypes: {
      'M:T': { kind: 'record', parameters: [], fields: [{ name: 'x', type: x }] },
      'M:R': { kind: 'record', parameters: [], fields: [innerField] },
    },
    dependencies: [],
  };
}

it('typed views have two columns for a field that changes from number to record', async () => {
  await using history = await createReadDatabase();
  const payloads = [
    [numbers, { x: '1' }],
    [records, { x: { y: '5' } }],
  ] as const;
  for (const [index, [packageId, createArgument]] of payloads.entries()) {
    const event = { contractId: `c${index}`, templateId: `${packageId}:M:T`, packageName: 'p', createArgument };
    await history.write(transaction(index + 1, [{ CreatedEvent: created({ ...event, offset: index + 1 }) }]));
  }
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
  const database = openDatabase({ url: history.url, ...options });
  const packages = [
    versionOf(numbers, '1.0.0', { kind: 'builtin', name: 'int64' }),
    versionOf(records, '2.0.0', { kind: 'named', name: `${records}:M:R`, arguments: [] }),
  ];
  for (const packageModel of packages) await storePackage(database, packageModel);
  expect((await syncTypedViews(database, packages)).failed).toEqual([]);
  await database.close();
  expect(await history.query('select contract_id, x::int, x_y::int from typed.p__t order by 1')).toEqual([
    { contract_id: 'c0', x: 1, x_y: null },
    { contract_id: 'c1', x: null, x_y: 5 },
  ]);
});
