-- Functions of schema pqs_multisync. Their conditions are explained in the functions of schema pqs.

-- For a contract that is active on two synchronizers at once, because the unassign of its reassignment is not stored
-- yet, the row with the higher counter is returned. If only one synchronizer exists, no contract has a second row and
-- nothing is looked up. Otherwise a newer row is searched for each row, by the index of contract ids. A scalar subquery
-- is used, because a join would read all history.
create or replace function :multisync.active(qname text default null, "offset" bigint default :pqs.latest_offset())
  returns setof :multisync.contract
  language sql stable parallel safe rows 1000
begin atomic
  select /*workers distinct on (r.template_fqn, r.contract_id) workers*/ r.template_fqn, r.payload_type,
         case when r.origin <> 'assign' then r.create_event_pk end, case when r.origin <> 'assign' then r.create_event_id end,
         case when r.origin <> 'assign' then r.created_at_ix end, case when r.origin <> 'assign' then r.created_at_offset end,
         r.archive_event_pk, r.archive_event_id, r.archived_at_ix, r.archived_at_offset, r.life_ix, r.contract_id,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ r.payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ r.contract_key /*alone*/end/*alone*/, r.metadata,
         case when r.origin <> 'assign' then r.created_effective_at end, r.archived_effective_at,
         r.redaction_id, r.package_name, r.package_version, r.package_id, r.signatories, r.observers, r.witnesses,
         r.divulged_only, r.creation_package_id, r.contract_key_hash,
         case when r.origin = 'assign' then r.create_event_pk end, case when r.origin = 'assign' then r.create_event_id end,
         case when r.origin = 'assign' then r.created_at_ix end, case when r.origin = 'assign' then r.created_at_offset end,
         case when r.ended_by = 'r' then :pqs.__event_pk(upper(r.life_ix), :multisync.__unassign_node(r.contract_id, upper(r.life_ix))) end,
         case when r.ended_by = 'r'
              then cast(row (upper(r.life_ix), :multisync.__unassign_node(r.contract_id, upper(r.life_ix))) as :pqs.event_id) end,
         case when r.ended_by = 'r' then upper(r.life_ix) end, case when r.ended_by = 'r' then upper(r.life_ix) end,
         coalesce(r.reassignment_counter, case r.origin when 'create' then 0 end), r.synchronizer_id,
         ((select jsonb_object_agg(m.template_pk, m.tpe_pk) from :pqs.__tpe_of m) ->> r.type_pk::text)::bigint,
         r.record_time, r.update_id, r.indexed_at
    from :pqs.__active_rows r
   where r.payload_type = any (:pqs.__payload_types(qname))
     and r.past <= (select :pqs.__past(active."offset"))
     and r.type_pk = any ((select :pqs.__type_pks(qname))::integer[])
     and (r.guessed + 0 = r.guessed or r.type_pk = any (:pqs.__type_pks(qname)))
     /*alone*/and (qname is null or array_position((select :pqs.__type_pks(qname)), r.own_pk) is not null)/*alone*/
     and r.created_at_offset <= (select active."offset") and r.stays > (select active."offset")
     and r.begins > (select active."offset") - r.reach
     /*alone*/
     and ((select count(*) from synchronizers) < 2
          or (select true
                from contract_states o
                join contracts n on n."offset" = o.activated_offset and n.node_id = o.node_id
               where o.contract_id = r.contract_id and o.ended_by is distinct from 'w'
                 and o.activated_offset <= (select active."offset")
                 and coalesce(o.deactivated_offset, o.unhosted_since, 9223372036854775807) > (select active."offset")
                 and (coalesce(n.reassignment_counter, -1), o.activated_offset, o.node_id)
                     > (coalesce(r.reassignment_counter, -1), r.created_at_offset, (r.create_event_id).node_id)
               limit 1) is null)
     /*alone*/
   /*workers order by r.template_fqn, r.contract_id, r.reassignment_counter desc nulls last workers*/;
end;
comment on function :multisync.active(text, bigint) is
  'Contracts of a template, or views of an interface, that were active at an offset; by default now. One row per contract: the row with the highest reassignment counter. Without a name, all contracts and views. Offsets outside the range that the session reads are an error, see oldest_offset and latest_offset. Works with any shape.';

create or replace function :multisync.creates(
  qname text default null, from_offset bigint default :pqs.oldest_offset(), to_offset bigint default :pqs.latest_offset())
  returns setof :multisync.contract
  language sql stable parallel safe rows 1000
