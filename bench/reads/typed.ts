/**
 * Adds the package of the filled contracts with the indexer's own code, so that the typed view of their template
 * exists.
 */
import type { DamlType, PackageModel } from '../../src/daml/package-model.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { templateName } from '../replay/names.ts';
import { schema } from '../postgres.ts';

const text: DamlType = { kind: 'builtin', name: 'text' };
const party: DamlType = { kind: 'builtin', name: 'party' };

/** Types of the payloads of reads/fill.ts. */
function modelOf(): PackageModel {
  const { id, packageName } = templateName(0);
  const [packageId = '', moduleName = '', entityName = ''] = id.split(':');
  const namedType = (name: string): DamlType => ({
    kind: 'named',
    name: `${packageId}:${moduleName}:${name}`,
    arguments: [],
  });
  const record = (fields: Readonly<Record<string, DamlType>>) =>
    ({
      kind: 'record',
      parameters: [],
      fields: Object.entries(fields).map(([name, type]) => ({ name, type })),
    }) as const;
  return {
    packageId,
    name: packageName,
    version: '1.0.0',
    languageVersion: '2.1',
    templates: [{ moduleName, entityName, choices: [], implements: [], key: undefined }],
    interfaces: [],
    dataTypes: {
      [`${moduleName}:${entityName}`]: record({
        operator: party,
        owner: party,
        instrument: namedType('Instrument'),
        amount: { kind: 'numeric', scale: 10 },
        round: { kind: 'builtin', name: 'int64' },
        note: text,
        lock: { kind: 'optional', of: text },
        account: text,
        meta: namedType('Metadata'),
      }),
      [`${moduleName}:Instrument`]: record({ source: party, id: text }),
      [`${moduleName}:Metadata`]: record({ values: { kind: 'textmap', of: text } }),
    },
    dependencies: [],
  };
}

/**
 * Creates the typed views. Returns the unquoted name of the view of the filled template; undefined if there is none.
 */
export async function makeTypedView(url: string): Promise<string | undefined> {
  const database = openDatabase({ url, schema, statementTimeoutMs: 60_000, applicationName: 'bench views' });
  try {
    const model = modelOf();
    await storePackage(database, model);
    const { failed: failedViews } = await syncTypedViews(database, [model]);
    if (failedViews[0] !== undefined) throw failedViews[0].error;
    const { rows } = await database.withClient((client) =>
      client.query<{ view_name: string }>(`select view_name from typed_views where kind = 'template' limit 1`),
    );
    return rows[0]?.view_name;
  } finally {
    await database.close();
  }
}
