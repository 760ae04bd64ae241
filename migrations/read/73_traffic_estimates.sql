-- The ledger returns an estimate only to the client that prepares the command, so the client has to give it.
create or replace function :explore.traffic_cost_of(command_id text, estimated_bytes bigint default null)
  returns table ("offset" bigint, record_time timestamptz, user_id text, succeeded boolean, template_fqn text, choice text,
                 bytes bigint, estimated_bytes bigint, bytes_beyond bigint, times_estimated numeric)
  language sql stable parallel safe rows 1
begin atomic
  select c."offset", c.record_time, c.user_id, c.succeeded, coalesce(c.template_fqn, t.template_fqn), coalesce(c.choice, t.choice),
         c.paid_traffic_cost, e.estimate, c.paid_traffic_cost - e.estimate, round(c.paid_traffic_cost / nullif(e.estimate, 0)::numeric, 4)
    from (select traffic_cost_of.estimated_bytes as estimate) e
   cross join :explore.explain_command(traffic_cost_of.command_id) c
    left join lateral (select x.template_fqn, x.choice from :explore.traffic_costs x where x."offset" = c."offset" offset 0) t on true
   order by 1;
end;
comment on function :explore.traffic_cost_of(text, bigint) is
  'Bytes that the submissions of a command cost, accepted or rejected, next to an estimate: confirmationRequestTrafficCostEstimation of costEstimation in the response to /v2/interactive-submission/prepare. bytes_beyond is the cost minus the estimate.';
