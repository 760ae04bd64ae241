/** Differences between events logged by token admins and changes of holdings; see the view token_discrepancies. */
import { escapeIdentifier, type ClientBase } from 'pg';

export interface TokenDiscrepancy {
  readonly offset: number;
  readonly instrument: string;
  readonly count: number;
}

/**
 * Number of events logged by the admins of instruments, and the first changes that differ from them.
 * @param explore schema of the views
 * @param limit maximum number of rows; `count` of each row is the total
 */
export async function tokenDiscrepancies(
  client: ClientBase,
  explore: string,
  limit: number,
): Promise<{ readonly events: number; readonly listed: readonly TokenDiscrepancy[] }> {
  const views = escapeIdentifier(explore);
  const events = await client.query<{ events: number }>(
    `select count(*)::integer as events from ${views}.token_events where is_by_admin`,
  );
  const { rows: discrepancies } = await client.query<TokenDiscrepancy>(
    `select d."offset"::float8 as "offset", d.instrument_id as instrument, count(*) over ()::integer as count
       from ${views}.token_discrepancies d
      order by d."offset", d.instrument_admin, d.instrument_id, d.owner
      limit $1`,
    [limit],
  );
  return { events: events.rows[0]?.events ?? 0, listed: discrepancies };
}
