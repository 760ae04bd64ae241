-- Validators, one row each even if their license was replaced, and their heartbeats.

create or replace view :explore.validators as
  select l.dso, l.validator, case when l.ended_by is null then case when l.unhosted_since is null then 'active' else 'unhosted' end
                                  when e.choice = 'ValidatorLicense_Withdraw' then 'withdrawn'
                                  when e.choice = 'ValidatorLicense_Cancel' then 'cancelled'
                                  when l.ended_by = 'w' then 'witnessed'
                                  when l.ended_by = 'r' then 'unassigned'
                                  when l.ended_by = 'e' then 'ended'
                                  else 'archived' end as status,
         (l.payload ->> 'lastActiveAt')::timestamptz as last_active_at,
         (l.payload #>> '{faucetState,firstReceivedFor,number}')::bigint as first_round,
         (l.payload #>> '{faucetState,lastReceivedFor,number}')::bigint as last_round,
         (l.payload #>> '{faucetState,numCouponsMissed}')::bigint as missed_rounds,
         l.payload #>> '{metadata,version}' as version, l.payload #>> '{metadata,contactPoint}' as contact_point,
         (l.payload #>> '{metadata,lastUpdatedAt}')::timestamptz as metadata_updated_at, l.payload ->> 'sponsor' as sponsor,
         l.contract_id, coalesce(p.package_version, t.package_id) as package_version, l.licenses, l.first_created_at,
         l."offset" as created_at_offset, l.created_at, case when l.ended_by <> 'w' then l.ended_offset end as archived_at_offset,
         l.ended_at as archived_at
    from (
      select n.*, d.dso, d.validator, row_number() over newest as place, count(*) over of_validator as licenses,
             min(n.created_at) over of_validator as first_created_at
        from :explore.network_contracts('ValidatorLicense', 'ValidatorLicense') n
       cross join lateral (select n.payload ->> 'dso' as dso, n.payload ->> 'validator' as validator) d
       where n.payload is not null
      window of_validator as (partition by d.dso, d.validator),
             newest as (partition by d.dso, d.validator
                        order by n.ended_by is null desc, n."offset" desc, n.node_id desc)) l
    left join lateral (
           select h.choice
             from (select * from exercises /*workers
                    where template_pk in (select :explore.network_templates('ValidatorLicense', 'ValidatorLicense')) offset 0
                  workers*/) x
             join choices h on h.choice_pk = x.choice_pk
            where x."offset" = l.ended_offset and x.node_id = l.ended_node_id
            limit 1) e on true
    left join templates t on t.template_pk = l.template_pk
    left join packages p on p.package_id = t.package_id
   where l.place = 1;
comment on view :explore.validators is
  'Validators, one row each, with their newest license of any package version. Validators that no longer have a license are included with their last license. Complete where coverage reports complete; from earlier times, only validators that were still licensed. Works with any shape; status withdrawn and cancelled need LEDGER_EFFECTS.';

-- The controller of these choices is the validator, so no license has to be looked up. Depending on the package
-- version, the choice keeps the license or replaces it.
create or replace view :explore.validator_heartbeats as
  select e."offset", e.node_id, id_text(u.update_id) as update_id, u.effective_at, u.record_time, e.acting_parties[1] as validator,
         e.choice, e.contract_id, nullif(e.result ->> 'licenseCid', e.contract_id) as new_contract_id, e.consuming,
         e.result ->> 'couponCid' as coupon_id,
         (select (select c.payload ->> 'dso'
                    from (select "offset", node_id, payload from contracts /*workers
                           where template_pk in (select :explore.network_templates('ValidatorLicense', 'ValidatorLicense')) offset 0
                         workers*/) c
                   where c."offset" = l.activated_offset and c.node_id = l.node_id)
            from (select contract_id, activated_offset, node_id from contract_states /*workers
                   where template_pk in (select :explore.network_templates('ValidatorLicense', 'ValidatorLicense')) offset 0
                 workers*/) l
           where l.contract_id = e.contract_id order by l.activated_offset limit 1) as dso
    from :explore.network_exercises('ValidatorLicense', 'ValidatorLicense',
           '{ValidatorLicense_ReportActive,ValidatorLicense_RecordValidatorLivenessActivity,ValidatorLicense_ReceiveFaucetCoupon,ValidatorLicense_UpdateMetadata}') e
    left join updates u on u."offset" = e."offset";
comment on view :explore.validator_heartbeats is
  'Heartbeats of validators, one row each: choices by which a validator reports that it is active, collects rewards for being active, or reports its version. Needs the shape LEDGER_EFFECTS. Complete where coverage reports complete.';
