-- Results of submitted commands. Completions are stored only up to the checkpoint of the stream. So the update of an
-- accepted command is stored too, at the same offset, if the filter makes it visible.

create or replace view :explore.completions as
  select c."offset", c.command_id, c.submission_id, c.user_id,
         array(select s.party from submitters s where s.submitters_key = c.submitters_key order by s.party) as act_as,
         id_text(c.update_id) as update_id, c.synchronizer_id, c.record_time, c.status_code = 0 as succeeded, c.status_code,
         c.status_message, c.error_code, c.error_category, c.deduplication_offset,
         c.deduplication_microseconds * interval '1 microsecond' as deduplication_period, c.paid_traffic_cost,
         trace_text(c.trace_parent) as trace_parent, c.trace_state, id_text(c.contract_id) as contract_id, c.choice_path,
         c.submitted_at, id_text(c.transaction_hash) as transaction_hash, c.redaction_id
    from completions c;
comment on view :explore.completions is
  'Results of submitted commands, one row per submission that was accepted or rejected. Complete where completion_coverage reports complete. Empty with INDEXER_COMPLETIONS=off, and before participant release 3.5.7, which returns completions only to the submitting user.';

-- Contract and choice are known only for few commands: from the contract that the error names, or from the trace in the
-- error. Subqueries of columns that a query does not read are not executed.
create or replace view :explore.rejected_commands as
  select c."offset", c.record_time, c.command_id, c.submission_id, c.user_id,
         array(select s.party from submitters s where s.submitters_key = c.submitters_key order by s.party) as act_as,
         c.error_code, c.error_category, c.status_code,
         regexp_replace(c.status_message, '^[A-Z][A-Z0-9_]*\([^)]*\): ', '') as reason,
         c.error_category in (1, 2, 3, 12) or c.error_category is null and c.status_code in (4, 8, 10, 11, 14) as is_retryable,
         id_text(c.contract_id) as contract_id,
         coalesce(
           (select :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name)
              from (select contract_id, template_pk from contract_states /*workers
                     where contract_id = any ((select array_agg(id_text(r.contract_id)) from completions r
                                                where r.contract_id is not null)::text[])
                    offset 0 workers*/) l
              join templates t on t.template_pk = l.template_pk
             where l.contract_id = id_text(c.contract_id) limit 1),
           (select :explore.fqn(coalesce(t.package_name, t.package_id), t.module_name, t.entity_name)
              from templates t
             where c.choice_path is not null and t.module_name = split_part(c.choice_path, ':', 2)
               and t.entity_name = split_part(c.choice_path, ':', 3)
               and starts_with(t.package_id, split_part(c.choice_path, ':', 1))
             order by t.template_pk limit 1)) as template_fqn,
         nullif(split_part(c.choice_path, ':', 4), '') as choice, c.paid_traffic_cost, c.synchronizer_id,
         trace_text(c.trace_parent) as trace_parent,
         (select o."offset"
            from (select * from completions /*workers
                   where status_code = 0
                     and command_id = any (array(select r.command_id from completions r where r.status_code <> 0))
                  offset 0 workers*/) o
           where o.command_id = c.command_id and o.user_id = c.user_id and o.submitters_key = c.submitters_key
             and o.status_code = 0
           order by o."offset" desc limit 1) as accepted_offset, c.redaction_id
    from (select * from completions /*workers where status_code <> 0 offset 0 workers*/) c
   where c.status_code <> 0;
comment on view :explore.rejected_commands is
  'Rejected commands, with the reason. A command that could not be interpreted may have no completion, because the ledger rejected it at once. Complete where completion_coverage reports complete.';

create or replace view :explore.command_latency as
  select c."offset", c.command_id, c.submission_id, c.user_id, c.status_code = 0 as succeeded,
         id_text(c.update_id) as update_id, coalesce(c.submitted_at, u.effective_at) as began_at,
         case when c.submitted_at is not null then 'submitted_at' when u.effective_at is not null then 'effective_at' end
           as began_at_source,
         c.record_time, c.record_time - coalesce(c.submitted_at, u.effective_at) as latency, b.indexed_at,
         b.indexed_at - c.record_time as indexing_latency, c.synchronizer_id
    from completions c
    left join updates u on u."offset" = c."offset" and u.kind = 't'
    left join batches b on b.batch_offset = u.batch_offset;
comment on view :explore.command_latency is
  'Time from submission to commit. The ledger reports neither the time of submission nor the time at which the submitter received the result. began_at is the ledger effective time: the time of the participant''s clock when it interprets the command, or a later time that the command requests. For some rejections began_at is the time in the error. latency is the time from began_at to the record time, by the clock of the synchronizer; null if one of them is not known.';

create or replace view :explore.wasted_traffic as
  select date_trunc('hour', r.record_time, 'UTC') as hour, r.user_id, r.error_code, r.template_fqn, r.choice,
         r.synchronizer_id, count(*) as commands, sum(r.paid_traffic_cost) as paid_traffic_cost
    from :explore.rejected_commands r
   group by 1, 2, 3, 4, 5, 6;
comment on view :explore.wasted_traffic is
  'Traffic cost of rejected commands, per hour, user, error code, template and choice. Template and choice are null if the error does not name them. Participants report the cost of rejected commands since 3.5.7. Complete where completion_coverage reports complete.';

create or replace view :explore.completion_coverage as
  with ranges as (
    select r.from_offset, r.to_offset, r.reason, r.recorded_at, s.pruned_to_offset, s.checkpoint,
           lag(r.to_offset) over (order by r.from_offset) as ended, lead(r.from_offset) over (order by r.from_offset) as next
      from completion_ranges r cross join stream s)
  select c.from_offset, c.to_offset, c.status, c.reason, c.recorded_at
    from (
      select 0 as from_offset, min(from_offset) as to_offset, 'before_start' as status,
             'completions begin later' || coalesce(': ' || (array_agg(reason order by from_offset))[1], '') as reason,
             null::timestamptz as recorded_at
        from ranges having min(from_offset) > 0
      union all
      select from_offset, least(to_offset, pruned_to_offset), 'pruned', 'pruned', recorded_at
        from ranges where from_offset < pruned_to_offset
      union all
      select greatest(from_offset, pruned_to_offset), to_offset, 'complete',
             'read from the participant' || case when from_offset = ended then coalesce('; ' || reason, '') else '' end,
             recorded_at
        from ranges where to_offset >= greatest(from_offset, pruned_to_offset)
      union all
      select ended, from_offset, 'gap', 'these completions are not known' || coalesce(': ' || reason, ''), recorded_at
        from ranges where ended < from_offset
      union all
      select to_offset, checkpoint, 'pending', 'completions are read after the updates: these are not read yet',
             null
        from ranges where next is null and to_offset < checkpoint) c
   order by c.from_offset, c.to_offset;
comment on view :explore.completion_coverage is
  'Availability of completions by range, in order: completions after from_offset, up to and including to_offset, are complete, before_start, pruned, gap or pending, with the reason. Empty if completions were never read; the log, /status and `ledger-indexer check` report the reason.';
