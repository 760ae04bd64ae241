-- Functions that the writer needs: one clears an interrupted seed, the others find contracts that the participant no
-- longer hosts.

-- The writer empties complete tables only to clear a seed that was never published. Because a function checks this
-- first, the writer's role needs no right to truncate; `ledger-indexer grant-roles` allows that role to call the
-- function.
create function clear_unfinished_seed(expected_epoch bigint) returns boolean
  language plpgsql security definer as $$
begin
  if not has_table_privilege(session_user, format('%I.contracts', current_schema()), 'insert') then
    raise insufficient_privilege using message = 'only the writer of the stream may clear a seed';
  end if;
  perform from stream where epoch = expected_epoch and seeded_at is null for update;
  if not found then
    return false;
  end if;
  truncate contracts, live, ended, contract_parties, event_parties, active_counts, interface_views, reassignments,
           templates, omitted_fields, choices, synchronizers, coverage, template_interfaces;
  return true;
end $$;
comment on function clear_unfinished_seed(bigint) is
  'Removes the rows that an unfinished seed has stored. Returns false and removes nothing if the seed is published or the epoch is not the expected epoch.';

-- Events do not report hosting that began before the indexed history. Parties of the filter and of the participant's
-- own namespace count as hosted. Other parties do not, because a user who may read for any party also sees stakeholders
-- that other participants host.
create function hosts(party text, at_synchronizer integer, at_offset bigint) returns boolean
  language sql stable
  return (
    select coalesce(
             (select y.kind <> 'ParticipantAuthorizationRevoked'
                from topology_events y join updates u on u."offset" = y."offset"
               where y.party_id = hosts.party and y.participant_id = st.participant_id and y.raw is null
                 and y."offset" <= at_offset and u.synchronizer_pk = at_synchronizer
               order by y."offset" desc, y.event_index desc limit 1),
             st.filter -> 'parties' ? hosts.party
               or split_part(hosts.party, '::', 2) = split_part(st.participant_id, '::', 2))
      from stream st);
comment on function hosts(text, integer, bigint) is
  'Whether the participant hosts a party on a synchronizer after the update with this offset, according to its topology events. Null while the id of the participant is not known.';

create function unhosted_parties(departed text[], at_synchronizer integer, at_offset bigint) returns setof integer
  language sql stable
begin atomic
  with touched as materialized (
    select p.parties_pk, p.witness_parties, p.signatories || p.observers as stakeholders
      from contract_parties p
     where p.witness_parties && departed and p.signatories || p.observers && departed),
  staying as materialized (
    select w.party
      from (select distinct w.party from touched t cross join unnest(t.witness_parties) w (party)) w
     where hosts(w.party, at_synchronizer, at_offset))
  select t.parties_pk from touched t
   where not exists (select from unnest(t.witness_parties) w (party)
                       join staying s on s.party = w.party where w.party = any (t.stakeholders));
end;
comment on function unhosted_parties(text[], integer, bigint) is
  'Keys of the party sets (contract_parties) without a hosted stakeholder after some parties have left a synchronizer.';

-- Called once for each update that removes parties from the participant, so it may read tables that the regular
-- statements of the writer do not read.
create function mark_unhosted(from_offset bigint, anew boolean) returns bigint
  language plpgsql
  set enable_seqscan = on set enable_hashjoin = on set plan_cache_mode = force_custom_plan
as $$
declare
  departure record;
  left_behind integer[];
  marked bigint;
  total bigint := 0;
begin
  for departure in
    select y."offset", u.synchronizer_pk, array_agg(y.party_id) as parties
      from topology_events y
      join updates u on u."offset" = y."offset"
      join stream st on st.participant_id = y.participant_id
     where y."offset" >= from_offset and y.kind = 'ParticipantAuthorizationRevoked'
     group by 1, 2 order by 1
  loop
    if anew then
      update live set unhosted_since = null where unhosted_since >= from_offset;
      update ended set unhosted_since = null where unhosted_since >= from_offset;
      anew := false;
    end if;
    left_behind := array(select unhosted_parties(departure.parties, departure.synchronizer_pk, departure."offset"));
    update live l set unhosted_since = departure."offset"
     where l.parties_pk = any (left_behind) and l.synchronizer_pk = departure.synchronizer_pk
       and l."offset" < departure."offset" and l.unhosted_since is null;
    get diagnostics marked = row_count;
    total := total + marked;
    update ended e set unhosted_since = departure."offset"
     where e.parties_pk = any (left_behind) and e.synchronizer_pk = departure.synchronizer_pk
       and e."offset" < departure."offset" and e.ended_offset > departure."offset" and e.unhosted_since is null;
    get diagnostics marked = row_count;
    total := total + marked;
  end loop;
  return total;
end $$;
comment on function mark_unhosted(bigint, boolean) is
  'Marks contracts whose last hosted party left the participant at an offset or later, and returns their number. If the second argument is true, earlier marks at that offset or later are removed first.';

-- Names must resolve to the tables of this schema, never to a temporary table.
do $$ begin
  execute format('alter function clear_unfinished_seed(bigint) set search_path = %I, pg_temp', current_schema());
  execute format('alter function mark_unhosted(bigint, boolean) set search_path = %I, pg_temp', current_schema());
end $$;
revoke execute on function clear_unfinished_seed(bigint), hosts(text, integer, bigint),
  unhosted_parties(text[], integer, bigint), mark_unhosted(bigint, boolean) from public;
