-- Projections: stored results of slow SELECTs over ranges of offsets. They contain nothing that cannot be computed again from
-- the history, so a new storage begins without them.
create table projections (
  name text primary key,
  select_hash text not null,
  is_summed boolean not null default false,
  covered int8multirange not null default '{}',
  outdated int8multirange not null default '{(,)}',
  is_filled boolean not null default false,
  problem text,
  updated_at timestamptz not null default now()
);
comment on table projections is 'Projections, one row each: which offsets their tables contain.';
comment on column projections.name is 'Name of the view whose rows are stored, without its schema.';
comment on column projections.select_hash is 'Hash of the SELECT with which the rows were computed. Rows of another SELECT are computed again.';
comment on column projections.is_summed is 'Whether the rows are sums of blocks of offsets, see block_end. Then complete blocks are covered and removed.';
comment on column projections.covered is 'Offsets whose rows are stored. A range without a lower bound includes contracts of the seed.';
comment on column projections.outdated is 'Offsets whose rows are being removed. Readers do not use these rows, and no rows are added.';
comment on column projections.is_filled is 'Whether the rows have reached the checkpoint once. Until then, readers do not use them.';
comment on column projections.problem is 'Why the next range cannot be computed; null while there is no problem.';
comment on column projections.updated_at is 'Time of the last change of this row.';

create function block_end(at_offset bigint) returns bigint
  language sql immutable strict parallel safe
  return (at_offset / 5000 + 1) * 5000 - 1;
comment on function block_end(bigint) is 'Last offset of the block of 5,000 offsets that contains an offset. Sums over history are stored for each block.';

create function in_blocks(ranges int8multirange, is_summed boolean) returns int8multirange
  language sql immutable parallel safe
  return case when not is_summed then ranges
              else (select coalesce(range_agg(int8range(block_end(lower(r.part)) - block_end(0),
                                                        -- An offset near the maximum has no end of a block.
                                                        case when upper(r.part) < 9223372036854770000
                                                             then block_end(upper(r.part) - 1) + 1 end)), '{}')
                      from unnest(ranges) r (part)) end;
comment on function in_blocks(int8multirange, boolean) is 'The smallest blocks that contain the ranges; the ranges themselves if is_summed is false.';

create function complete_blocks(ranges int8multirange, is_summed boolean) returns int8multirange
  language sql immutable parallel safe
  return case when not is_summed then ranges
              else in_blocks(ranges, true) - in_blocks(in_blocks(ranges, true) - ranges, true) end;
comment on function complete_blocks(int8multirange, boolean) is 'The blocks that are completely in the ranges; the ranges themselves if is_summed is false.';

create table projected_token_holding_events (
  "offset" bigint not null,
  node_id integer,
  update_id text,
  effective_at timestamptz,
  record_time timestamptz,
  contract_id text,
  cause text,
  standard text,
  owner text,
  provider text,
  account_id text,
  instrument_admin text,
  instrument_id text,
  amount numeric,
  is_locked boolean,
  owner_is_stakeholder boolean
);
comment on table projected_token_holding_events is 'Rows of explore.token_holding_events at the offsets that projections lists as covered; the view has the description of the columns. Also has rows of holdings that cannot be read, without a standard.';
create index projected_token_holding_events_offset on projected_token_holding_events ("offset");
comment on index projected_token_holding_events_offset is 'Holdings that appear or disappear in a range of offsets.';
create index projected_token_holding_events_owner on projected_token_holding_events (owner, "offset");
comment on index projected_token_holding_events_owner is 'Holdings of one owner that appear or disappear.';
create index projected_token_holding_events_unreadable on projected_token_holding_events ("offset") where standard is null;
comment on index projected_token_holding_events_unreadable is 'Holdings that cannot be read.';
create index projected_token_holding_events_not_own on projected_token_holding_events (owner) where not owner_is_stakeholder;
comment on index projected_token_holding_events_not_own is 'Holdings whose owner is not a stakeholder.';

