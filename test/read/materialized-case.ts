/** A history of one package whose views are materialized, step by step as the indexer does it. */
import { decodeActiveContract } from '../../src/ledger/wire.ts';
import type { DamlType, PackageModel } from '../../src/packages/package-model.ts';
import { openDatabase, type Database } from '../../src/store/database.ts';
import { fillStep } from '../../src/store/materialized/fill.ts';
import type { MaterializedTemplate } from '../../src/store/materialized/registry.ts';
import { storePackage } from '../../src/store/typed/package-store.ts';
import { syncTypedViews } from '../../src/store/typed/views.ts';
import { createReadDatabase, type ReadDatabase } from './read-database.ts';

export const wholeTemplate: readonly MaterializedTemplate[] = [
  { template: 'iou:Main:A', columns: ['owner', 'amount'] },
];

const fields: Readonly<Record<string, DamlType>> = {
  owner: { kind: 'builtin', name: 'party' },
  amount: { kind: 'numeric', scale: 10 },
};

/** A version of package `iou` with templates Main:A, Main:B and Main:C, whose payloads are those of test/support/frames.ts. */
export function iouPackage(
  packageId: string,
  version: string,
  more: Readonly<Record<string, DamlType>> = {},
): PackageModel {
  const names = ['A', 'B', 'C'];
  const record = {
    kind: 'record',
    parameters: [],
    fields: Object.entries({ ...fields, ...more }).map(([name, type]) => ({ name, type })),
  } as const;
  return {
    packageId,
    name: 'iou',
    version,
    languageVersion: '2.1',
    templates: names.map((entityName) => ({
      moduleName: 'Main',
      entityName,
      choices: [],
      implements: [],
      key: undefined,
    })),
    interfaces: [],
    dataTypes: Object.fromEntries(names.map((name) => [`Main:${name}`, record])),
    dependencies: [],
  };
}

export const first = 'ab'.repeat(32);
export const second = 'ef'.repeat(32);

export interface MaterializedCase extends AsyncDisposable {
  readonly history: ReadDatabase;
  database: Database;
  readonly packages: PackageModel[];
  /** Makes views and tables as the option says; gives back what failed. */
  sync(materialize?: readonly MaterializedTemplate[]): Promise<readonly { readonly error: Error }[]>;
  /** Fills until there is nothing to do; the steps. */
  fill(): Promise<readonly string[]>;
  /** One step of that. */
  step(): Promise<string>;
  /** Connections anew, as of a process that was killed. */
  restart(): Promise<void>;
  readonly decodeEntry: typeof decodeActiveContract;
  /** Compares view `iou__a` with what it shows without a table. */
  difference(): Promise<{
    readonly readsTable: boolean;
    readonly rows: number;
    readonly differing: readonly unknown[];
  }>;
}

const byHand = (packages: readonly PackageModel[]): string => {
  const more = packages.some((model) => JSON.stringify(model).includes('"memo"'))
    ? `, c.payload ->> 'memo' as memo`
    : '';
  return `select l.contract_id, l.activated_offset as created_at_offset, c.created_at, c.signatories, c.observers,
                 p.package_version, t.package_id, c.payload, c.payload ->> 'owner' as owner,
                 (c.payload ->> 'amount')::numeric as amount${more}
            from templates t join lifetimes l using (template_pk)
            join contracts c on c.contract_id = l.contract_id and c."offset" = l.activated_offset
            left join packages p using (package_id)
           where t.entity_name = 'A' and t.module_name = 'Main' and t.package_name = 'iou'
             and l.deactivated_offset is null`;
};

export const identity = { participantId: 'p::1220', filter: '{}', filterHash: 'f', shape: 'LEDGER_EFFECTS' };

export async function openCase(): Promise<MaterializedCase> {
  const history = await createReadDatabase();
  const options = { schema: 'ledger', statementTimeoutMs: 60_000, applicationName: 'test materialized' };
  const open = (): Database => openDatabase({ url: history.url, ...options });
  const packages = [iouPackage(first, '1.0.0')];
  const test: MaterializedCase = {
    history,
    database: open(),
    packages,
    decodeEntry: decodeActiveContract,
    step: () => fillStep(test.database),
    restart: async () => {
      await test.database.close(0);
      test.database = open();
    },
    sync: async (materialize) => {
      for (const each of packages) await storePackage(test.database, each);
      return (await syncTypedViews(test.database, packages, false, materialize)).failed;
    },
    fill: async () => {
      const steps: string[] = [];
      for (;;) {
        const step = await fillStep(test.database);
        if (step === 'idle') return steps;
        steps.push(step);
      }
    },
    difference: async () => {
      const all = byHand(packages);
      const [view] = await history.query<{ reads: boolean }>(
        `select pg_get_viewdef('typed.iou__a'::regclass) like '%iou\\_\\_a\\_\\_active%' as reads`,
      );
      const differing = await history.query(
        `(select 'lacks' as what, x.* from (${all} except all select * from typed.iou__a) x)
         union all (select 'has', x.* from (select * from typed.iou__a except all ${all}) x)`,
      );
      const [{ rows } = { rows: 0 }] = await history.query<{ rows: number }>(
        'select count(*)::int as rows from typed.iou__a',
      );
      return { readsTable: view?.reads === true, rows, differing };
    },
    [Symbol.asyncDispose]: async () => {
      await test.database.close();
      await history[Symbol.asyncDispose]();
    },
  };
  return test;
}
