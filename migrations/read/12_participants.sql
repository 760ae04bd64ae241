-- Participants from which updates and completions were read. Offsets are those of the stream for every participant; the
-- own offsets of a participant are derived.

create or replace view :explore.participants as
  select p.participant_number, p.participant_id, p.from_offset,
         coalesce(lead(p.from_offset) over (order by p.participant_number), s.checkpoint) as to_offset, p.offset_shift, p.reason, p.since
    from participants p cross join stream s
  union all
  select 1, s.participant_id, 0, s.checkpoint, 0, null, null
    from stream s
   where not exists (select from participants);
comment on view :explore.participants is
  'Participants from which the stream was read, in order: one row until the stream is switched to another participant (`ledger-indexer switch-participant`). Updates after from_offset, up to and including to_offset, were read from this participant. The participant''s own offset is the offset of the stream minus offset_shift.';

-- For a stream that never switched participants, no row is read. An empty range has the same offset as the next range,
-- and the later range counts.
create or replace function :explore.participant_number_at(at_offset bigint) returns integer
  language sql stable parallel safe
  return coalesce((select p.participant_number from participants p where p.from_offset < at_offset
                    order by p.participant_number desc limit 1), 1);
comment on function :explore.participant_number_at(bigint) is
  'Number of the participant from which the update at an offset was read, see participants; 1 if the stream never switched participants.';

create or replace function :explore.participant_offset(at_offset bigint) returns bigint
  language sql stable parallel safe
  return at_offset
         - coalesce((select p.offset_shift from participants p where p.from_offset < at_offset
                      order by p.participant_number desc limit 1), 0);
comment on function :explore.participant_offset(bigint) is
  'Offset of an update at the participant from which it was read.';

create or replace function :explore.from_participant_offset(participant_offset bigint, of_participant integer default null) returns bigint
  language sql stable parallel safe
  return participant_offset + coalesce((select p.offset_shift from participants p
                                        where of_participant is null or p.participant_number = of_participant
                                        order by p.participant_number desc limit 1), 0);
comment on function :explore.from_participant_offset(bigint, integer) is
  'Offset of the stream for a participant''s own offset, such as the offset in a completion; intended for wait_for_offset. Without a number, the participant that is read now. Valid for offsets that the participant reported after the stream switched to it.';
