/** Reads how long the traffic of the participant lasts, for the metrics. Contains no party. */
import { escapeIdentifier } from 'pg';
import type { Database } from '../connection/database.ts';
import { readSchemas } from '../connection/read-schemas.ts';

/** How long traffic lasts on a synchronizer. Of several rates and DSOs, the shortest time counts. */
export interface StoredTrafficRunway {
  readonly synchronizer: string;
  /** Seconds until the traffic that is left is used; undefined if an input is missing. */
  readonly trafficSeconds: number | undefined;
  /** Seconds until the Amulet of the payer is used for traffic; undefined if an input is missing. */
  readonly amuletSeconds: number | undefined;
  /** Record time of the newest purchase, seconds since 1970; undefined if none is stored. */
  readonly lastBoughtAt: number | undefined;
}

interface RunwayRow {
  readonly synchronizer: string;
  readonly traffic: number | null;
  readonly amulet: number | null;
  readonly bought: number | null;
}

/** Limit of the times, so that a chart of an almost unused participant stays readable. `least` ignores nulls. */
const centuryHours = '876000';

/** Reads the rows of `explore.traffic_runway`, in which each figure has a reason if it is missing. @throws STORE_ errors */
export async function readTrafficRunway(database: Database): Promise<readonly StoredTrafficRunway[]> {
  const views = escapeIdentifier(readSchemas(database.schema).explore);
  const { rows } = await database.withClient((client) =>
    client.query<RunwayRow>(
      `select synchronizer_id as synchronizer, min(least(traffic_hours, ${centuryHours})) filter (where traffic_hours is not null)::float8 * 3600 as traffic,
              min(least(amulet_hours, ${centuryHours})) filter (where amulet_hours is not null)::float8 * 3600 as amulet,
              extract(epoch from max(last_bought_at))::float8 as bought
         from ${views}.traffic_runway_at(now())
        group by 1 order by 1`,
    ),
  );
  return rows.map(({ synchronizer, traffic, amulet, bought }) => ({
    synchronizer,
    trafficSeconds: traffic ?? undefined,
    amuletSeconds: amulet ?? undefined,
    lastBoughtAt: bought ?? undefined,
  }));
}