create table projected_token_changes (
  "offset" bigint not null,
  update_id text,
  effective_at timestamptz,
  record_time timestamptz,
  owner text,
  provider text,
  account_id text,
  instrument_admin text,
  instrument_id text,
  kind text,
  amount_in numeric,
  amount_out numeric,
  net numeric,
  locked_in numeric,
  locked_out numeric,
  holdings_in bigint,
  holdings_out bigint,
  other_owners text[],
  reason text,
  basis text,
  moved numeric,
  explained numeric,
  unreadable_holdings bigint
);
comment on table projected_token_changes is 'Rows of explore.token_changes at the offsets that projections lists as covered; the view has the description of the columns.';
create index projected_token_changes_offset on projected_token_changes ("offset");
comment on index projected_token_changes_offset is 'Changes in a range of offsets.';
create index projected_token_changes_owner on projected_token_changes (owner, "offset");
comment on index projected_token_changes_owner is 'Changes of one owner.';
create index projected_token_changes_unreadable on projected_token_changes (owner) where unreadable_holdings > 0;
comment on index projected_token_changes_unreadable is 'Changes in updates with holdings that cannot be read.';

create table projected_token_transfers (
  "offset" bigint not null,
  node_id integer,
  update_id text,
  effective_at timestamptz,
  record_time timestamptz,
  kind text,
  basis text,
  sender text,
  sender_provider text,
  sender_account_id text,
  receiver text,
  receiver_provider text,
  receiver_account_id text,
  instrument_admin text,
  instrument_id text,
  amount numeric,
  transfer_leg_id text,
  reason text
);
comment on table projected_token_transfers is 'Rows of explore.token_transfers at the offsets that projections lists as covered; the view has the description of the columns.';
create index projected_token_transfers_offset on projected_token_transfers ("offset");
comment on index projected_token_transfers_offset is 'Movements in a range of offsets.';
create index projected_token_transfers_sender on projected_token_transfers (sender, "offset");
comment on index projected_token_transfers_sender is 'Movements of one sender.';
create index projected_token_transfers_receiver on projected_token_transfers (receiver, "offset");
comment on index projected_token_transfers_receiver is 'Movements of one receiver.';

create table projected_token_discrepancies (
  "offset" bigint not null,
  update_id text,
  effective_at timestamptz,
  record_time timestamptz,
  owner text,
  provider text,
  account_id text,
  instrument_admin text,
  instrument_id text,
  logged numeric,
  moved numeric
);
comment on table projected_token_discrepancies is 'Rows of explore.token_discrepancies at the offsets that projections lists as covered; the view has the description of the columns.';
create index projected_token_discrepancies_offset on projected_token_discrepancies ("offset");
comment on index projected_token_discrepancies_offset is 'Discrepancies in a range of offsets.';

create table projected_token_transfer_steps (
  "offset" bigint not null,
  node_id integer,
  update_id text,
  effective_at timestamptz,
  record_time timestamptz,
  choice text,
  standard text,
  outcome text,
  sender text,
  sender_provider text,
  sender_account_id text,
  receiver text,
  receiver_provider text,
  receiver_account_id text,
  instrument_admin text,
  instrument_id text,
  amount numeric,
  transfer_instruction_id text,
  receiver_holding_ids text[],
  sender_change_ids text[],
  requested_at timestamptz,
  execute_before timestamptz,
  reason text,
  meta jsonb,
  acting_parties text[],
  amount_burnt numeric
);
comment on table projected_token_transfer_steps is 'Rows of explore.token_transfer_steps at the offsets that projections lists as covered; the view has the description of the columns.';
create index projected_token_transfer_steps_offset on projected_token_transfer_steps ("offset");
comment on index projected_token_transfer_steps_offset is 'Steps in a range of offsets.';

create table projected_traffic_purchases (
  "offset" bigint not null,
  update_id text,
  effective_at timestamptz,
  record_time timestamptz,
  dso text,
  member_id text,
  synchronizer_id text,
  migration_id bigint,
  purchases bigint,
  bytes numeric,
  amulet_burnt numeric,
  usd_burnt numeric,
  provider text,
  round bigint
);
comment on table projected_traffic_purchases is 'Rows of explore.traffic_purchases at the offsets that projections lists as covered; the view has the description of the columns.';
create index projected_traffic_purchases_offset on projected_traffic_purchases ("offset");
comment on index projected_traffic_purchases_offset is 'Purchases in a range of offsets.';

