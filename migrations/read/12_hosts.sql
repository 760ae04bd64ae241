-- Which participant told what. Offsets are those of the stream, whoever was read; the participant's own are derived.

create or replace view :explore.hosts as
  select h.host, h.participant_id, h.from_offset,
         coalesce(lead(h.from_offset) over (order by h.host), s.checkpoint) as to_offset, h.shift, h.reason, h.since
    from hosts h cross join stream s
  union all
  select 1, s.participant_id, 0, s.checkpoint, 0, null, null
    from stream s
   where not exists (select from hosts);
comment on view :explore.hosts is
  'Participants that were read, in order: one row until the stream is moved to another one (`ledger-indexer move`). What lies after from_offset, up to and including to_offset, was read from this one; its own offset is the offset here minus shift.';

-- Of a stream that was never moved no row is read. An empty stretch lies at one offset with the next: the later one counts.
create or replace function :explore.host_at(at_offset bigint) returns integer
  language sql stable parallel safe
  return coalesce((select h.host from hosts h where h.from_offset < at_offset order by h.host desc limit 1), 1);
comment on function :explore.host_at(bigint) is
  'Number of the participant that the update at an offset was read from, see hosts; 1 where the stream was never moved.';

create or replace function :explore.host_offset(at_offset bigint) returns bigint
  language sql stable parallel safe
  return at_offset
         - coalesce((select h.shift from hosts h where h.from_offset < at_offset order by h.host desc limit 1), 0);
comment on function :explore.host_offset(bigint) is
  'The offset that an update has at the participant it was read from.';

create or replace function :explore.offset_of_host(own_offset bigint, of_host integer default null) returns bigint
  language sql stable parallel safe
  return own_offset + coalesce((select h.shift from hosts h where of_host is null or h.host = of_host
                                 order by h.host desc limit 1), 0);
comment on function :explore.offset_of_host(bigint, integer) is
  'The offset here of what a participant has at an offset of its own, such as one that a completion told: to be waited for. Of the participant that is read now, or of the one with this number; of use for what it told after it was moved to.';
