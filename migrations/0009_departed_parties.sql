-- A party can leave a participant. What becomes of its contracts then the participant does not learn, and no event ends
-- them here: they are neither active nor ended, but unknown.

alter table lifetimes add column unknown_since bigint;
comment on column lifetimes.unknown_since is 'Offset at which the last of its parties left the participant: while deactivated_offset is null, nobody here knows what became of it since. Null for all others.';

-- Who asks for the past finds them as what ended when they became unknown; who asks for now, not at all.
drop index lifetimes_live, lifetimes_ended;
create index lifetimes_live on lifetimes (template_pk, activated_offset)
  where deactivated_offset is null and unknown_since is null;
comment on index lifetimes_live is 'Active contracts of a template: holds live rows only.';
create index lifetimes_ended on lifetimes
  (template_pk, lifetime_class(activated_offset, coalesce(deactivated_offset, unknown_since)), activated_offset)
  where coalesce(deactivated_offset, unknown_since) is not null;
comment on index lifetimes_ended is 'Contracts of a template that were active at an offset of the past; see lifetime_class.';
create index lifetimes_unknown on lifetimes (template_pk, activated_offset)
  where deactivated_offset is null and unknown_since is not null;
comment on index lifetimes_unknown is 'Contracts of a template whose parties left the participant.';

create index topology_events_party on topology_events (party_id, "offset");
comment on index topology_events_party is 'Where a party is hosted, and since when.';

create or replace view active_contracts as
  select c.contract_id, t.package_name, t.module_name, t.entity_name, t.package_id, c.payload, c.contract_key,
         c.signatories, c.observers, c.created_at, c."offset", s.synchronizer_id, c.reassignment_counter
    from lifetimes l
    join contracts c on c.contract_id = l.contract_id and c."offset" = l.activated_offset
    join templates t on t.template_pk = c.template_pk
    join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
   where l.deactivated_offset is null and l.unknown_since is null;

-- What the events do not say, because history begins later here: parties of the filter and of the participant's own
-- namespace count as hosted, others do not, since who reads for any party is shown stakeholders that live elsewhere too.
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
  'Whether the participant hosts a party on a synchronizer after the update with this offset, as far as its topology events tell. Null while the id of the participant is not known.';

-- Once for each update that takes parties from the participant, so it may read what the writer's statements must not.
create function mark_unknown(from_offset bigint, anew boolean) returns bigint
  language plpgsql
  set enable_seqscan = on set enable_hashjoin = on set plan_cache_mode = force_custom_plan
as $$
declare
  departure record;
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
      update lifetimes set unknown_since = null where unknown_since >= from_offset;
      anew := false;
    end if;
    with touched as materialized (
      select c.contract_id, c."offset", c.witness_parties, c.signatories || c.observers as stakeholders
        from contracts c
        join lifetimes l on l.contract_id = c.contract_id and l.activated_offset = c."offset"
                        and l.synchronizer_pk = c.synchronizer_pk
       where c.witness_parties && departure.parties and c.synchronizer_pk = departure.synchronizer_pk
         and c."offset" < departure."offset" and c.signatories || c.observers && departure.parties
         and (l.deactivated_offset is null or l.deactivated_offset > departure."offset") and l.unknown_since is null),
    staying as materialized (
      select p.party
        from (select distinct w.party from touched t cross join unnest(t.witness_parties) w (party)) p
       where hosts(p.party, departure.synchronizer_pk, departure."offset")),
    known as (
      select distinct t.contract_id, t."offset"
        from touched t cross join unnest(t.witness_parties) w (party) join staying s on s.party = w.party
       where w.party = any (t.stakeholders))
    update lifetimes l set unknown_since = departure."offset"
      from touched t
     where l.contract_id = t.contract_id and l.activated_offset = t."offset"
       and l.synchronizer_pk = departure.synchronizer_pk
       and not exists (select from known k where k.contract_id = t.contract_id and k."offset" = t."offset");
    get diagnostics marked = row_count;
    total := total + marked;
  end loop;
  return total;
end $$;
comment on function mark_unknown(bigint, boolean) is
  'Marks contracts whose last hosted party left the participant at an offset or later, and gives their number; anew: marks that were made from there on are removed first.';

-- Names must mean the tables of this schema, and never a temporary one.
do $$ begin
  execute format('alter function mark_unknown(bigint, boolean) set search_path = %I, pg_temp', current_schema());
end $$;
revoke execute on function hosts(text, integer, bigint), mark_unknown(bigint, boolean) from public;
