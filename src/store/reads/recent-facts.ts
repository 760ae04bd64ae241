/**
 * Reads rows for the status page. There are few rows, they contain no payloads and no parties, and the time limit is
 * short.
 */
import type { Database } from '../connection/database.ts';

/** Facts for the status page; they contain only names and numbers. */
export interface StoredRecentFacts {
  readonly templates: readonly { readonly name: string; readonly active: number }[];
  readonly updates: readonly {
    readonly offset: number;
    readonly kind: string;
    readonly recordTime: string | null;
    readonly events: number;
    readonly templates: readonly string[];
  }[];
}

const rows = 8;
/** Maximum number of events of an update that are searched for template names. */
const maxEventsRead = 100;
const longestName = 200;

const name = (t: string): string =>
  `left(coalesce(${t}.package_name, ${t}.package_id) || ':' || ${t}.module_name || ':' || ${t}.entity_name, ${longestName})`;

const templatesQuery = `
  select ${name('t')} as name, sum(n.active)::bigint as active
    from active_counts a join templates t using (template_pk)
   cross join lateral (
           select a.activated - a.deactivated - (select count(*) from live l
                    where l.template_pk = a.template_pk and l.unhosted_since is not null) as active) n
   group by 1 having sum(n.active) > 0
   order by 2 desc, 1 limit ${rows}`;

const updatesQuery = `
  with last as materialized (
    select "offset", kind, record_time, event_count from decoded_updates order by "offset" desc limit ${rows}
  ), seen as (
    select l."offset", e.template_pk from last l
     cross join lateral (select template_pk from exercises e where e."offset" = l."offset" limit ${maxEventsRead}) e
    union
    select l."offset", a.template_pk from last l
     cross join lateral (select template_pk from archives a where a."offset" = l."offset" limit ${maxEventsRead}) a
    union
    select l."offset", r.template_pk from last l
     cross join lateral (select template_pk from reassignments r where r."offset" = l."offset" limit ${maxEventsRead}) r
    union
    select l."offset", c.template_pk from last l
     cross join lateral (select template_pk from contracts c where c."offset" = l."offset" limit ${maxEventsRead}) c
  )
  select l."offset", l.kind, l.record_time, l.event_count,
         coalesce((select array_agg(distinct ${name('t')} order by ${name('t')})
                     from seen s join templates t using (template_pk) where s."offset" = l."offset"), '{}') as templates
    from last l order by l."offset" desc`;

interface UpdateRow {
  readonly offset: number;
  readonly kind: string;
  readonly record_time: Date | null;
  readonly event_count: number;
  readonly templates: readonly string[];
}

/**
 * The templates with the most active contracts, and the newest updates.
 * @param database a handle with a short statement timeout, and with a connection that the writer does not need
 * @throws IndexerError as every read
 */
export async function readRecentFacts(database: Database): Promise<StoredRecentFacts> {
  return database.withClient(async (client) => {
    const templates = await client.query<{ name: string; active: number }>(templatesQuery);
    const updates = await client.query<UpdateRow>(updatesQuery);
    return {
      templates: templates.rows,
      updates: updates.rows.map((row) => ({
        offset: row.offset,
        kind: row.kind,
        recordTime: row.record_time === null ? null : row.record_time.toISOString(),
        events: row.event_count,
        templates: row.templates,
      })),
    };
  });
}
