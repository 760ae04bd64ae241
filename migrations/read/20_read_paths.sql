-- Functions that read contracts active now and contracts active at an offset, and functions that find offsets.

create or replace function :explore.similar_names(wanted text) returns text
  language sql stable parallel safe
begin atomic
  select string_agg(name, ', ' order by likeness desc, name)
    from (select name, (select count(*) from generate_series(1, length(wanted) - 1) i
                         where position(substr(lower(wanted), i, 2) in lower(name)) > 0) as likeness
            from (select distinct template_fqn as name from :explore.templates) names
           order by likeness desc, name limit 5) nearest;
end;
comment on function :explore.similar_names(text) is
  'Up to five names of templates that share most pairs of letters with this text, for error messages.';

create or replace function :explore.is_unseen(wanted text) returns boolean
  language sql stable parallel safe
  return exists (
    select from packages p
     cross join lateral (
             select jsonb_array_elements(p.model -> 'templates') as item
             union all select jsonb_array_elements(p.model -> 'interfaces')) items
     cross join lateral (select item ->> 'moduleName' as module_name, item ->> 'entityName' as entity_name) n
     where wanted in (n.entity_name, n.module_name || ':' || n.entity_name,
                      :explore.fqn(p.package_name, n.module_name, n.entity_name),
                      :explore.fqn(p.package_id, n.module_name, n.entity_name)));
comment on function :explore.is_unseen(text) is
  'Whether a package defines a template or interface of this name, even if no contract of it is stored.';

-- Callers write any ((select template_pks(…))::integer[]), which is evaluated once per query with every plan.
create or replace function :explore.template_pks(template text) returns integer[]
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  wanted text := ltrim(template, '#');
  found integer[];
  names text[];
  is_whole boolean;
begin
  if wanted is null then
    return array(select t.template_pk from :storage.templates t);
  end if;
  -- A fully qualified name, as applications write it, is found without reading packages, unless some package could define a
  -- name that has no package name.
  select array_agg(t.template_pk), bool_and(t.package_name is not null) into found, is_whole
    from :storage.templates t
   where t.entity_name = substring(wanted from '[^:]*$')
     and (t.package_name is null or wanted = t.package_name || ':' || t.module_name || ':' || t.entity_name);
  if is_whole then
    return found;
  end if;
  select array_agg(t.template_pk), array_agg(distinct :explore.fqn(n.package_name, t.module_name, t.entity_name))
    into found, names
    from :storage.templates t
    left join :storage.packages p on p.package_id = t.package_id
   cross join lateral (select coalesce(t.package_name, p.package_name, t.package_id) as package_name) n
   where t.entity_name = substring(wanted from '[^:]*$')
     and wanted in (t.entity_name, t.module_name || ':' || t.entity_name,
                    :explore.fqn(n.package_name, t.module_name, t.entity_name),
                    :explore.fqn(t.package_id, t.module_name, t.entity_name));
  if cardinality(names) = 1 then
    return found;
  elsif cardinality(names) > 1 then
    raise exception 'Ambiguous name: % is the name of %', wanted, array_to_string(names, ' and of ')
      using errcode = 'ambiguous_parameter', hint = 'Write it as package:Module:Entity.';
  elsif :explore.is_unseen(wanted) then
    return '{}';
  end if;
  raise exception 'Unknown name: no template % was seen', wanted
    using errcode = 'undefined_object',
          hint = coalesce('Nearest names: ' || :explore.similar_names(wanted), 'No template has been seen yet.');
end
$$;
comment on function :explore.template_pks(text) is
  'Numbers of all versions of a template, given as package:Module:Entity, Module:Entity or Entity, optionally with a leading # or a package id; null means all templates. Unknown and ambiguous names are errors. A name that only the packages define gives an empty list.';

