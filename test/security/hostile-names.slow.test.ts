/** Third parties choose names on the ledger. The text of a name is never run as SQL. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PackageModel } from '../../src/daml/package-model.ts';
import { openDatabase } from '../../src/store/connection/database.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { created, exercised, transaction } from '../support/frames.ts';
import { createReadDatabase } from '../read/read-database.ts';

const hostileNames = [
  `"; drop schema ledger cascade; --`,
  `'); drop table ledger.contracts; --`,
  `$$; drop table ledger.updates; $$`,
  `\\'; drop table ledger.stream; --`,
  `%I %s %L`,
  `\u202etxet desrever\u2066`,
  `/* comment */ -- line\nbreak`,
  `pg_catalog`,
  'long'.repeat(75),
  `contracts`,
  `🐦 öäü`,
] as const;

const packageIdOf = (index: number): string => index.toString(16).padStart(64, 'a');

/** A package in which the package, module, template, choice and field have the hostile name. */
function packageOf(name: string, index: number): PackageModel {
  const field = { name, type: { kind: 'builtin', name: 'text' } } as const;
  return {
    packageId: packageIdOf(index),
    name,
    version: name,
    languageVersion: '2.1',
    templates: [
      {
        moduleName: name,
        entityName: name,
        choices: [
          {
            name,
            consuming: false,
            argument: { kind: 'builtin', name: 'text' },
            result: { kind: 'builtin', name: 'text' },
          },
        ],
        implements: [],
        key: undefined,
      },
    ],
    interfaces: [],
    dataTypes: { [`${name}:${name}`]: { kind: 'record', parameters: [], fields: [field] } },
    dependencies: [],
  } as unknown as PackageModel;
}

describe('names that contain SQL', () => {
  it('are escaped in view names, and the views can be read', async () => {
    await using history = await createReadDatabase();
    const packages = hostileNames.map((name, index) => packageOf(name, index));
    for (const [index, name] of hostileNames.entries()) {
      const templateFields = {
        templateId: `${packageIdOf(index)}:${name.replaceAll(':', '')}:${name}`,
        packageName: name,
      };
      const contract = {
        ...templateFields,
        contractId: `00${index}`,
        offset: index + 1,
        interfaceViews: [],
        createArgument: { [name]: name },
      };
      const choice = {
        ...templateFields,
        contractId: `00${index}`,
        offset: index + 1,
        choice: name,
        interfaceId: null,
        implementedInterfaces: [],
      };
      const events = [
        { CreatedEvent: created(contract) },
        { ExercisedEvent: exercised({ ...choice, consuming: false }) },
      ];
      await history.write(transaction(index + 1, events, { commandId: name, workflowId: name }));
    }
    const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test' };
    const database = openDatabase({ url: history.url, ...options });
    for (const packageModel of packages) await storePackage(database, packageModel);
    const { made: createdViews, failed: failedViews } = await syncTypedViews(database, packages);
    await database.close();
    expect(failedViews).toEqual([]);
    expect(createdViews.length).toBeGreaterThanOrEqual(hostileNames.length);
    for (const view of createdViews) expect(view).toMatch(/^[a-z0-9_]{1,63}$/);
    const views = await history.query<{ name: string; columns: string[] }>(
      `select c.relname::text as name, array_agg(a.attname::text) as columns
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
        where c.relnamespace = 'typed'::regnamespace and c.relkind = 'v' group by 1`,
    );
    for (const { name, columns } of views) {
      for (const column of columns) expect(column).toMatch(/^[a-z0-9_]{1,63}$/);
      await history.query(`select * from typed.${name}`);
    }
    const countsQuery = `select (select count(*)::int from ledger.contracts) as contracts,
                          (select count(*)::int from ledger.updates) as updates`;
    expect(await history.query(countsQuery)).toEqual([
      { contracts: hostileNames.length, updates: hostileNames.length },
    ]);
    const names = 'select command_id as name from ledger.updates order by "offset"';
    expect(await history.query(names)).toEqual(hostileNames.map((name) => ({ name })));
  });

  it('are rejected if they contain a NUL', async () => {
    await using history = await createReadDatabase();
    const event = created({ templateId: `${packageIdOf(0)}:M:T\u0000`, offset: 1 });
    await expect(history.write(transaction(1, [{ CreatedEvent: event }]))).rejects.toMatchObject({
      name: 'IndexerError',
      retry: 'park',
    });
  });
});

describe('the sources in src/store', () => {
  const store = join(import.meta.dirname, '../../src/store');
  const files = readdirSync(store, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

  it('do not build an identifier by putting quotes around a value', () => {
    expect(files.length).toBeGreaterThan(20);
    const unquotedLines = files.flatMap((name) =>
      readFileSync(join(store, name), 'utf8')
        .split('\n')
        .flatMap((line, index) => (unquoted(line) ? [`${name}:${index + 1}: ${line.trim()}`] : [])),
    );
    expect(unquotedLines).toEqual([]);
  });

  it('never pass SQL as text to Kysely', () => {
    for (const name of files)
      expect(readFileSync(join(store, name), 'utf8'), name).not.toMatch(/sql\.(raw|lit|id|ref)\b/);
  });
});

/** Constants of the program, and names derived from view names, which are harmless. */
const reviewedPattern = /\$\{(?:lockLimit|trigger\(event\))\}/g;

/** Whether the line is a query with `"${value}"` or `'${value}'` in it. */
function unquoted(line: string): boolean {
  return (
    /\.query\(.*(["'])\$\{[^}]*\}\1/.test(line.replaceAll(reviewedPattern, '')) &&
    !/escapeLiteral|escapeIdentifier/.test(line)
  );
}
