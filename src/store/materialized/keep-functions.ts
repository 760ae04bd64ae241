/** Pure: the trigger functions that keep a table of active contracts as the storage is. */
import { escapeIdentifier, escapeLiteral } from 'pg';
import type { NamedView } from '../typed/registry.ts';
import type { MaterializedNames } from './names.ts';

const largestOffset = '9223372036854775807';

/** The two trigger functions. */
export function keepFunctions(view: NamedView, names: MaterializedNames): string {
  return `${keepFunction(view, names)}\n${completeFunction(view, names)}`;
}

/**
 * On lifetimes and contracts. A batch activates after what the table was kept to; whatever comes from elsewhere (a going
 * back, a seed that is merged, a redaction) makes the commit look from the earliest offset it touched.
 */
function keepFunction({ name, subject }: NamedView, names: MaterializedNames): string {
  const { keep, table, storage, synchronizerPk } = names;
  const view = escapeLiteral(name);
  // One look into the index per changed row: a plan of the first minute, when the table is small, would compare all with all.
  const remove = (rows: string, condition: string, same: string): string =>
    `delete from ${table} a where a.ctid = any (array(
      select found.ctid from ${rows} n
       cross join lateral (select a.ctid from ${table} a where a.contract_id = n.contract_id and ${same} offset 0) found
       where n.template_pk = any (mine)${condition}))`;
  const ofLifetime = `a.${synchronizerPk} = n.synchronizer_pk and a.created_at_offset + 0 = n.activated_offset`;
  return `create function ${keep}() returns trigger
  language plpgsql security definer set search_path = ${storage}, pg_temp as $keep$
#variable_conflict use_column
declare
  mine integer[] := array(select t.template_pk from templates t
                           where t.module_name = ${escapeLiteral(subject.moduleName)}
                             and t.entity_name = ${escapeLiteral(subject.entityName)}
                             and t.package_name = ${escapeLiteral(subject.packageName)});
  earliest bigint;
  secure boolean;
begin
${emptied(view, names)}
  if tg_table_name = 'contracts' then
    if not exists (select from new_rows n where n.template_pk = any (mine)) then
      return null;
    end if;
    -- Not while a slice with the former contents is being entered in the background.
    perform from stream for update;
    with gone as (${remove('new_rows', '', 'a.created_at_offset + 0 = n."offset"')} returning a.created_at_offset)
    select min(created_at_offset) into earliest from gone;
  elsif tg_op = 'INSERT' then
    select min(n.activated_offset) into earliest from new_rows n
     where n.activated_offset <= (select kept_to from materialized where view_name = ${view})
       and (n.template_pk = any (mine) or not exists (select from templates t where t.template_pk = n.template_pk));
  elsif tg_op = 'UPDATE' then
    ${remove('new_rows', ' and n.deactivated_offset is not null', ofLifetime)};
    select min(n.activated_offset) into earliest from new_rows n
     where n.template_pk = any (mine) and n.deactivated_offset is null;
  elsif tg_op = 'DELETE' then
    ${remove('old_rows', ' and n.deactivated_offset is null', ofLifetime)};
  end if;
  if earliest is not null then
    perform materialize_again(${view}, earliest);
  end if;
  return null;
end $keep$;
comment on function ${keep}() is ${escapeLiteral(`Keeps the table of view ${name} as lifetimes and contracts are.`)};`;
}

/** A seed begins: the view reads contracts until the table is filled from them again. Replaced, it forgets whose rights it has. */
function emptied(view: string, { viewName, table }: MaterializedNames): string {
  return `  if tg_op = 'TRUNCATE' then
    secure := (select c.reloptions::text[] && array['security_invoker=true', 'security_invoker=on']
                 from pg_class c where c.oid = ${escapeLiteral(viewName)}::regclass);
    execute (select plain_view from materialized where view_name = ${view});
    if secure then
      execute ${escapeLiteral(`alter view ${viewName} set (security_invoker = true)`)};
    end if;
    delete from ${table};
    update materialized set state = 'building', kept_to = null, filled_to = -1, fill_until = null
     where view_name = ${view};
    return null;
  end if;`;
}

/** On the stream row, at the commit. */
function completeFunction({ name }: NamedView, { complete, fill, storage }: MaterializedNames): string {
  const view = escapeLiteral(name);
  return `create function ${complete}() returns trigger
  language plpgsql security definer set search_path = ${storage}, pg_temp as $complete$
declare
  reached bigint := (select s.checkpoint from stream s);
  kept bigint := (select m.kept_to from materialized m where m.view_name = ${view});
begin
  -- Null while nothing is published, and before the first slice was entered.
  if kept < reached then
    perform ${fill}(kept, ${largestOffset});
    update materialized set kept_to = reached where view_name = ${view};
  end if;
  return null;
end $complete$;
comment on function ${complete}() is ${escapeLiteral(`Enters into the table of view ${name} what the transaction has activated.`)};`;
}

const rowChanges = [
  ['lifetimes', 'insert', 'referencing new table as new_rows'],
  ['lifetimes', 'update', 'referencing new table as new_rows'],
  ['lifetimes', 'delete', 'referencing old table as old_rows'],
  ['lifetimes', 'truncate', ''],
  ['contracts', 'update', 'referencing new table as new_rows'],
] as const;

/** The triggers on lifetimes and contracts. */
export function triggerScript({ storage, keep, trigger }: MaterializedNames): string {
  return rowChanges
    .map(
      ([table, event, rows]) =>
        `create trigger ${escapeIdentifier(trigger(event))} after ${event} on ${storage}.${table}
  ${rows} for each statement execute function ${keep}();`,
    )
    .join('\n');
}