-- In PL/pgSQL, because Postgres would plan an SQL function again with every query, and would also execute this one for
-- its estimates.
create or replace function :explore.latest_offset() returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  return (select s.checkpoint from :storage.stream s);
end
$$;
comment on function :explore.latest_offset() is
  'Checkpoint: every update up to and including this offset is stored. Null until the seed is complete.';

-- An expression `case when with_name(name) then payload end` is evaluated only after the relation that provides the
-- name. Rows of other templates are excluded at the same point. This check comes first, because it costs less. If the
-- planner knows the name, it reduces the expression to the payload, so that indexes are used. The body names no objects
-- and needs no search path.
create or replace function :explore.with_name(name text) returns boolean
  language plpgsql immutable parallel safe cost 5000
as $$
begin
  return true;
end
$$;
comment on function :explore.with_name(text) is
  'Always true. Delays the evaluation of the expression after it until the name is available.';

-- A user's condition on the payload may be evaluated in the scan of contracts, before any join. A cast would then fail
-- on the value that another template has in a field of the same name. Postgres evaluates the cheapest condition of a
-- scan first: array_position counts as one operator, and a payload condition that can fail costs at least two.
-- The condition is in a left join, so that a query that selects no column of contracts still skips this table. A
-- template that comes from another relation is compared only in the join with that relation: see with_name.
create or replace function :explore.active(template text default null) returns setof :explore.active_contracts
  language sql stable parallel safe rows 1000
begin atomic
  select id_text(l.contract_id), :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name),
         coalesce(t.package_name, t.package_id), t.module_name, t.entity_name, t.package_id,
         /*alone*/case when :explore.with_name(template) then/*alone*/ c.payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(template) then/*alone*/ c.contract_key /*alone*/end/*alone*/,
         p.signatories, p.observers, p.witness_parties,
         l."offset", c.created_at, u.record_time, s.synchronizer_id, c.reassignment_counter, id_text(u.update_id)
    from live l
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
    left join contract_parties p on p.parties_pk = l.parties_pk
    left join templates t on t.template_pk = l.template_pk
    left join updates u on u."offset" = l."offset"
    left join contracts c on c."offset" = l."offset" and c.node_id = l.node_id
          /*alone*/and (template is null or array_position((select :explore.template_pks(template)), c.template_pk) is not null)/*alone*/
   where l.unhosted_since is null and l.template_pk = any ((select :explore.template_pks(template))::integer[]);
end;
comment on function :explore.active(text) is
  'Contracts of a template (of all templates without an argument) that are active now, at the checkpoint. Reads only active rows. Works with any shape; while latest_offset() is null it returns the contracts that the seed has read so far.';

create or replace function :explore.contracts(template text) returns setof :explore.contracts
  language sql stable parallel safe rows 1000
begin atomic
  select l.contract_id, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name),
         coalesce(t.package_name, t.package_id), t.module_name, t.entity_name, t.package_id,
         case l.ended_by when 'a' then 'archived' when 'r' then 'unassigned' when 'e' then 'ended' when 'w' then 'witnessed'
              else case when l.unhosted_since is null then 'active' else 'unhosted' end end,
         l.ended_by is null and l.unhosted_since is null,
         /*alone*/case when :explore.with_name(template) then/*alone*/ c.payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(template) then/*alone*/ c.contract_key /*alone*/end/*alone*/,
         p.signatories, p.observers, p.witness_parties,
         c."offset", c.created_at, u.record_time,
         case when l.ended_by <> 'w' then l.deactivated_offset end, l.ended_at,
         case c.origin when 'c' then 'create' when 'a' then 'assign' when 's' then 'seed' end,
         s.synchronizer_id, c.reassignment_counter, id_text(u.update_id), c.node_id, c.redaction_id,
         case when l.ended_by is null then l.unhosted_since end
    from contract_states l
    left join templates t on t.template_pk = l.template_pk
    left join contracts c on c."offset" = l.activated_offset and c.node_id = l.node_id
          and id_text(c.contract_id) = l.contract_id
          /*alone*/and array_position((select :explore.template_pks(template)), c.template_pk) is not null/*alone*/
    left join contract_parties p on p.parties_pk = l.parties_pk
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
    left join updates u on u."offset" = c."offset"
   where l.template_pk = any ((select :explore.template_pks(template))::integer[]);
