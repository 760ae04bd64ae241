/** `active.sql`: computes the contracts that are active at an offset from the files alone. */

export const activeSqlName = 'active.sql';

/**
 * SQL for DuckDB, to be run in the folder of the lake, or with `lake` set to it. It reads the manifest and its segments
 * on every query.
 */
export const activeSql = `-- Contracts active at an offset: view lake_active. For DuckDB 1.2 or later:
--   set variable lake = '/srv/lake';        -- the folder; default: the current one
--   set variable at_offset = 120000;        -- the offset; default: the last one in the lake
--   .read /srv/lake/active.sql
--   select template_fqn, count(*) from lake_active group by 1;
-- Reads only files that the manifest and its segments name.
set variable lake = coalesce(getvariable('lake'), '.');
set variable lake_segments = (select list(getvariable('lake') || '/' || (segment ->> 'path'))
  from (select unnest(segments::json[]) as segment
          from read_json(getvariable('lake') || '/manifest.json', columns = {segments: 'JSON[]'}, maximum_object_size = 1073741824)));
create or replace temporary table lake_files as
  select file ->> 'table' as folder, getvariable('lake') || '/' || (file ->> 'path') as path,
         (file ->> 'from')::bigint as first_offset
    from (select unnest(files::json[]) as file
            from read_json(getvariable('lake_segments'), columns = {files: 'JSON[]'}, maximum_object_size = 1073741824))
   where file ->> 'path' is not null;
set variable at_offset = coalesce(getvariable('at_offset')::bigint,
  (select until from read_json(getvariable('lake') || '/manifest.json', columns = {until: 'BIGINT'}, maximum_object_size = 1073741824)));
set variable lake_contracts = (select list(path order by first_offset) from lake_files
  where folder = 'contracts' and (first_offset <= getvariable('at_offset') or first_offset = 0));
set variable lake_ends = (select list(path order by first_offset) from lake_files
  where folder = 'contract_ends' and (first_offset <= getvariable('at_offset') or first_offset = 0));
create or replace temporary view lake_active as
  select c.*
    from read_parquet(getvariable('lake_contracts'), union_by_name = true) c
    anti join (select created_at_offset, node_id from read_parquet(getvariable('lake_ends'), union_by_name = true)
                where "offset" <= getvariable('at_offset')) e
      using (created_at_offset, node_id)
   where c.created_at_offset <= getvariable('at_offset');
`;
