-- Offsets from which views of an interface are complete. The stream delivers views of interfaces that the participant
-- knows. If the participant gets the package of an interface later, earlier views are backfilled in the background, as
-- far back as the participant returns them.

create or replace view :explore.interface_coverage as
  select i.interface_id, i.state, i.complete_from, i.unknown_at_offset, i.updated_at,
         case when i.state = 'followed' and i.complete_from = 0 then 'complete wherever the stream is complete'
              when i.state = 'followed' and i.complete_from is null
                then 'the stream delivers its views; views of contracts active before are being backfilled'
              when i.state = 'followed'
                then format('complete from offset %s: contracts that had ended by then have no view', i.complete_from)
              when i.state = 'backfilling' and i.unknown_at_offset is not null
                then format('views are being backfilled in the background; up to offset %s the participant did not know the interface', i.unknown_at_offset)
              when i.state = 'backfilling' then 'views are being backfilled in the background; none are complete until the backfill ends'
              when i.unknown_at_offset is not null
                then format('the participant does not know the interface: up to offset %s no contract has a view of it', i.unknown_at_offset)
              else 'the participant was not queried for the interface yet'
         end as reason
    from filter_interfaces i;
comment on view :explore.interface_coverage is
  'Requested interfaces (LEDGER_INTERFACES with presets expanded), and the offset from which the views of each are complete. Empty if none is requested.';

-- In PL/pgSQL, so that the check is evaluated once and not inlined into the query whose rows it protects.
create or replace function :explore.token_known_at(module text, entity text, at_offset bigint) returns bigint
  language plpgsql stable parallel safe
  set search_path = pg_catalog, pg_temp
as $$
declare
  partial record;
begin
  select c.interface_id, c.state, c.complete_from, c.reason into partial
    from :explore.interface_coverage c
   where split_part(c.interface_id, ':', 2) in ('Splice.Api.Token.' || module || 'V1', 'Splice.Api.Token.' || module || 'V2')
     and split_part(c.interface_id, ':', 3) = entity
     and not coalesce(c.state = 'followed' and at_offset >= c.complete_from, false)
     and not coalesce(at_offset >= coalesce(c.complete_from, 0)
                      and (at_offset <= c.unknown_at_offset or c.state = 'waiting' and c.unknown_at_offset is not null), false)
   order by c.interface_id limit 1;
  if partial.interface_id is not null then
    raise exception 'Views of % at offset % are not complete: %', partial.interface_id, at_offset, partial.reason
      using errcode = 'LI003',
            hint = case when partial.state = 'followed' and partial.complete_from is not null then format('Use offset %s or a later one; ', partial.complete_from)
                                      else 'Wait until its state is followed; ' end
                   || 'view interface_coverage has the offset from which each interface is complete.';
  end if;
  return at_offset;
end
$$;
comment on function :explore.token_known_at(text, text, bigint) is
  'The offset itself if the views of an interface of the token standard are complete at this offset in both versions, see interface_coverage; otherwise SQLSTATE LI003 with the reason. Arguments are module and entity, e.g. Holding and Holding.';