end;
comment on function :explore.contracts(text) is
  'Contracts of a template, present and past, with the columns of view contracts. Works with any shape.';

-- The template is resolved before the key, so that a wrong name is an error even if no contract has the key. Base64 is
-- stored as the bytes that it denotes, other text after a byte ff: see base64_text of the storage.
create or replace function :explore.active_by_key(key_hash text, template text default null)
  returns setof :explore.active_contracts
  language sql stable parallel safe rows 1
begin atomic
  select id_text(l.contract_id), :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name),
         coalesce(t.package_name, t.package_id), t.module_name, t.entity_name, t.package_id,
         /*alone*/case when :explore.with_name(template) then/*alone*/ c.payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(template) then/*alone*/ c.contract_key /*alone*/end/*alone*/,
         p.signatories, p.observers, p.witness_parties,
         l."offset", c.created_at, u.record_time, s.synchronizer_id, c.reassignment_counter, id_text(u.update_id)
    from contracts c
    join live l on l.template_pk = c.template_pk and l."offset" = c."offset" and l.node_id = c.node_id
    left join templates t on t.template_pk = l.template_pk
    left join contract_parties p on p.parties_pk = l.parties_pk
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
    left join updates u on u."offset" = l."offset"
   where (template is null or (select :explore.template_pks(template)) is not null)
     and c.contract_key_hash is not null and c.contract_key_hash = any (array[
           '\xff'::bytea || convert_to(key_hash, 'UTF8'),
           case when key_hash ~ '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
                then decode(key_hash, 'base64') end])
     and base64_text(c.contract_key_hash) = key_hash
     /*alone*/and (template is null or array_position((select :explore.template_pks(template)), c.template_pk) is not null)/*alone*/
     and l.unhosted_since is null and l.template_pk = any ((select :explore.template_pks(template))::integer[]);
end;
comment on function :explore.active_by_key(text, text) is
  'Active contracts with a key of this hash, in base64 as the ledger prints it; if a template is named, only contracts of that template. Works with any shape.';

-- A contract whose lifetime has class k can be active at an offset only if it was activated less than 2^(k+1) offsets
-- before. So each class is one range of the index ended_template, and few rows are read that do not match. The added
-- thousandth and the added one compensate for rounding, also in the number of classes: lifetime_class is not used
-- there, because it would be inlined into each query. "offset 0" keeps the ranges separate, with one index scan each.
-- known_offset is evaluated once for each query, in the branch that is read first. It would not be evaluated if the
-- planner proved that the query finds nothing, so null is replaced by an offset.
create or replace function :explore.states_at(at_offset bigint, template text default null)
  returns table (contract_id text, synchronizer_pk integer, activated_offset bigint, template_pk integer,
                 deactivated_offset bigint, unhosted_since bigint, node_id integer, parties_pk integer)
  language sql stable parallel safe rows 1000
