/** Which views are to read a table of active contracts, and which of these tables are to be made, made anew or removed. */
import { ExitCode, IndexerError } from '../../errors.ts';
import type { Database } from '../database.ts';
import type { ReadSchemas } from '../readers/read-schemas.ts';
import type { NamedView } from '../typed/registry.ts';
import { damlName } from '../typed/shapes.ts';
import { buildMaterialized, completeAtCommit, dropMaterialized } from './build.ts';
import { materializedOf, type MaterializedDefinition } from './definition.ts';
import type { MaterializedRow, MaterializedTemplate } from './registry.ts';

/** What is to become of one view. */
export interface TablePlan {
  /** Undefined: no table. */
  readonly wanted: MaterializedDefinition | undefined;
  readonly indexed: readonly string[];
  readonly row: MaterializedRow | undefined;
  /** Whether the view reads the table now. */
  readonly ready: boolean;
}

/**
 * @param row what the database has of the view
 * @param templates what the operator wants; undefined: what there is
 */
export function planTable(
  view: NamedView,
  schemas: ReadSchemas,
  row: MaterializedRow | undefined,
  templates: readonly MaterializedTemplate[] | undefined,
): TablePlan {
  const { subject } = view;
  const wish = templates?.find(({ template }) => template === damlName(subject));
  const indexed = templates === undefined ? row?.indexed : wish?.columns;
  if (subject.kind !== 'template' || indexed === undefined)
    return { wanted: undefined, indexed: [], row, ready: false };
  const wanted = materializedOf(view, schemas, indexed);
  return { wanted, indexed, row, ready: row?.state === 'ready' && row.mark === wanted.mark };
}

/** Wishes that no view answers, each with the reason an operator is told. @param names Daml names of the templates that have views */
export function unmetWishes(
  names: ReadonlySet<string>,
  templates: readonly MaterializedTemplate[],
): { readonly view: string; readonly error: IndexerError }[] {
  return templates
    .filter(({ template }) => !names.has(template))
    .map(({ template }) => ({ view: template, error: unknownTemplate(template) }));
}

function unknownTemplate(template: string): IndexerError {
  return new IndexerError(`there is no typed view of ${template}, so it has no table of active contracts`, {
    code: 'MATERIALIZED_TEMPLATE_UNKNOWN',
    retry: 'park',
    exitCode: ExitCode.configuration,
    remedy:
      'nothing, if the ledger has not shown the template yet: its table is made when it does; else name it in INDEXER_MATERIALIZE as `ledger-indexer views list` prints it',
  });
}

/** Whether there is something to do beside the view. */
export function isTableOpen({ wanted, row, ready }: TablePlan): boolean {
  return !ready && (wanted !== undefined || row !== undefined);
}

/**
 * Makes the table of a view what it should be. To be called once the view reads what it should, which a new table is not yet.
 * @param seeded whether the stream has contracts that count: before, nothing is made
 * @throws IndexerError STORE_LOCKED (retry), MATERIALIZED_COLUMN_UNKNOWN when all is done but an index
 */
export async function alignTable(database: Database, view: NamedView, plan: TablePlan, seeded: boolean): Promise<void> {
  const { wanted, row, indexed } = plan;
  if (row !== undefined && row.mark !== wanted?.mark) await dropMaterialized(database, view);
  if (wanted === undefined || !seeded) return;
  if (row?.mark !== wanted.mark) await buildMaterialized(database, view, wanted, indexed);
  else if (!plan.ready) await completeAtCommit(database, wanted);
  if (wanted.unknown.length > 0) throw unknownColumns(view, wanted.unknown);
}

function unknownColumns(view: NamedView, columns: readonly string[]): IndexerError {
  return new IndexerError(`view ${view.name} has no column ${columns.join(', ')} that can be indexed`, {
    code: 'MATERIALIZED_COLUMN_UNKNOWN',
    retry: 'park',
    exitCode: ExitCode.configuration,
    remedy: 'name columns as `ledger-indexer views list` prints them, and none of type jsonb, in INDEXER_MATERIALIZE',
  });
}
