/**
 * Pure: the SQL that keeps the active contracts of a template as rows with real columns. Whatever ends, reopens, removes
 * or rewrites a contract is noticed by triggers, in the transaction that does it and whoever does it; what begins is
 * entered when the transaction that moves the stream row commits, because only then everything it has stored is there.
 */
import { createHash } from 'node:crypto';
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { ReadSchemas } from '../readers/read-schemas.ts';
import { definition, described, fieldColumns, plainCast, type ViewDefinition } from '../typed/definitions.ts';
import type { NamedView } from '../typed/registry.ts';
import { shapesOf, type ViewShape } from '../typed/shapes.ts';
import { fillFunction } from './fill-function.ts';
import { keepFunctions, triggerScript } from './keep-functions.ts';
import { materializedNames, type MaterializedNames } from './names.ts';

/** One materialized view as it should be. */
export interface MaterializedDefinition {
  readonly names: MaterializedNames;
  readonly mark: string;
  /** Makes the table and the functions. */
  readonly create: string;
  /** Makes the triggers on contracts and lifetimes. */
  readonly triggers: string;
  /** Makes the trigger on the stream row, which needs a lock that the others must not be waiting with. */
  readonly streamTrigger: string;
  /** The view over the table. */
  readonly view: ViewDefinition;
  /** Columns that were to be indexed and are not there, or cannot be. */
  readonly unknown: readonly string[];
}

/** @param indexed columns of the view that get an index */
export function materializedOf(
  view: NamedView,
  schemas: ReadSchemas,
  indexed: readonly string[],
): MaterializedDefinition {
  const [shape] = shapesOf(view.subject, schemas.storage);
  if (shape === undefined) throw new Error('a template has a view of what is active');
  const names = materializedNames(view, schemas);
  const known = indexed.filter((name) => indexMethod(view, name) !== undefined);
  const create = [
    tableScript(view, names),
    ...known.map((name) => indexScript(view, names, name)),
    fillFunction(view, shape, names),
    keepFunctions(view, names),
  ].join('\n');
  const triggers = triggerScript(names);
  const streamTrigger = `create constraint trigger ${escapeIdentifier(names.trigger('complete'))} after update on ${names.storage}.stream
  deferrable initially deferred for each row execute function ${names.complete}();`;
  const tableView = definition(view, tableShape(shape, names), schemas.typed, tableFields(view));
  const mark = createHash('sha256')
    .update([create, triggers, streamTrigger, tableView.mark].join('\n'))
    .digest('hex')
    .slice(0, 16);
  const unknown = indexed.filter((name) => !known.includes(name));
  return { names, mark, create, triggers, streamTrigger, view: tableView, unknown };
}

function tableScript(view: NamedView, names: MaterializedNames): string {
  const { table, templatePk, synchronizerPk } = names;
  const comment = (column: string, text: string): string =>
    `comment on column ${table}.${column} is ${escapeLiteral(text)};`;
  const fields = view.columns.map(({ name, type }) => `  ${escapeIdentifier(name)} ${type},`);
  return `create table ${table} (
  contract_id text not null,
  ${synchronizerPk} integer not null,
  created_at_offset bigint not null,
  ${templatePk} integer not null,
  created_at timestamptz,
  signatories text[],
  observers text[],
${fields.join('\n')}
  primary key (contract_id, ${synchronizerPk}, created_at_offset)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
create index on ${table} (created_at_offset);
comment on table ${table} is ${escapeLiteral(`The rows of view ${view.name}, kept by the indexer; the view adds the payload and the version.`)};
${comment('contract_id', 'Contract id.')}
${comment(synchronizerPk, 'Synchronizer it is active on, see synchronizers.')}
${comment('created_at_offset', 'Offset of the activation.')}
${comment(templatePk, 'Template as created, see templates.')}
${comment('created_at', 'Ledger effective time of the create.')}
${comment('signatories', 'Signatories.')}
${comment('observers', 'Observers.')}
${described(view)
  .map(([name, text]) => comment(escapeIdentifier(name), text))
  .join('\n')}`;
}

/** Texts may be longer than a btree holds, so they get an index for equality; of jsonb there is none to speak of. */
function indexMethod({ columns }: NamedView, name: string): 'btree' | 'hash' | undefined {
  const type = columns.find((column) => column.name === name)?.type;
  if (type === undefined || type === 'jsonb') return undefined;
  return type === 'text' ? 'hash' : 'btree';
}

function indexScript(view: NamedView, { table }: MaterializedNames, name: string): string {
  return `create index on ${table} using ${indexMethod(view, name) ?? ''} (${escapeIdentifier(name)});`;
}

/** What the view gets from elsewhere than the table; joins that can be left out when nobody asks. */
const elsewhere: Readonly<Record<string, string>> = {
  package_version: 'p.package_version',
  package_id: 't.package_id',
  payload: 'c.payload',
};

function tableShape(shape: ViewShape, names: MaterializedNames): ViewShape {
  const { storage, table, templatePk } = names;
  return {
    ...shape,
    leading: shape.leading.map((column) => ({
      ...column,
      sql: elsewhere[column.name] ?? `a.${escapeIdentifier(column.name)}`,
    })),
    from: [
      `from ${table} a`,
      `left join ${storage}.templates t on t.template_pk = a.${templatePk}`,
      `left join ${storage}.packages p on p.package_id = t.package_id`,
      `left join ${storage}.contracts c on c.contract_id = a.contract_id and c."offset" = a.created_at_offset`,
    ].join('\n  '),
  };
}

function tableFields({ columns }: NamedView): readonly (readonly [string, string])[] {
  return columns.map(({ name }) => [name, `a.${escapeIdentifier(name)}`]);
}

/** The view as it reads contracts. */
export function plainView(view: NamedView, schemas: ReadSchemas): ViewDefinition {
  const [shape] = shapesOf(view.subject, schemas.storage);
  if (shape === undefined) throw new Error('a template has a view of what is active');
  return definition(view, shape, schemas.typed, fieldColumns(view, shape, plainCast));
}