begin atomic
  select id_text(l.contract_id), l.synchronizer_pk, l."offset", l.template_pk, null::bigint, l.unhosted_since, l.node_id,
         l.parties_pk
    from live l
   where (select :explore.known_offset(at_offset)) is not null
     and l.unhosted_since is null and l."offset" <= coalesce(at_offset, -1)
     and l.template_pk = any ((select :explore.template_pks(template))::integer[])
  union all
  select id_text(l.contract_id), l.synchronizer_pk, l."offset", l.template_pk, null, l.unhosted_since, l.node_id, l.parties_pk
    from live l
   where l.unhosted_since is not null and l.unhosted_since > at_offset and l."offset" <= at_offset
     and l.template_pk = any ((select :explore.template_pks(template))::integer[])
  union all
  select id_text(e.contract_id), e.synchronizer_pk, e."offset", e.template_pk, e.ended_offset, e.unhosted_since, e.node_id,
         e.parties_pk
    from :explore.template_pks(template) pks,
         generate_series(0, least(61, (ln(coalesce(:explore.latest_offset(), 0) + 2) / ln(2::double precision))::integer + 1)) k,
         lateral (
           select l.contract_id, l.synchronizer_pk, l."offset", l.template_pk, l.ended_offset, l.unhosted_since, l.node_id,
                  l.parties_pk
             from ended l
            where l.class = k and l."offset" > at_offset - (power(2::double precision, k + 1) * 1.001)::bigint - 1
              and l."offset" <= at_offset and l.ended_offset > at_offset and l.template_pk = any (pks)
           /*alone*/offset 0/*alone*/) e;
end;
comment on function :explore.states_at(bigint, text) is
  'Rows of lifetimes_at, with the keys of the rows in contracts and contract_parties.';

create or replace function :explore.lifetimes_at(at_offset bigint, template text default null)
  returns table (contract_id text, synchronizer_pk integer, activated_offset bigint, template_pk integer,
                 deactivated_offset bigint, unhosted_since bigint)
  language sql stable parallel safe rows 1000
begin atomic
  select l.contract_id, l.synchronizer_pk, l.activated_offset, l.template_pk, l.deactivated_offset, l.unhosted_since
    from :explore.states_at(at_offset, template) l;
end;
comment on function :explore.lifetimes_at(bigint, text) is
  'Rows of lifetimes that were active at an offset. Does not read all history. Contracts whose parties left the participant count as active until then, or until their end if it was stored later. Needs a known offset, see coverage; other offsets are rejected with SQLSTATE LI003. Works with any shape.';

create or replace function :explore.active_at(at_offset bigint, template text default null)
  returns setof :explore.active_contracts
  language sql stable parallel safe rows 1000
begin atomic
  select l.contract_id, :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name),
         coalesce(t.package_name, t.package_id), t.module_name, t.entity_name, t.package_id,
         /*alone*/case when :explore.with_name(template) then/*alone*/ c.payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(template) then/*alone*/ c.contract_key /*alone*/end/*alone*/,
         p.signatories, p.observers, p.witness_parties,
         l.activated_offset, c.created_at, u.record_time, s.synchronizer_id, c.reassignment_counter, id_text(u.update_id)
    from :explore.states_at(at_offset, template) l
    left join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
    left join contract_parties p on p.parties_pk = l.parties_pk
    left join templates t on t.template_pk = l.template_pk
    left join (select * from updates /*workers
                where "offset" = any (array(select s.activated_offset from :explore.states_at(at_offset, template) s)) offset 0
              workers*/) u on u."offset" = l.activated_offset
    left join (select * from contracts /*workers
                where "offset" = any (array(select s.activated_offset from :explore.states_at(at_offset, template) s)) offset 0
              workers*/) c on c."offset" = l.activated_offset and c.node_id = l.node_id
          /*alone*/and (template is null or array_position((select :explore.template_pks(template)), c.template_pk) is not null)/*alone*/;
end;
comment on function :explore.active_at(bigint, text) is
  'Contracts of a template (of all templates with null) that were active right after the update with this offset, or after the last update before this offset. Needs a known offset, see coverage; other offsets are rejected with SQLSTATE LI003. Works with any shape.';

-- The offset is computed once; "offset 0" prevents a computation for each row.
create or replace function :explore.active_at("time" timestamptz, template text default null)
  returns setof :explore.active_contracts
  language sql stable parallel safe rows 1000
begin atomic
  select a.*
    from (select :explore.known_offset("time") as at_offset offset 0) k
   cross join lateral :explore.active_at(k.at_offset, template) a;
