/** Rules about the stream row: its filter, its start, its coverage ranges, its clocks, its participants. */
import type { Invariant } from './invariant.ts';

/** Origins of ranges that begin with a seed or replace one. */
const seeds = `('seed', 'genesis', 'oldest', 'offset', 'reseed')`;
/** Origins of ranges that have no previous range. */
const firstOrigins = `('seed', 'genesis', 'oldest', 'offset')`;

const list = (name: string): string => `
  (select '[' || coalesce(string_agg(e.value::text, ',' order by e.ordinality), '') || ']'
     from jsonb_array_elements(case when jsonb_typeof(filter -> '${name}') = 'array' then filter -> '${name}' end)
          with ordinality e)`;

/**
 * SQL: the JSON text that was hashed. The order of its keys differs from the order in jsonb. Null if a key is missing.
 */
const canonical = `
  '{"createdEventBlobs":' || (filter -> 'createdEventBlobs')::text || ',"interfaces":' || ${list('interfaces')}
  || ',"parties":' || ${list('parties')} || ',"shape":' || (filter -> 'shape')::text
  || ',"templates":' || ${list('templates')} || ',"topology":' || (filter -> 'topology')::text || '}'`;

const time = (text: string): string => `case when ${text} ~ '^\\d{4}-\\d\\d-\\d\\dT' then (${text})::timestamptz end`;

/** Rules I26 to I29 and I45. */
export const coverageInvariants: readonly Invariant[] = [
  {
    id: 'I26',
    says: 'the hash of the filter is correct, and the open range has this filter',
    sql: `select null::bigint as "offset", null::text as contract_id,
                 'filter and shape of the stream do not match their hash' as found
            from stream
           where filter_hash is distinct from encode(sha256(convert_to(${canonical}, 'UTF8')), 'hex')
              or transaction_shape is distinct from filter ->> 'shape'
          union all
          select c.from_offset, null, 'the open range has another filter or shape than the stream'
            from coverage c cross join stream st
           where c.to_offset is null
             and (c.filter_hash, c.transaction_shape) is distinct from (st.filter_hash, st.transaction_shape)`,
  },
  {
    id: 'I27',
    says: 'the stream was published at the offset and time of its last seed',
    sql: `select seed_offset as "offset", null::text as contract_id,
                 'no range begins at the seed offset that was recorded when the seed was published' as found
            from stream st
           where seeded_at is not null
             and not exists (select from coverage c
                              where c.from_offset = st.seed_offset
                                and (c.origin in ${seeds} and c.recorded_at = st.seeded_at
                                     or c.origin in ('filter', 'reset', 'filter-extend') and c.recorded_at > st.seeded_at))
          union all
          select c.from_offset, null, 'a seed after the last one of the stream'
            from coverage c cross join stream st
           where c.origin in ${seeds} and c.from_offset > st.seed_offset
          union all
          select seed_offset, null, 'a continuation token of a seed that is published'
            from stream where seeded_at is not null and seed_token is not null`,
  },
  {
    id: 'I28',
    says: 'each range of coverage begins as its origin requires',
    sql: `select c.from_offset as "offset", null::text as contract_id, 'origin ' || c.origin || ': ' || w.what as found
            from coverage c
           cross join lateral (values
             ((c.origin in ${firstOrigins}) = (c.reason is not null), 'only ranges after the first have a reason'),
             (c.origin in ${firstOrigins} and exists (select from coverage p where p.from_offset < c.from_offset),
              'begins after another range'),
             (c.origin = 'genesis' and c.from_offset <> 0, 'begins after offset 0'),
             (c.origin = 'reseed' and not exists (select from coverage p where p.to_offset <= c.from_offset),
              'no range ends before it'),
             (c.origin in ('filter', 'reset', 'filter-extend')
              and not exists (select from coverage p
                               where (p.from_offset <> c.from_offset or p.filter_hash <> c.filter_hash)
                                 and c.from_offset in (p.to_offset, p.from_offset)),
              'no range ends where it begins'),
             (c.origin in ('genesis', 'oldest', 'offset')
              and not exists (select from coverage p where p.origin in ('seed', 'reseed', 'filter-extend'))
              and (select count(*) from filter_additions) = 0
              and (select max(s.origin) from (select origin::text from contracts where origin = 's' limit 1) s) = 's', 'yet there are contracts of a seed'),
             (not c.complete and c.origin <> 'filter-extend', 'is not complete, and nothing was extended'),
             (c.to_offset < c.from_offset, 'ends before it begins')) w (broken, what)
           where w.broken`,
  },
  {
    id: 'I29',
    says: 'the newest record times match the newest updates, or are later',
    sql: `select u."offset", null::text as contract_id,
                 'recorded at ' || u.record_time || ', the stream remembers '
                 || coalesce(st.record_times ->> s.synchronizer_id, 'nothing') || ' of its synchronizer' as found
            from (select synchronizer_pk, max("offset") as "offset" from updates where record_time is not null
                   group by 1) n
            join updates u using ("offset")
            join synchronizers s on s.synchronizer_pk = u.synchronizer_pk
           cross join stream st
           where ${time('st.record_times ->> s.synchronizer_id')} >= u.record_time is not true
          union all
          select checkpoint, null, 'the newest record time is not the newest of the synchronizers'
            from stream st
           where checkpoint_record_time is distinct from
                 (select max(${time('t.value')}) from jsonb_each_text(st.record_times) t)`,
  },
  {
    id: 'I45',
    says: 'ranges of participants follow each other, and the newest has the participant of the stream',
    sql: `select p.from_offset as "offset", null::text as contract_id, 'participant ' || p.participant_number || ': ' || w.what as found
            from (select *, row_number() over (order by participant_number) as place,
                         lag(from_offset) over (order by participant_number) as before,
                         lead(participant_number) over (order by participant_number) is null as newest
                    from participants) p
            left join (select distinct id_text(update_id) as update_id from updates
                        where id_text(update_id) in (select common_update_id from participants)) f on f.update_id = p.common_update_id
           cross join stream st
           cross join lateral (values
             (p.participant_number <> p.place, 'participants are not numbered from 1'),
             (p.place = 1 and (p.from_offset, p.offset_shift, p.overlap_offsets) <> (0, 0, '{}'), 'is the first, and its offsets differ from those of the stream'),
             (case when p.place = 1 then num_nonnulls(p.common_offset, p.common_update_id, p.reason) <> 0
                   else num_nulls(p.common_offset, p.common_update_id, p.reason) <> 0 end,
              'each but the first has its proof and a reason'),
             (p.from_offset < p.before, 'begins before the one that it follows'),
             (p.from_offset > st.checkpoint, 'begins after the checkpoint'),
             (p.common_offset + p.offset_shift > p.from_offset, 'its proof is not an update stored before it'),
             (st.pruned_to_offset is null
              and f.update_id is null
              and not exists (select from quarantine q
                               where position(convert_to(p.common_update_id, 'UTF8') in q.frame) > 0)
              and p.common_update_id is not null, 'its proof is not a stored update'),
             (exists (select from jsonb_each_text(p.overlap_offsets) l where l.value::bigint <= p.from_offset),
              'an overlap offset is before it begins'),
             (p.overlap_to_offset <> greatest(p.from_offset, (select max(l.value::bigint) from jsonb_each_text(p.overlap_offsets) l)),
              'overlap_to_offset is not the largest of overlap_offsets'),
             (p.newest and p.participant_id <> coalesce(st.participant_id, ''), 'is the newest, and not the participant of the stream')
           ) w (broken, what)
           where w.broken`,
  },
];