create table projected_amulet_transfers (
  "offset" bigint not null,
  node_id integer,
  update_id text,
  effective_at timestamptz,
  record_time timestamptz,
  choice text,
  dso text,
  sender text,
  provider text,
  receivers text[],
  amounts numeric[],
  amount numeric,
  input_amount numeric,
  change_amount numeric,
  holding_fees numeric,
  output_fees numeric,
  change_fee numeric,
  fees numeric,
  app_rewards numeric,
  validator_rewards numeric,
  faucet_rewards numeric,
  sv_rewards numeric,
  unclaimed_rewards numeric,
  development_rewards numeric,
  amulet_price numeric,
  round bigint
);
comment on table projected_amulet_transfers is 'Rows of explore.amulet_transfers at the offsets that projections lists as covered; the view has the description of the columns.';
create index projected_amulet_transfers_offset on projected_amulet_transfers ("offset");
comment on index projected_amulet_transfers_offset is 'Transfers in a range of offsets.';
create index projected_amulet_transfers_sender on projected_amulet_transfers (sender, "offset");
comment on index projected_amulet_transfers_sender is 'Transfers of one sender.';

create table projected_ended_reward_coupons (
  "offset" bigint not null,
  contract_id text,
  kind text,
  dso text,
  party text,
  provider text,
  round bigint,
  is_featured boolean,
  amount numeric,
  status text,
  collected_by text,
  expires_at timestamptz,
  created_at_offset bigint,
  created_at timestamptz,
  archived_at_offset bigint,
  archived_at timestamptz,
  reward_kind text,
  mint_after timestamptz
);
comment on table projected_ended_reward_coupons is 'Rows of explore.ended_reward_coupons at the offsets that projections lists as covered; the view has the description of the columns.';
create index projected_ended_reward_coupons_offset on projected_ended_reward_coupons ("offset");
comment on index projected_ended_reward_coupons_offset is 'Coupons that ended in a range of offsets.';

create table projected_traffic_costs (
  "offset" bigint not null,
  template_pk integer,
  choice_pk integer,
  parties_pk integer
);
comment on table projected_traffic_costs is 'First event of each update of explore.traffic_costs, at the offsets that projections lists as covered.';
create index projected_traffic_costs_offset on projected_traffic_costs ("offset");
comment on index projected_traffic_costs_offset is 'First event of one update.';

create table projected_token_balance_changes (
  "offset" bigint not null,
  owner text,
  provider text,
  account_id text,
  instrument_admin text,
  instrument_id text,
  total numeric,
  locked numeric,
  holdings bigint
);
comment on table projected_token_balance_changes is 'Rows of explore.token_balance_changes of the blocks that projections lists as covered; the view has the description of the columns.';
create index projected_token_balance_changes_offset on projected_token_balance_changes ("offset");
comment on index projected_token_balance_changes_offset is 'Sums of a range of blocks.';

create table projected_token_movements (
  "offset" bigint not null,
  hour timestamptz,
  kind text,
  basis text,
  instrument_admin text,
  instrument_id text,
  movements bigint,
  amount numeric
);
comment on table projected_token_movements is 'Rows of explore.token_movements of the blocks that projections lists as covered; the view has the description of the columns.';
create index projected_token_movements_offset on projected_token_movements ("offset");
comment on index projected_token_movements_offset is 'Sums of a range of blocks.';

create table projected_contract_lifetimes (
  "offset" bigint not null,
  day timestamptz,
  template_pk integer,
  lived_below interval,
  contracts bigint
);
comment on table projected_contract_lifetimes is 'Rows of explore.contract_lifetimes of the blocks that projections lists as covered; the view has the description of the columns.';
create index projected_contract_lifetimes_offset on projected_contract_lifetimes ("offset");
comment on index projected_contract_lifetimes_offset is 'Counts of a range of blocks.';

