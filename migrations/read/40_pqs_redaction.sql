-- Removal of contents that must no longer be stored. The command redact calls the functions with two underscores; the other
-- functions have the names of PQS.

create or replace function :pqs.__contract_state(contract_id text) returns text
  language sql stable
  return coalesce(
    (select case when bool_or(s.ended_by is null and s.unhosted_since is null) then 'active'
                 when bool_or(s.ended_by is null) then 'unhosted'
                 when bool_and(s.ended_by = 'w') then 'witnessed'
                 when (array_agg(s.ended_by order by s.deactivated_offset desc)
                         filter (where s.ended_by <> 'w'))[1] = 'r' then 'unassigned'
                 else 'archived' end
       from contract_states s
      where s.contract_id = __contract_state.contract_id
     having count(*) > 0),
    -- A contract of which the seed found only the assign in flight has no row in contracts until it has arrived.
    (select 'unassigned' from reassignments r
      where id_text(r.contract_id) = __contract_state.contract_id and r.kind = 'a' and r.incomplete limit 1));
comment on function :pqs.__contract_state(text) is
  'State of a contract: active, unhosted (its parties left the participant), archived, unassigned (on its way to another synchronizer), or witnessed (never active for the indexed parties); null for a contract that is not stored.';

-- A change of a row of projections makes the transaction that fills a range fail if it began before: it read the contents.
create or replace function :pqs.__remove_projected() returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
as $$
declare
  changed int8multirange;
  projection record;
begin
  perform from :storage.projections p order by p.name for update;
  if not found then
    return;
  end if;
  update :storage.projections set updated_at = now();
  changed := (select range_agg(c.offsets) from :storage.projection_changes c where c.noted_at = now());
  for projection in
    select case when p.view_name is null then format(':storage.%I', 'projected_' || p.name) else format(':derived.%I', p.name) end
             as stored_in,
           :storage.dependent_offsets(changed, p.is_summed, p.looks_up) as offsets
      from :storage.projections p order by p.name
  loop
    execute format(
      'delete from %s p using unnest($1) r (offsets)
        where p."offset" >= coalesce(lower(r.offsets), -1) and p."offset" < coalesce(upper(r.offsets), 9223372036854775807)',
      projection.stored_in) using projection.offsets;
  end loop;
end
$$;
comment on function :pqs.__remove_projected() is
  'Removes the rows of projections at the offsets that this transaction has noted in projection_changes.';

create or replace function :pqs.__redact_contracts(contract_ids text[], redaction_id text, with_exercises boolean)
  returns table (contracts bigint, interface_views bigint, exercises bigint, reassignments bigint)
  language plpgsql volatile rows 1
  set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  ids alias for $1;
  id alias for $2;
  counts record;
begin
  -- The lock ensures that concurrent transactions that store completions see the redactions recorded here.
  lock table :storage.completions in share row exclusive mode;
  insert into :storage.redacted_contracts as r (contract_id, redaction_id, exercises)
    select distinct i.contract_id, id, with_exercises from unnest(ids) i (contract_id)
  on conflict (contract_id) do update set exercises = true where excluded.exercises and not r.exercises;
  with
  meant as materialized (
    select s.activated_offset as "offset", s.node_id
      from unnest(ids) i (contract_id) join :storage.contract_states s on s.contract_id = i.contract_id),
  c as (
    update :storage.contracts c set payload = null, contract_key = null, created_event_blob = null, redaction_id = id
      from meant m where c."offset" = m."offset" and c.node_id = m.node_id and c.redaction_id is null returning 1),
  v as (
    update :storage.interface_views v set view = null, status_message = null, status_details = null, redaction_id = id
      from meant m where v."offset" = m."offset" and v.node_id = m.node_id and v.redaction_id is null returning 1),
  e as (
    update :storage.exercises e set argument = null, result = null, redaction_id = id
      from unnest(ids) i (contract_id)
     where with_exercises and :storage.id_text(e.contract_id) = i.contract_id and e.redaction_id is null returning 1),
  r as (
    update :storage.reassignments r set created_event = null
      from unnest(ids) i (contract_id)
     where :storage.id_text(r.contract_id) = i.contract_id and r.created_event is not null returning 1),
  m as (
    update :storage.completions m set status_message = null, redaction_id = id
      from unnest(ids) i (contract_id)
     where :storage.id_text(m.contract_id) = i.contract_id and m.contract_id is not null and m.redaction_id is null
    returning 1)
  select (select count(*) from c) as contracts, (select count(*) from v) as interface_views,
         (select count(*) from e) as exercises, (select count(*) from r) as reassignments into counts;
  update :storage.redactions a
     set contracts = a.contracts + counts.contracts, exercises = a.exercises + counts.exercises
   where a.redaction_id = id;
  perform :pqs.__remove_projected();
  return query select counts.contracts, counts.interface_views, counts.exercises, counts.reassignments;
