/** Pure: the function that enters active contracts into a table of typed columns, whatever their values are. */
import { escapeIdentifier, escapeLiteral } from 'pg';
import { fieldColumns, plainCast, type Cast, type ColumnSql } from '../typed/definitions.ts';
import type { NamedView } from '../typed/registry.ts';
import type { ViewShape } from '../typed/shapes.ts';
import type { MaterializedNames } from './names.ts';

/** Null where the type cannot hold the value. */
const fittingCast: Cast = (text, type) => `fitting(${text}, null::${type})`;

const leading = ['contract_id', 'created_at_offset', 'created_at', 'signatories', 'observers'];

/**
 * Values are cast as the view does it. Where that fails, which the types of a lawful ledger rule out, the contracts are
 * entered with null for what does not fit; and without any field where even that row would be too large: a value never
 * stops the stream, and the payload is where it always was.
 */
export function fillFunction(view: NamedView, shape: ViewShape, names: MaterializedNames): string {
  const insert = (fields: readonly ColumnSql[]): string => insertion(view, shape, names, fields);
  const fitting = fieldColumns(view, shape, fittingCast);
  return `create function ${names.fill}(after_offset bigint, up_to bigint) returns bigint
  language plpgsql security definer set search_path = ${names.storage}, pg_temp as $fill$
#variable_conflict use_column
declare
  entered bigint;
begin
  if pg_trigger_depth() = 0 and not has_table_privilege(session_user, ${escapeLiteral(`${names.storage}.contracts`)}, 'insert') then
    raise insufficient_privilege using message = 'only the writer of the stream may fill tables';
  end if;
  begin
    ${insert(fieldColumns(view, shape, plainCast))}
    get diagnostics entered = row_count;
    return entered;
  exception when data_exception or program_limit_exceeded then
    null;
  end;
  update materialized set unfit = unfit + (${countUnfit(view, shape, names, fitting)})
   where view_name = ${escapeLiteral(view.name)};
  begin
    ${insert(fitting)}
    get diagnostics entered = row_count;
    return entered;
  exception when program_limit_exceeded then
    null;
  end;
  ${insert([])}
  get diagnostics entered = row_count;
  return entered;
end $fill$;
revoke execute on function ${names.fill}(bigint, bigint) from public;
comment on function ${names.fill}(bigint, bigint) is ${escapeLiteral(`Enters into the table of view ${view.name} what was activated after the first and up to the second offset and is active.`)};`;
}

function insertion(view: NamedView, shape: ViewShape, names: MaterializedNames, fields: readonly ColumnSql[]): string {
  const sources = new Map(shape.leading.map(({ name, sql }) => [name, sql]));
  const columns = [
    ...leading.map((name) => [name, sources.get(name) ?? 'null'] as const),
    [names.templatePk, 'l.template_pk'],
    [names.synchronizerPk, 'l.synchronizer_pk'],
    ...fields.map(([name, sql]) => [escapeIdentifier(name), sql] as const),
  ] as const;
  return `insert into ${names.table} (${columns.map(([name]) => name).join(', ')})
    select ${columns.map(([, sql]) => sql).join(', ')}
    ${missing(view, names)}
    on conflict do nothing;`;
}

/**
 * The active contracts of the range that the table lacks, each looked for by its id: the plan is kept from a time when
 * the tables are small, and an index that looks as good then (`+ 0` rules those on offsets out) or a join may not be later.
 */
function missing({ subject }: NamedView, { storage, table, synchronizerPk }: MaterializedNames): string {
  return `from ${storage}.templates t
    join ${storage}.lifetimes l on l.template_pk = t.template_pk
    left join ${storage}.contracts c on c.contract_id = l.contract_id and c."offset" + 0 = l.activated_offset
   where t.module_name = ${escapeLiteral(subject.moduleName)} and t.entity_name = ${escapeLiteral(subject.entityName)}
     and t.package_name = ${escapeLiteral(subject.packageName)}
     and l.deactivated_offset is null and l.activated_offset > $1 and l.activated_offset <= $2
     and (select a.contract_id from ${table} a where a.contract_id = l.contract_id and a.${synchronizerPk} = l.synchronizer_pk
             and a.created_at_offset + 0 = l.activated_offset limit 1) is null`;
}

function countUnfit(
  view: NamedView,
  shape: ViewShape,
  names: MaterializedNames,
  fitting: readonly ColumnSql[],
): string {
  const values = (fields: readonly ColumnSql[]): string =>
    `cardinality(array_remove(array[${fields.map(([, sql]) => `(${sql})::text`).join(', ')}]::text[], null))`;
  const written = fieldColumns(view, shape, (text) => `(${text})`);
  const casts = view.columns.map(({ type }) => type !== 'jsonb' && type !== 'interval');
  const some = (fields: readonly ColumnSql[]): readonly ColumnSql[] => fields.filter((_, at) => casts[at]);
  return `select count(*) ${missing(view, names)} and ${values(some(written))} > ${values(some(fitting))}`;
}
