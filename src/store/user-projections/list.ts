/** Lists the projections that users added, with the state of their newest version. */
import type { Database } from '../connection/database.ts';

export interface ListedProjection {
  readonly name: string;
  /** `filled`: readers use stored rows. `filling`: its rows are being stored. `off`: the indexer does not store them. */
  readonly state: 'filled' | 'filling' | 'off';
  readonly version: number;
  readonly role: string;
  readonly partyColumn: string | null;
  /** Last offset of the stored rows; null if there are none. */
  readonly offset: number | null;
  readonly checkpoint: number | null;
  readonly problem: string | null;
}

export function listProjections(database: Database): Promise<readonly ListedProjection[]> {
  return database.withClient(async (client) => {
    const { rows } = await client.query<ListedProjection>(
      `select distinct on (u.name) u.name,
              case when p.name is null then 'off' when p.is_filled then 'filled' else 'filling' end as state,
              u.generation as version, u.read_role as role, u.party_column as "partyColumn",
              (select max(upper(r.offsets)) - 1 from unnest(p.covered) r (offsets)) as "offset",
              (select s.checkpoint from stream s) as checkpoint, p.problem
         from user_projections u
         left join projections p on p.view_name = u.name and p.generation = u.generation
        order by u.name, u.generation desc`,
    );
    return rows;
  });
}