create table projected_party_activity (
  "offset" bigint not null,
  party text,
  signatory_of bigint,
  observer_of bigint,
  witness_of bigint,
  exercised bigint,
  first_offset bigint,
  last_offset bigint,
  first_at timestamptz,
  last_at timestamptz
);
comment on table projected_party_activity is 'Rows of explore.party_activity of the blocks that projections lists as covered; the view has the description of the columns.';
create index projected_party_activity_offset on projected_party_activity ("offset");
comment on index projected_party_activity_offset is 'Counts of a range of blocks.';

create table projection_changes (
  offsets int8range not null,
  noted_at timestamptz not null default now()
);
comment on table projection_changes is 'Offsets whose history was changed after it was stored, until the projections have computed their rows again. Readers compute these rows from the history.';
comment on column projection_changes.offsets is 'Offsets of the events that were changed, or that depend on a changed event.';
comment on column projection_changes.noted_at is 'Time of the change.';
create index ended_reassigned on ended (contract_id) where ended_by = 'r';
comment on index ended_reassigned is 'Contracts that were reassigned, for differences between two offsets.';

-- The views have the descriptions of the columns.
do $$
declare
  stored record;
begin
  for stored in
    select v.view_name, a.attname
      from unnest(array['token_holding_events', 'token_changes', 'token_transfers', 'token_discrepancies',
                        'token_transfer_steps', 'traffic_purchases', 'amulet_transfers', 'ended_reward_coupons',
                        'traffic_costs', 'token_balance_changes', 'token_movements', 'contract_lifetimes',
                        'party_activity']) v (view_name)
      join pg_attribute a on a.attrelid = to_regclass('projected_' || v.view_name) and a.attnum > 0
  loop
    execute format('comment on column projected_%I.%I is %L', stored.view_name, stored.attname,
                   format('Value of explore.%s.%s.', stored.view_name, stored.attname));
  end loop;
end
$$;
comment on column projected_token_holding_events.owner_is_stakeholder is 'Whether the owner is a signatory or an observer of the contract; null if the holding cannot be read.';
comment on column projected_traffic_costs.template_pk is 'Template of the event, see templates; null if no event is visible.';
comment on column projected_traffic_costs.choice_pk is 'Choice of the event, see choices; null for a create, an archive and a reassignment.';
comment on column projected_traffic_costs.parties_pk is 'Acting parties of the event, see event_parties.';
comment on column projected_contract_lifetimes.template_pk is 'Template, which is explore.contract_lifetimes.template_fqn by name.';

-- Without a replica identity, a publication could not send deleted rows, and would reject the deletion.
alter table projection_changes replica identity full;
alter table projected_token_holding_events replica identity full;
alter table projected_token_changes replica identity full;
alter table projected_token_transfers replica identity full;
alter table projected_token_discrepancies replica identity full;
alter table projected_token_transfer_steps replica identity full;
alter table projected_traffic_purchases replica identity full;
alter table projected_amulet_transfers replica identity full;
alter table projected_ended_reward_coupons replica identity full;
alter table projected_traffic_costs replica identity full;
alter table projected_token_balance_changes replica identity full;
alter table projected_token_movements replica identity full;
alter table projected_contract_lifetimes replica identity full;
alter table projected_party_activity replica identity full;

-- A change of a contract or of a view of it changes the rows at its activation, its end and its exercises. If more contracts
-- change at once, their offsets are not looked up, and everything after the first one is computed again.
create function note_changed_contracts() returns trigger
  language plpgsql
  set plan_cache_mode = force_custom_plan
as $$
begin
  if not exists (select from projections) or not exists (select from changed_rows) then
    return null;
  elsif (select count(*) from (select from changed_rows limit 10001) c) > 10000 then
    insert into projection_changes (offsets) select int8range(min(c."offset"), null) from changed_rows c;
    return null;
  end if;
  insert into projection_changes (offsets)
  with changed as materialized (
    select distinct c."offset", c.contract_id
      from changed_rows n
      join contracts c on c."offset" = n."offset" and c.node_id = n.node_id)
  select int8range(a.at, a.at, '[]')
    from (select n."offset" from changed_rows n
          union select e.ended_offset from changed c join ended e on id_text(e.contract_id) = id_text(c.contract_id)
          union select e.unhosted_since from changed c join ended e on id_text(e.contract_id) = id_text(c.contract_id)
          union select l.unhosted_since from changed c join live l on id_text(l.contract_id) = id_text(c.contract_id)
          union select x."offset" from changed c join exercises x on id_text(x.contract_id) = id_text(c.contract_id)) a (at)
   where a.at is not null;
  return null;