end
$$;
comment on function :pqs.__redact_contracts(text[], text, boolean) is
  'Removes payload, key, blob and views of contracts, and the messages of rejected commands that name them. If with_exercises is true, also removes arguments and results of their exercises. Records the redaction, so that the contents are not stored again. Contents that were removed before keep their redaction id. Returns the number of changed rows.';

create or replace function :pqs.__redact_exercise(event_offset bigint, event_node integer, redaction_id text)
  returns bigint
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
as $$
declare
  id alias for $3;
  changed bigint;
begin
  insert into :storage.redacted_exercises as r ("offset", node_id, update_id, redaction_id)
    values (event_offset, event_node, (select :storage.id_text(u.update_id) from :storage.updates u where u."offset" = event_offset), id)
  on conflict ("offset", node_id) do update set update_id = excluded.update_id, redaction_id = excluded.redaction_id
    where r.update_id is distinct from excluded.update_id;
  update :storage.exercises e set argument = null, result = null, redaction_id = id
   where e."offset" = event_offset and e.node_id = event_node and e.redaction_id is null;
  get diagnostics changed = row_count;
  update :storage.redactions a set exercises = a.exercises + changed where a.redaction_id = id;
  perform :pqs.__remove_projected();
  return changed;
end
$$;
comment on function :pqs.__redact_exercise(bigint, integer, text) is
  'Removes argument and result of an exercise, and records the redaction, so that they are not stored again. Returns the number of changed rows, which is 0 if the exercise was redacted before.';

create or replace function :pqs.__restart_writer() returns void
  language sql volatile
begin atomic
  update stream set epoch = epoch + 1;
end;
comment on function :pqs.__restart_writer() is
  'Makes a running indexer begin a new session, which reads the redactions. Needed if the ledger may send redacted contents again.';

create or replace function :pqs.redact_contract(contract_id text, redaction_id text) returns integer
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
as $$
declare
  wanted alias for $1;
  id alias for $2;
  state text;
begin
  perform :pqs.__retention_lock();
  state := :pqs.__contract_state(wanted);
  if id is null or id = '' then
    raise exception 'A redaction needs an id' using errcode = 'null_value_not_allowed';
  elsif state in ('active', 'unhosted', 'unassigned') then
    raise exception 'Contract % is %: only archived contracts are redacted', wanted, state
      using errcode = 'object_in_use', hint = 'To redact it while active, run: ledger-indexer redact contract ID --include-active.';
  elsif state is null then
    return 0;
  elsif state = 'witnessed' then
    perform :pqs.__restart_writer();
  end if;
  insert into :storage.redactions (redaction_id, subject, contract_id, reason, requested_by)
    values (id, 'contract', wanted, 'redact_contract of schema pqs', session_user)
  on conflict do nothing;
  return (select r.contracts + r.interface_views from :pqs.__redact_contracts(array[wanted], id, false) r);
end
$$;
comment on function :pqs.redact_contract(text, text) is
  'Removes payload, key, blob and interface views of an archived contract permanently and returns the number of rows changed; an error while it is active. Needs the right to update.';

create or replace function :pqs.redact_exercise(event_id :pqs.event_id, redaction_id text) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
as $$
declare
  event alias for $1;
  id alias for $2;
begin
  perform :pqs.__retention_lock();
  if id is null or id = '' then
    raise exception 'A redaction needs an id' using errcode = 'null_value_not_allowed';
  elsif not exists (select from :storage.exercises e where e."offset" = event."offset" and e.node_id = event.node_id) then
    return;
  end if;
  insert into :storage.redactions (redaction_id, subject, "offset", node_id, reason, requested_by)
    values (id, 'exercise', event."offset", event.node_id, 'redact_exercise of schema pqs', session_user)
  on conflict do nothing;
  perform :pqs.__redact_exercise(event."offset", event.node_id, id);
end
$$;
comment on function :pqs.redact_exercise(:pqs.event_id, text) is
  'Removes argument and result of an exercise permanently. Needs the right to update.';
