-- Which participant told what. Offsets are those of the stream, whoever was read; the participant's own are derived.

create or replace view :explore.participants as
  select p.participant_number, p.participant_id, p.from_offset,
         coalesce(lead(p.from_offset) over (order by p.participant_number), s.checkpoint) as to_offset, p.offset_shift, p.reason, p.since
    from participants p cross join stream s
  union all
  select 1, s.participant_id, 0, s.checkpoint, 0, null, null
    from stream s
   where not exists (select from participants);
comment on view :explore.participants is
  'Participants that were read, in order: one row until the stream is switched to another one (`ledger-indexer switch-participant`). What lies after from_offset, up to and including to_offset, was read from this one; its own offset is the offset here minus offset_shift.';

-- Of a stream that never switched participants no row is read. An empty range lies at one offset with the next: the later one counts.
create or replace function :explore.participant_number_at(at_offset bigint) returns integer
  language sql stable parallel safe
  return coalesce((select p.participant_number from participants p where p.from_offset < at_offset
                    order by p.participant_number desc limit 1), 1);
comment on function :explore.participant_number_at(bigint) is
  'Number of the participant that the update at an offset was read from, see participants; 1 where the stream never switched participants.';

create or replace function :explore.participant_offset(at_offset bigint) returns bigint
  language sql stable parallel safe
  return at_offset
         - coalesce((select p.offset_shift from participants p where p.from_offset < at_offset
                      order by p.participant_number desc limit 1), 0);
comment on function :explore.participant_offset(bigint) is
  'The offset that an update has at the participant it was read from.';

create or replace function :explore.from_participant_offset(participant_offset bigint, of_participant integer default null) returns bigint
  language sql stable parallel safe
  return participant_offset + coalesce((select p.offset_shift from participants p
                                        where of_participant is null or p.participant_number = of_participant
                                        order by p.participant_number desc limit 1), 0);
comment on function :explore.from_participant_offset(bigint, integer) is
  'The offset here of what a participant has at an offset of its own, such as one that a completion told: to be waited for. Of the participant that is read now, or of the one with this number; of use for what it told after it was moved to.';