end
$$;
comment on function note_changed_contracts() is 'Trigger: notes changed rows of contracts and interface_views for the projections.';

create function note_changed_offsets() returns trigger
  language plpgsql
as $$
begin
  if not exists (select from projections) then
    return null;
  elsif (select count(*) from (select distinct c."offset" from changed_rows c limit 10001) d) <= 10000 then
    insert into projection_changes (offsets) select distinct int8range(c."offset", c."offset", '[]') from changed_rows c;
  else
    insert into projection_changes (offsets) select int8range(min(c."offset"), max(c."offset"), '[]') from changed_rows c;
  end if;
  return null;
end
$$;
comment on function note_changed_offsets() is 'Trigger: notes changed exercises for the projections.';

create function note_changed_ends() returns trigger
  language plpgsql
as $$
begin
  if exists (select from projections) then
    insert into projection_changes (offsets)
    select distinct int8range(a.at, a.at, '[]')
      from (select n.ended_offset from new_rows n union select o.ended_offset from old_rows o
            union select n.unhosted_since from new_rows n union select o.unhosted_since from old_rows o) a (at)
     where a.at is not null and not exists (select from projection_changes c where c.offsets @> a.at and c.xmin = pg_current_xact_id()::xid);
  end if;
  return null;
end
$$;
comment on function note_changed_ends() is 'Trigger: notes changed ends of contracts for the projections.';

create function note_changed_hosting() returns trigger
  language plpgsql
as $$
begin
  if exists (select from projections) then
    insert into projection_changes (offsets)
    select distinct int8range(a.at, a.at, '[]')
      from (select n.unhosted_since from new_rows n union select o.unhosted_since from old_rows o) a (at)
     where a.at is not null and not exists (select from projection_changes c where c.offsets @> a.at and c.xmin = pg_current_xact_id()::xid);
  end if;
  return null;
end
$$;
comment on function note_changed_hosting() is 'Trigger: notes contracts whose parties left or returned for the projections.';

-- A contract whose parties left counts until its end if its end is stored later, so its row at the departure goes. A reset to
-- an offset before the end brings it back.
create function note_ended_unhosted() returns trigger
  language plpgsql
as $$
begin
  if exists (select from projections) then
    insert into projection_changes (offsets)
    select int8range(new.unhosted_since, new.unhosted_since, '[]')
     where not exists (select from projection_changes c where c.offsets @> new.unhosted_since and c.xmin = pg_current_xact_id()::xid);
  end if;
  return null;
end
$$;
comment on function note_ended_unhosted() is 'Trigger: notes the departure of a contract whose end is stored or removed, for the projections.';

create function note_moved_start() returns trigger
  language plpgsql
as $$
begin
  if exists (select from projections) then
    insert into projection_changes (offsets)
    values (int8range(null, case when new.seed_offset is distinct from old.seed_offset then null
                                 else least(greatest(new.pruned_to_offset, old.pruned_to_offset), 9223372036854775806) end, '(]'));
  end if;
  return null;
end
$$;
comment on function note_moved_start() is 'Trigger: notes pruned history, or a new seed, for the projections.';

-- The package name of an interface decides whether it belongs to the token standard, see explore.token_pks, which names each
-- package after its module. A name that does not fit the module changes which contracts are holdings. The package name of a
-- template decides whether its choices are those of the network, see explore.network_templates.
create function note_named_packages() returns trigger
  language plpgsql
