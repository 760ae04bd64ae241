-- Tree of the events of an update: nesting, and contracts that replaced others.

-- An id is stored as the bytes that its hexadecimal digits denote, other text after a byte ff: see id_text of the
-- storage.
create or replace function :explore.update_offset(update_id text) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  wanted text := update_id;
  found_at bigint;
begin
  if wanted ~ '^([0-9a-f]{2})+$' then
    select u."offset" into found_at from :storage.updates u
     where u.update_id = decode(wanted, 'hex') and :storage.id_text(u.update_id) = wanted limit 1;
  end if;
  if found_at is null then
    select u."offset" into found_at from :storage.updates u
     where u.update_id = '\xff'::bytea || convert_to(wanted, 'UTF8') limit 1;
  end if;
  return found_at;
end
$$;
comment on function :explore.update_offset(text) is
  'Offset of the update with this id; null if it is not stored. Reads only the pages that a bloom filter selects, and the newest pages.';

-- Nodes are numbered in pre-order, and an exercise names its last descendant. So a stack holds the exercises around a
-- node. Consumed and created contracts wait until the smallest exercise around them has ended. If there is exactly one
-- consumed and one created contract, of the same template and key, the created contract replaces the consumed contract.
-- Each template and key has a stack of waiting entries, which are merged when the exercise around them has ended. A
-- link is the depth of the innermost exercise around an entry and the entry below it.
create or replace function :explore.update_tree(at_offset bigint)
  returns table (node_id integer, parent_node_id integer, depth integer, event_type text, template_pk integer,
                 contract_id text, other_node_id integer, before_offset bigint, before_node_id integer)
  language plpgsql stable parallel safe rows 100
  set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
declare
  e record;
  total integer := 0;
  -- Values of each node, by its position.
  nodes integer[] := '{}';
  parents integer[] := '{}';
  depths integer[] := '{}';
  kinds text[] := '{}';
  templates integer[] := '{}';
  contracts text[] := '{}';
  others integer[] := '{}';
  offsets bigint[] := '{}';
  before_nodes integer[] := '{}';
  -- First and last nodes of the exercises around the node.
  starts integer[] := '{}';
  ends integer[] := '{}';
  open integer := 0;
  -- Values of each waiting entry: number of consumed and of created contracts, the position of one of each, the last
  -- node, the entry below it, and the link to that entry.
  entries integer := 0;
  gone integer[] := '{}';
  made integer[] := '{}';
  gone_at integer[] := '{}';
  made_at integer[] := '{}';
  lasts integer[] := '{}';
  belows integer[] := '{}';
  links integer[] := '{}';
  -- By template and key, the uppermost entry.
  tops integer[] := '{}';
  top integer;
  below integer;
  around integer;
  link integer;
begin
  for e in
    with events as (
      select n.node, greatest(n.last_node, n.node) as last_node, n.kind, n.template, n.contract, n.side, n.opens,
             b.activated_offset, b.node_id as activated_node,
             case when n.side <> 0 then
               dense_rank() over (order by t.package_name, t.module_name, t.entity_name, coalesce(b.contract_key_hash, n.key_hash))
             end as family
        from (
          select x.node_id as node, x.last_descendant_node_id as last_node,
                 case when x.consuming then 'archived' else 'exercised' end as kind, x.template_pk as template,
                 :storage.id_text(x.contract_id) as contract, case when x.consuming then -1 else 0 end as side, true as opens,
                 null::bytea as key_hash
            from :storage.exercises x where x."offset" = at_offset
          union all
          select c.node_id, c.node_id, case c.origin when 'c' then 'created' else 'assigned' end, c.template_pk,
                 :storage.id_text(c.contract_id), case c.origin when 'c' then 1 else 0 end, false, c.contract_key_hash
            from :storage.contracts c where c."offset" = at_offset and c.origin <> 's'
          union all
          select a.node_id, a.node_id, 'archived', a.template_pk, :storage.id_text(a.contract_id), -1, false, null
            from :storage.archives a where a."offset" = at_offset
          union all
          select r.node_id, r.node_id, 'unassigned', r.template_pk, :storage.id_text(r.contract_id), 0, false, null
            from :storage.reassignments r where r."offset" = at_offset and r.kind = 'u' and not r.incomplete
          union all
          select y.event_index, y.event_index, 'topology', null, null, 0, false, null
            from :storage.topology_events y where y."offset" = at_offset) n
        left join :storage.templates t on t.template_pk = n.template
        left join lateral (
               select s.activated_offset, s.node_id, c.contract_key_hash
                 from :storage.contract_states s
                 left join :storage.contracts c on c."offset" = s.activated_offset and c.node_id = s.node_id
                where n.side < 0 and s.contract_id = n.contract and s.activated_offset <= at_offset
                order by s.activated_offset desc limit 1) b on true)
    select * from events
    union all
    -- At the end of the update all exercises have ended: one row for each template and key.
    select 2147483647, 2147483647, null, null, null, 0, false, null, null, v.family
      from events v where v.family is not null group by v.family
     order by node
  loop
    while open > 0 and ends[open] < e.node loop
      open := open - 1;
    end loop;
    if e.kind is not null then
      total := total + 1;
      nodes[total] := e.node;
      parents[total] := case when open > 0 then starts[open] end;
      depths[total] := open;
      kinds[total] := e.kind;
      templates[total] := e.template;
      contracts[total] := e.contract;
      others[total] := null;
      offsets[total] := e.activated_offset;
      before_nodes[total] := e.activated_node;
    end if;
    top := tops[e.family];
    around := case when e.kind is null then -1 when open = 0 or top is null then 0
                   else width_bucket(lasts[top], starts[1:open]) end;
    while links[top] > around loop
      link := links[top];
      below := belows[top];
      gone[below] := gone[below] + gone[top];
      made[below] := made[below] + made[top];
      gone_at[below] := coalesce(gone_at[below], gone_at[top]);
      made_at[below] := coalesce(made_at[below], made_at[top]);
      lasts[below] := lasts[top];
      top := below;
      if links[top] < link and gone[top] > 0 and made[top] > 0 then
        if gone[top] = 1 and made[top] = 1 then
          others[gone_at[top]] := nodes[made_at[top]];
          others[made_at[top]] := nodes[gone_at[top]];
        end if;
        top := belows[top];
      end if;
    end loop;
    if e.side <> 0 then
      entries := entries + 1;
      gone[entries] := (e.side < 0)::integer;
      made[entries] := (e.side > 0)::integer;
      gone_at[entries] := case when e.side < 0 then total end;
      made_at[entries] := case when e.side > 0 then total end;
      lasts[entries] := e.node;
      belows[entries] := top;
      links[entries] := case when top is null then -1 when open = 0 then 0 else width_bucket(lasts[top], starts[1:open]) end;
      tops[e.family] := entries;
    end if;
    if e.opens then
      open := open + 1;
      starts[open] := e.node;
      ends[open] := e.last_node;
    end if;
  end loop;
  return query
    select * from unnest(nodes, parents, depths, kinds, templates, contracts, others, offsets, before_nodes);
end
$$;
comment on function :explore.update_tree(bigint) is
  'Events of an update in the order of their nodes: the exercise around each, its depth, and for a consumed or created contract the node of the contract that replaced it or that it replaced. before_offset and before_node_id are the key of the row in contracts of a consumed contract.';
