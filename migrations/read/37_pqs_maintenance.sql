-- Indexes of payload fields. All templates share one table, so an index is limited to rows that have the field.
-- Postgres can prove that a comparison with a value needs only these rows. For an index limited to a list of templates
-- it could not.

create or replace function :pqs.print_create_index_for_contract(
  name text, qname text, expression text, index_type text, index_opclass text default '', use_concurrently boolean default true)
  returns text
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
as $$
declare
  pks integer[] := :pqs.__type_pks(qname);
  -- A b-tree rejects rows with more than 2,700 bytes that do not compress, which would stop the indexer.
  access_method text := case when lower(index_type) <> 'btree' then index_type
                             when expression ~ '->>|#>>|::[[:space:]]*text' then 'spgist' else 'hash' end;
begin
  if exists (select v."offset" from :storage.interface_views v where v.interface_pk = any (pks)) then
    raise exception 'Views of the interface % cannot be indexed', qname
      using errcode = 'feature_not_supported', hint = 'Index the fields of the templates that implement it.';
  elsif expression ~* '[[:<:]]cast[[:space:]]*[(]|::(?![[:space:]]*(text|jsonb))' then
    raise exception 'An index on % cannot hold the rows of one template only', expression
      using errcode = 'feature_not_supported',
            hint = 'Index the text instead: the conversion would be applied to payloads of other templates as well, and a failure would stop the indexer.';
  end if;
  return format('create index %s%I on %I.contracts using %I ((%s) %s) where (%s) is not null',
                case when use_concurrently then 'concurrently ' else '' end, name, :'storage',
                access_method, expression, index_opclass, expression);
end
$$;
comment on function :pqs.print_create_index_for_contract(text, text, text, text, text, boolean) is
  'Statement that indexes an expression over payload, e.g. (payload->''owner'')::text or payload->>''owner''. index_type is btree, hash or gin. btree creates spgist, or hash for jsonb, because a b-tree rejects long values, so that the update could not be stored. Limited to rows where the expression is not null. Run it as the owner of the storage, after set search_path = pg_catalog, pg_temp, because an index keeps the operators that it found at creation.';

-- Without its own statistics, Postgres estimates that an expression of a partial index matches one row in 200.
create or replace function :pqs.print_create_statistics_for_contract(name text, expression text) returns text
  language sql stable parallel safe
  return case when btrim(expression, '() ') <> 'payload'
              then format('create statistics if not exists %I.%I on (%s) from %I.contracts', :'storage',
                          name || '_statistics', expression, :'storage') end;
comment on function :pqs.print_create_statistics_for_contract(text, text) is
  'Statement that makes Postgres collect statistics of an indexed expression, from the next analyze; null for the payload itself. Run it together with a printed index, with the same search path. Do not run it while roles are limited to parties, because EXPLAIN reveals the values to them.';

-- An index keeps the operators of its expression, and every writing role executes them. So no operator is resolved on
-- the search path of the caller.
create or replace procedure :pqs.create_index_for_contract(
  name text, qname text, expression text, index_type text, index_opclass text default '')
  language plpgsql
  set search_path = pg_catalog, pg_temp
as $$
declare
  statement text;
begin
  execute :pqs.print_create_index_for_contract(name, qname, expression, index_type, index_opclass, false);
  -- EXPLAIN reveals statistics of all rows to roles that are limited by row security.
  if exists (select from pg_catalog.pg_policy p join pg_catalog.pg_class c on c.oid = p.polrelid
              where c.relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident(:'storage')) and not p.polpermissive) then
    if btrim(expression, '() ') <> 'payload' then
      execute format('alter index %I.%I alter column 1 set statistics 0', :'storage', name);
    end if;
    return;
  end if;
  statement := :pqs.print_create_statistics_for_contract(name, expression);
  if statement is not null then
    execute statement;
  end if;
end
$$;
comment on procedure :pqs.create_index_for_contract(text, text, text, text, text) is
  'Creates an index on an expression over payload. Objects of an extension, such as an operator class, need their schema. Blocks the indexer while it runs: on a large table, print the statements instead and create the index concurrently. While roles are limited to parties, no statistics are created, because EXPLAIN would reveal values of hidden rows to them.';