as $$
begin
  if exists (select from projections) then
    insert into projection_changes (offsets)
    select int8range(f.first_offset, null)
      from (select least((select min(c."offset")
                            from template_interfaces m
                           cross join lateral (select k."offset" from contracts k where k.template_pk = m.template_pk order by k."offset" limit 1) c
                           where m.interface_pk = t.template_pk),
                         (select min(e."offset")
                            from choices h
                           cross join lateral (select x."offset" from exercises x where x.choice_pk = h.choice_pk order by x."offset" limit 1) e
                           where h.interface_pk = t.template_pk or h.template_pk = t.template_pk),
                         (select k."offset" from contracts k
                           where k.template_pk = t.template_pk and t.module_name not like 'Splice.Api.Token.%'
                           order by k."offset" limit 1)) as first_offset
              from named_rows n
              join templates t on t.package_id = n.package_id
             where t.module_name like 'Splice.%' and n.package_name = 'splice-amulet'
                or t.module_name like 'Splice.Api.Token.%'
               and n.package_name <> 'splice-api-token-' || lower(regexp_replace(substr(t.module_name, 18), '([a-z0-9])([A-Z])', E'\\1-\\2', 'g'))) f
     where f.first_offset is not null;
  end if;
  return null;
end
$$;
comment on function note_named_packages() is 'Trigger: notes names of packages that change which contracts are tokens, or contracts of the network, for the projections.';

-- The first view of a template through an interface also concerns earlier contracts of the template, which have no such view.
create function note_new_implementations() returns trigger
  language plpgsql
as $$
begin
  if exists (select from projections) then
    insert into projection_changes (offsets)
    select int8range(f.first_offset, null)
      from (select min(c."offset") as first_offset
              from added_rows n
              join templates i on i.template_pk = n.interface_pk and i.module_name like 'Splice.Api.Token.%'
             cross join lateral (select k."offset" from contracts k where k.template_pk = n.template_pk order by k."offset" limit 1) c) f
     where f.first_offset is not null;
  end if;
  return null;
end
$$;
comment on function note_new_implementations() is 'Trigger: notes templates that became tokens after contracts of them were stored, for the projections.';

-- Names must resolve to the tables of this schema, never to a temporary table. Citus does not allow triggers on distributed
-- tables; there, nothing is projected.
do $$
declare
  routine text;
begin
  foreach routine in array array['note_changed_contracts()', 'note_changed_offsets()', 'note_changed_ends()',
    'note_changed_hosting()', 'note_ended_unhosted()', 'note_moved_start()', 'note_named_packages()',
    'note_new_implementations()'] loop
    execute format('alter function %s set search_path = %I, pg_temp', routine, current_schema());
    execute format('revoke execute on function %s from public', routine);
  end loop;
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    return;
  end if;
  create trigger note_changed_contracts after update on contracts
    referencing new table as changed_rows for each statement execute function note_changed_contracts();
  create trigger note_changed_contracts after update on interface_views
    referencing new table as changed_rows for each statement execute function note_changed_contracts();
  create trigger note_changed_offsets after update on exercises
    referencing new table as changed_rows for each statement execute function note_changed_offsets();
  create trigger note_changed_ends after update on ended
    referencing old table as old_rows new table as new_rows for each statement execute function note_changed_ends();
  create trigger note_ended_unhosted after insert on ended
    for each row when (new.unhosted_since is not null) execute function note_ended_unhosted();
  create trigger note_ended_unhosted after insert on live
    for each row when (new.unhosted_since is not null) execute function note_ended_unhosted();
  create trigger note_changed_hosting after update on live
    referencing old table as old_rows new table as new_rows for each statement execute function note_changed_hosting();
  create trigger note_named_packages after insert on packages
    referencing new table as named_rows for each statement execute function note_named_packages();
  create trigger note_renamed_packages after update on packages
    referencing new table as named_rows for each statement execute function note_named_packages();
  create trigger note_renamed_packages after update on templates
    referencing new table as named_rows for each statement execute function note_named_packages();
  create trigger note_new_implementations after insert on template_interfaces
    referencing new table as added_rows for each statement execute function note_new_implementations();
  create trigger note_moved_start after update of pruned_to_offset, seed_offset on stream
    for each row execute function note_moved_start();
end
$$;

alter table verifications drop constraint verifications_kind_check;
alter table verifications add check (kind in ('invariants', 'acs', 'tail', 'range', 'tokens', 'projections'));
