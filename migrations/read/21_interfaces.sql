-- From where on an answer through an interface is complete. The stream is asked for views of the interfaces that the
-- participant knows; those that it comes to know later are gathered beside it, from as far back as it shows.

create or replace view :explore.interface_coverage as
  select i.interface_id, i.state, i.complete_from, i.unknown_at_offset, i.updated_at,
         case when i.state = 'followed' and i.complete_from = 0 then 'complete wherever the stream is'
              when i.state = 'followed' and i.complete_from is null
                then 'the stream asks for it; views of contracts that were active before are gathered'
              when i.state = 'followed'
                then format('complete from offset %s on: contracts that had ended by then have no view', i.complete_from)
              when i.state = 'backfilling' and i.unknown_at_offset is not null
                then format('its views are gathered beside the stream; up to offset %s the participant did not know it', i.unknown_at_offset)
              when i.state = 'backfilling' then 'its views are gathered beside the stream; until then none of it can be relied on'
              when i.unknown_at_offset is not null
                then format('the participant does not know it: as of offset %s there was nothing to see through it', i.unknown_at_offset)
              else 'the participant was not asked for it yet'
         end as reason
    from filter_interfaces i;
comment on view :explore.interface_coverage is
  'The interfaces that are wanted (LEDGER_INTERFACES, presets spelt out), and from which offset on what is seen through them is complete. Empty when none is.';

-- Not in one query with what it guards: in PL/pgSQL it is asked once.
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
    raise exception 'What was seen through % at offset % is not complete: %', partial.interface_id, at_offset, partial.reason
      using errcode = 'LI003',
            hint = case when partial.state = 'followed' and partial.complete_from is not null then format('Ask for offset %s or a later one; ', partial.complete_from)
                                      else 'Wait until it is followed; ' end
                   || 'view interface_coverage says from where on each interface is complete.';
  end if;
  return at_offset;
end
$$;
comment on function :explore.token_known_at(text, text, bigint) is
  'The offset itself where what is seen through an interface of the token standard, of both versions, e.g. Holding and Holding, is complete at it, see interface_coverage; else SQLSTATE LI003 with the reason.';
