-- Parties by name. A mistyped party would match nothing, and the empty result would look correct.

create or replace function :explore.party_names() returns setof text
  language sql stable parallel safe rows 1000
begin atomic
  select distinct u.party
    from (select unnest(p.signatories || p.observers || p.witness_parties) as party from contract_parties p
          union all
          select unnest(p.acting_parties || p.witness_parties) from event_parties p
          union all
          select t.party_id from topology_events t
          union all
          select s.party from submitters s) u;
end;
comment on function :explore.party_names() is
  'Parties named by an event, a topology change or a command. Reads all party sets.';

-- A party hint denotes the party whose id begins with it, followed by the fingerprint.
create or replace function :explore.similar_parties(wanted text) returns text
  language sql stable parallel safe
begin atomic
  select string_agg(name, ', ' order by is_hint desc, likeness desc, name)
    from (select name, starts_with(name, wanted || '::') as is_hint,
                 (select count(*) from generate_series(1, least(length(wanted), 255) - 1) i
                   where position(substr(lower(wanted), i, 2) in lower(name)) > 0) as likeness
            from :explore.party_names() names (name)
           order by is_hint desc, likeness desc, name limit 3) nearest;
end;
comment on function :explore.similar_parties(text) is
  'Up to three parties that have this text as hint, or that share most pairs of letters with it, for error messages.';

create or replace function :explore.is_known_party(party text) returns boolean
  language sql stable parallel safe
  return exists (select 1 from contract_parties p where is_known_party.party = any (p.signatories || p.observers || p.witness_parties))
      or exists (select 1 from event_parties p where is_known_party.party = any (p.acting_parties || p.witness_parties))
      or exists (select 1 from topology_events t where t.party_id = is_known_party.party)
      or exists (select 1 from submitters s where s.party = is_known_party.party);
comment on function :explore.is_known_party(text) is
  'Whether an event, a topology change or a command visible to the reader names this party.';

create or replace function :explore.known_party(party text) returns text
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
begin
  if party is null or :explore.is_known_party(party) then
    return party;
  end if;
  raise exception 'Unknown party: no event, topology change or command names %', party
    using errcode = 'undefined_object',
          hint = coalesce('Nearest parties: ' || :explore.similar_parties(party), 'No party has been seen yet.');
end
$$;
comment on function :explore.known_party(text) is
  'The party itself if any stored row names it, and null for null; otherwise SQLSTATE 42704 with similar parties.';

create or replace function :explore.party(name text) returns text
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  found text[];
begin
  if name is null or :explore.is_known_party(name) then
    return name;
  end if;
  found := array(select n.party from :explore.party_names() n (party) where starts_with(n.party, name || '::') order by 1 limit 4);
  if cardinality(found) > 1 then
    raise exception 'Ambiguous party: % is the hint of %', name,
                    array_to_string(found[:3], ', ') || case when cardinality(found) > 3 then ' and others' else '' end
      using errcode = 'ambiguous_parameter', hint = 'Write the complete party id.';
  end if;
  return coalesce(found[1], :explore.known_party(name));
end
$$;
comment on function :explore.party(text) is
  'Complete id of the party with this id or hint, where the hint is the part in front of ::. A hint of several parties is rejected with SQLSTATE 42P08, an unknown name with SQLSTATE 42704 and similar parties. Null for null.';