end;
comment on function :explore.active_at(timestamptz, text) is
  'Contracts of a template (of all templates with null) that were active at a time, by ledger effective time. A time after all stored updates, such as now(), returns the contracts active at the checkpoint. Needs a time with a known state, see coverage; other times are rejected with SQLSTATE LI003. Works with any shape.';

create or replace function :explore.active_at("position" text, template text default null)
  returns setof :explore.active_contracts
  language sql stable parallel safe rows 1000
begin atomic
  select a.*
    from (select :explore.known_offset("position") as at_offset offset 0) k
   cross join lateral :explore.active_at(k.at_offset, template) a;
end;
comment on function :explore.active_at(text, text) is
  'Contracts of a template (of all templates with null) that were active at an offset or a time, written as text, see known_offset.';

create or replace function :explore.active_at(ago interval, template text default null)
  returns setof :explore.active_contracts
  language sql stable parallel safe rows 1000
begin atomic
  select a.* from :explore.active_at(now() - ago, template) a;
end;
comment on function :explore.active_at(interval, text) is
  'Contracts of a template (of all templates with null) that were active at the time now() minus the interval.';

-- Searches windows of growing length before the time, each a range of the BRIN index. The first window that holds a
-- transaction holds the newest transaction. The last window is not limited. The cost makes the planner prefer indexes on
-- offsets, where the function is called once; a filter calls it for each row.
create or replace function :explore.nearest_offset("time" timestamptz) returns bigint
  language plpgsql stable parallel safe cost 10000
  set search_path = pg_catalog, pg_temp
as $$
declare
  span interval := '1 minute';
  nearest bigint;
begin
  loop
    select u."offset" into nearest
      from :storage.updates u
     where u.effective_at <= "time" and u.effective_at > case when span < '40 years' then "time" - span else '-infinity' end
     order by u.effective_at desc, u."offset" desc limit 1;
    exit when found or span > '40 years';
    span := span * 12;
  end loop;
  return nearest;
end
$$;
comment on function :explore.nearest_offset(timestamptz) is
  'Offset of the newest transaction at or before a time, by ledger effective time; null if there is none. Intended for ranges of offsets. For active contracts at a time, pass the time to active_at, which rejects times without a known state.';

create or replace function :explore.nearest_offset(ago interval) returns bigint
  language sql stable parallel safe
  return :explore.nearest_offset(now() - ago);
comment on function :explore.nearest_offset(interval) is
  'Offset of the newest transaction that is at least this old, by ledger effective time; null if there is none.';

create or replace function :explore.wait_for_offset(target bigint, timeout interval default '10 seconds') returns bigint
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
as $$
declare
  deadline timestamptz := clock_timestamp() + timeout;
  pause double precision := 0.001;
  reached bigint;
begin
  -- With null the loop below would never end.
  if target is null or timeout is null then
    raise exception 'wait_for_offset needs an offset and a time' using errcode = 'null_value_not_allowed';
  end if;
  loop
    select checkpoint into reached from :storage.stream;
    exit when reached >= target;
    if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
      raise exception 'Offset % is later than the snapshot of this transaction, which is at %', target, reached
        using errcode = 'LI002', hint = 'Wait in a transaction of isolation level read committed.';
    elsif clock_timestamp() >= deadline then
      raise exception 'Offset % was not reached within %: the checkpoint is %', target, timeout, coalesce(reached::text, 'not set')
        using errcode = 'LI001', hint = 'Check that the indexer runs (/readyz), or give a longer timeout as second argument.';
    end if;
    perform pg_sleep(least(pause, greatest(extract(epoch from deadline - clock_timestamp())::double precision, 0)));
    pause := least(pause * 2, 0.05);
  end loop;
  return reached;
end
$$;
comment on function :explore.wait_for_offset(bigint, interval) is
  'Waits until the checkpoint is at or after an offset, e.g. the completionOffset of a submission, and returns the checkpoint. SQLSTATE LI001 after the timeout, LI002 in a transaction whose snapshot is older than the offset. Read the update in the next statement.';
