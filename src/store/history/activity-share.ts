/**
 * Subtracts the counts of some updates from `activity_hourly`, before their rows are deleted or extended. The remaining
 * rows cannot simply be counted again, because the sums also include updates that were pruned here.
 */
import type { ClientBase } from 'pg';

/** Range of updates: after `above`, up to and including `upTo`. */
export interface OffsetRange {
  readonly above: number;
  readonly upTo: number | typeof lastOffset;
}

/** Higher than the offset of any update: the largest bigint. */
export const lastOffset = '9223372036854775807';

/**
 * SQL: sum of the delays. As the writer stores them, delays are multiples of 2^-20 seconds, so that sums and
 * differences are not rounded.
 */
const delay = `coalesce(sum(round(extract(epoch from record_time - effective_at)::numeric * 1048576))
                 filter (where kind = 't'), 0)::double precision / 1048576`;

/** SQL: the counts of the updates above $1 and up to $2, one row for each row of `activity_hourly` that they affect. */
const activityShare = `
  gone as (
    select "offset", synchronizer_pk, date_trunc('hour', record_time, 'UTC') as hour, kind, paid_traffic_cost,
           record_time, effective_at
      from updates where "offset" > $1 and "offset" <= $2 and record_time is not null),
  parts as (
    select hour, c.template_pk, 0 as choice_pk, g.synchronizer_pk, 1 as creates, 0 as archives, 0 as exercises
      from gone g join contracts c on c."offset" = g."offset" and c."offset" > $1 and c."offset" <= $2 and c.origin = 'c'
    union all
    select hour, a.template_pk, 0, g.synchronizer_pk, 0, 1, 0
      from gone g join archives a on a."offset" = g."offset" and a."offset" > $1 and a."offset" <= $2
    union all
    select hour, e.template_pk, e.choice_pk, g.synchronizer_pk, 0, consuming::integer, 1
      from gone g join exercises e on e."offset" = g."offset" and e."offset" > $1 and e."offset" <= $2),
  share as (
    select hour, template_pk, choice_pk, synchronizer_pk, sum(creates) as creates, sum(archives) as archives,
           sum(exercises) as exercises, 0::bigint as transactions, 0::numeric as cost, 0::double precision as delay,
           0::numeric as total_creates, 0::numeric as total_archives, 0::numeric as total_exercises
      from parts group by 1, 2, 3, 4
    union all
    select hour, 0, 0, synchronizer_pk, 0, 0, 0, sum(transactions)::bigint, sum(cost), sum(delay), sum(creates),
           sum(archives), sum(exercises)
      from (select hour, synchronizer_pk, 0 as transactions, 0::numeric as cost, 0::double precision as delay,
                   creates, archives, exercises from parts
            union all
            select hour, synchronizer_pk, count(*) filter (where kind = 't'),
                   coalesce(sum(paid_traffic_cost), 0), ${delay}, 0, 0, 0
              from gone group by 1, 2) total
     group by 1, 4)`;

/**
 * SQL: a sum of costs that was capped at the largest bigint. It cannot be reduced by subtraction, so it is calculated
 * again from the remaining updates.
 */
const rest = `
  full_hours as (select hour, synchronizer_pk from activity_hourly where paid_traffic_cost = 9223372036854775807),
  rest as (
    select f.hour, f.synchronizer_pk, least(sum(u.paid_traffic_cost), 9223372036854775807) as cost
      from full_hours f join updates u on u.synchronizer_pk = f.synchronizer_pk and u.record_time >= f.hour
                                      and u.record_time < f.hour + interval '1 hour'
     where u."offset" <= $1 or u."offset" > $2
     group by 1, 2)`;

/** Runs in the caller's transaction. */
export async function subtractActivity(client: ClientBase, { above: afterOffset, upTo }: OffsetRange): Promise<void> {
  await client.query(
    `with ${activityShare}, ${rest}
     update activity_hourly a
        set creates = a.creates - s.creates, archives = a.archives - s.archives,
            exercises = a.exercises - s.exercises, transactions = a.transactions - s.transactions,
            paid_traffic_cost = case when a.paid_traffic_cost = 9223372036854775807 then coalesce((select r.cost from rest r where r.hour = a.hour and r.synchronizer_pk = a.synchronizer_pk), 0)
                                     else a.paid_traffic_cost - s.cost end,
            delay_seconds = a.delay_seconds - s.delay,
            total_creates = a.total_creates - s.total_creates, total_archives = a.total_archives - s.total_archives,
            total_exercises = a.total_exercises - s.total_exercises
       from share s
      where (a.hour, a.template_pk, a.choice_pk, a.synchronizer_pk)
          = (s.hour, s.template_pk, s.choice_pk, s.synchronizer_pk)`,
    [afterOffset, upTo],
  );
}

/**
 * Deletes rows of hours without remaining updates.
 * @param afterOffset offset after which all updates are removed
 */
export async function dropEmptyActivity(client: ClientBase, afterOffset: number): Promise<void> {
  // The row with the totals of an hour may contain only zeros and still be needed, if an update of the hour has no cost
  // and no events.
  await client.query(
    `with empty as (
       select hour, synchronizer_pk from activity_hourly
        where template_pk = 0 and transactions = 0 and paid_traffic_cost = 0 and total_creates = 0),
     counted as (
       select distinct e.hour, e.synchronizer_pk
         from empty e join updates u on u.synchronizer_pk = e.synchronizer_pk and u.record_time >= e.hour
                                    and u.record_time < e.hour + interval '1 hour'
        where u."offset" <= $1 and u.paid_traffic_cost is not null)
     delete from activity_hourly a
      where creates = 0 and archives = 0 and exercises = 0 and transactions = 0 and paid_traffic_cost = 0
        and total_creates = 0 and total_archives = 0 and total_exercises = 0
        and not (template_pk = 0 and exists (
              select from counted c where c.hour = a.hour and c.synchronizer_pk = a.synchronizer_pk))`,
    [afterOffset],
  );
}