begin atomic
  select r.template_fqn, r.payload_type,
         case when r.origin <> 'assign' then r.create_event_pk end, case when r.origin <> 'assign' then r.create_event_id end,
         case when r.origin <> 'assign' then r.created_at_ix end, case when r.origin <> 'assign' then r.created_at_offset end,
         r.archive_event_pk, r.archive_event_id, r.archived_at_ix, r.archived_at_offset, r.life_ix, r.contract_id,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ r.payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ r.contract_key /*alone*/end/*alone*/, r.metadata,
         case when r.origin <> 'assign' then r.created_effective_at end, r.archived_effective_at,
         r.redaction_id, r.package_name, r.package_version, r.package_id, r.signatories, r.observers, r.witnesses,
         r.divulged_only, r.creation_package_id, r.contract_key_hash,
         case when r.origin = 'assign' then r.create_event_pk end, case when r.origin = 'assign' then r.create_event_id end,
         case when r.origin = 'assign' then r.created_at_ix end, case when r.origin = 'assign' then r.created_at_offset end,
         case when r.ended_by = 'r' then :pqs.__event_pk(upper(r.life_ix), :multisync.__unassign_node(r.contract_id, upper(r.life_ix))) end,
         case when r.ended_by = 'r'
              then cast(row (upper(r.life_ix), :multisync.__unassign_node(r.contract_id, upper(r.life_ix))) as :pqs.event_id) end,
         case when r.ended_by = 'r' then upper(r.life_ix) end, case when r.ended_by = 'r' then upper(r.life_ix) end,
         coalesce(r.reassignment_counter, case r.origin when 'create' then 0 end), r.synchronizer_id,
         ((select jsonb_object_agg(m.template_pk, m.tpe_pk) from :pqs.__tpe_of m) ->> r.type_pk::text)::bigint,
         r.record_time, r.update_id, r.indexed_at
    from :pqs.__contract_rows r
   where r.kind = any (:pqs.__payload_types(qname))
     and r.type_pk = any (:pqs.__type_pks(qname)) and r.origin <> 'assign'
     /*alone*/and (qname is null or array_position((select :pqs.__type_pks(qname)), r.type_pk) is not null)/*alone*/
     and r.created_at_offset >= (select :pqs.__from(from_offset))
     and r.created_at_offset <= (select :pqs.__inside(to_offset))
     and (r.kind is null) <> ((select :pqs.__from(from_offset)) is not null and (select :pqs.__inside(to_offset)) is not null);
end;
comment on function :multisync.creates(text, bigint, bigint) is
  'Contracts of a template, or views of an interface, created from one offset to another, both inclusive. Assigns are not included. Seeded contracts count as created at the seed. Works with any shape.';

create or replace function :multisync.archives(
  qname text default null, from_offset bigint default coalesce(:pqs.pruned_offset(), :pqs.oldest_offset()),
  to_offset bigint default :pqs.latest_offset())
  returns setof :multisync.contract
  language sql stable parallel safe rows 1000
begin atomic
  select r.template_fqn, r.payload_type,
         case when r.origin <> 'assign' then r.create_event_pk end, case when r.origin <> 'assign' then r.create_event_id end,
         case when r.origin <> 'assign' then r.created_at_ix end, case when r.origin <> 'assign' then r.created_at_offset end,
         r.archive_event_pk, r.archive_event_id, r.archived_at_ix, r.archived_at_offset, r.life_ix, r.contract_id,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ r.payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ r.contract_key /*alone*/end/*alone*/, r.metadata,
         case when r.origin <> 'assign' then r.created_effective_at end, r.archived_effective_at,
         r.redaction_id, r.package_name, r.package_version, r.package_id, r.signatories, r.observers, '{}'::text[],
         r.divulged_only, r.creation_package_id, r.contract_key_hash,
         case when r.origin = 'assign' then r.create_event_pk end, case when r.origin = 'assign' then r.create_event_id end,
         case when r.origin = 'assign' then r.created_at_ix end, case when r.origin = 'assign' then r.created_at_offset end,
         null::bigint, cast(null as :pqs.event_id), null::bigint, null::bigint,
         coalesce(r.reassignment_counter, case r.origin when 'create' then 0 end), r.synchronizer_id,
         ((select jsonb_object_agg(m.template_pk, m.tpe_pk) from :pqs.__tpe_of m) ->> r.type_pk::text)::bigint,
         r.record_time, r.update_id, r.indexed_at
    from :pqs.__archived_rows r
   where r.payload_type = any (:pqs.__payload_types(qname))
     and r.choice_pk = any ((select :pqs.__consuming_choices(qname))::integer[])
     and r.type_pk = any ((select :pqs.__type_pks(qname))::integer[])
     /*alone*/and (qname is null or array_position((select :pqs.__type_pks(qname)), r.own_pk) is not null)/*alone*/
     and r.archived_at_offset >= (select :pqs.__inside(from_offset))
     and r.archived_at_offset <= (select :pqs.__inside(to_offset))
     and (r.kind is null) <> ((select :pqs.__inside(from_offset)) is not null and (select :pqs.__inside(to_offset)) is not null
                              and (select :pqs.__type_pks(qname)) is not null);
end;
comment on function :multisync.archives(text, bigint, bigint) is
  'Contracts of a template, or views of an interface, archived from one offset to another, both inclusive. Unassigns are not included, and witnesses is empty. Works with any shape.';

create or replace function :multisync.lookup_contract(contract_id text, qname text default null)
  returns setof :multisync.contract
  language sql stable parallel safe rows 3
