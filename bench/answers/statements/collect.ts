/** Collects all statements for a filled database. */
import type { Client } from 'pg';
import { explore, withClient } from '../../postgres.ts';
import { functionStatements, viewStatements } from './catalog-statements.ts';
import { pageStatements } from './page-statements.ts';
import { panelStatements } from './panel-statements.ts';
import type { Collected, HistoryEnds } from './statement.ts';

export interface CollectedOf extends Collected {
  readonly ends: HistoryEnds;
}

/** The statements of pages, dashboards, views and functions. */
export async function collectStatements(ownerUrl: string, readerUrl: string): Promise<CollectedOf> {
  return withClient(ownerUrl, async (owner) => {
    const ends = await historyEnds(owner);
    const pages = pageStatements();
    const panels = await withClient(readerUrl, (reader) => panelStatements(reader, ends));
    const views = await viewStatements(owner, ends);
    const functions = await functionStatements(owner, ends);
    return {
      ends,
      statements: [...pages.statements, ...panels.statements, ...views, ...functions],
      leftOut: [...pages.leftOut, ...panels.leftOut],
    };
  });
}

async function historyEnds(client: Client): Promise<HistoryEnds> {
  const { rows } = await client.query<Omit<HistoryEnds, 'dayOffset'>>(
    `select oldest.record_time as "oldestTime", newest.record_time as "newestTime",
            newest.record_time - interval '1 day' as "dayTime"
       from (select record_time from ${explore}.updates order by "offset" limit 1) oldest,
            (select record_time from ${explore}.updates order by "offset" desc limit 1) newest`,
  );
  const [ends] = rows;
  if (ends === undefined) throw new Error('the history has no updates');
  const offsets = await client.query<{ day: string | null }>(
    `select ${explore}.nearest_offset($1::timestamptz) as day`,
    [ends.dayTime],
  );
  return { ...ends, dayOffset: offsets.rows[0]?.day ?? '0' };
}