begin atomic
  select /*workers distinct on (r.template_fqn, r.contract_id) workers*/ r.template_fqn, r.payload_type,
         case when r.origin <> 'assign' then r.create_event_pk end, case when r.origin <> 'assign' then r.create_event_id end,
         case when r.origin <> 'assign' then r.created_at_ix end, case when r.origin <> 'assign' then r.created_at_offset end,
         r.archive_event_pk, r.archive_event_id, r.archived_at_ix, r.archived_at_offset, r.life_ix, r.contract_id,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ r.payload /*alone*/end/*alone*/,
         /*alone*/case when :explore.with_name(qname) then/*alone*/ r.contract_key /*alone*/end/*alone*/, r.metadata,
         case when r.origin <> 'assign' then r.created_effective_at end, r.archived_effective_at,
         r.redaction_id, r.package_name, r.package_version, r.package_id, r.signatories, r.observers, r.witnesses,
         r.divulged_only, r.creation_package_id, r.contract_key_hash,
         case when r.origin = 'assign' then r.create_event_pk end, case when r.origin = 'assign' then r.create_event_id end,
         case when r.origin = 'assign' then r.created_at_ix end, case when r.origin = 'assign' then r.created_at_offset end,
         case when r.ended_by = 'r' then :pqs.__event_pk(upper(r.life_ix), :multisync.__unassign_node(r.contract_id, upper(r.life_ix))) end,
         case when r.ended_by = 'r'
              then cast(row (upper(r.life_ix), :multisync.__unassign_node(r.contract_id, upper(r.life_ix))) as :pqs.event_id) end,
         case when r.ended_by = 'r' then upper(r.life_ix) end, case when r.ended_by = 'r' then upper(r.life_ix) end,
         coalesce(r.reassignment_counter, case r.origin when 'create' then 0 end), r.synchronizer_id,
         ((select jsonb_object_agg(m.template_pk, m.tpe_pk) from :pqs.__tpe_of m) ->> r.type_pk::text)::bigint,
         r.record_time, r.update_id, r.indexed_at
    -- Workers do not have __unassign_node: they only find the rows of the contract.
    from /*workers (select l.* from workers*/ :pqs.__lookup_rows /*workers l
                     where l.contract_id = lookup_contract.contract_id offset 0) workers*/ r
   where r.contract_id = lookup_contract.contract_id and r.type_pk = any (:pqs.__type_pks(qname))
     /*alone*/and (qname is null or array_position((select :pqs.__type_pks(qname)), r.type_pk) is not null)/*alone*/
     /*alone*/
     and ((select count(*) from synchronizers) < 2
          or (select true
                from contract_states o
                join contracts n on n."offset" = o.activated_offset and n.node_id = o.node_id
               where o.contract_id = r.contract_id
                 and (coalesce(n.reassignment_counter, -1), o.activated_offset, o.node_id)
                     > (coalesce(r.reassignment_counter, -1), r.created_at_offset, (r.create_event_id).node_id)
               limit 1) is null)
     /*alone*/
   /*workers order by r.template_fqn, r.contract_id, r.reassignment_counter desc nulls last workers*/;
end;
comment on function :multisync.lookup_contract(text, text) is
  'Contract in any state, and its interface views, one row each: the row with the highest reassignment counter. If a name is given, only the rows of that template or interface.';

create or replace function :multisync.summary_active("offset" bigint default :pqs.latest_offset())
  returns setof :pqs.contract_summary
  language sql stable parallel safe rows 100
begin atomic
  -- If only one synchronizer exists, no contract would be counted twice, so the counts of schema pqs are used.
  select s.template_fqn, s.payload_type, s.count
    from :pqs.summary_active(summary_active."offset") s
   where (select count(*) from synchronizers) < 2
  union all
  select a.template_fqn, a.payload_type, count(*)
    from :multisync.active(null, summary_active."offset") a
   where (select count(*) from synchronizers) > 1
   group by a.template_fqn, a.payload_type;
end;
comment on function :multisync.summary_active(bigint) is
  'Number of contracts and interface views active at an offset, each contract counted once.';

create or replace function :multisync.summary_transients(
  from_offset bigint default coalesce(:pqs.pruned_offset(), :pqs.oldest_offset()),
  to_offset bigint default :pqs.latest_offset())
  returns setof :pqs.contract_summary
  language sql stable parallel safe rows 100
begin atomic
  select r.template_fqn, r.payload_type, count(*)
    from :pqs.__contract_rows r
   where not r.divulged_only
     and r.created_at_offset >= (select :pqs.__from(from_offset)) and r.created_at_offset <= (select :pqs.__inside(to_offset))
     and upper(r.life_ix) <= (select :pqs.__inside(to_offset))
     -- Checks the offsets even if no rows are found, see creates.
     and (r.kind is null) <> ((select :pqs.__from(from_offset)) is not null and (select :pqs.__inside(to_offset)) is not null)
   group by r.template_fqn, r.payload_type;
end;
comment on function :multisync.summary_transients(bigint, bigint) is
  'Number of contracts that both began (create or assign) and ended (archive or unassign) from one offset to another, both inclusive.';
