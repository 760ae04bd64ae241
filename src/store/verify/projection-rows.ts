/** Compares the stored rows of projections with the rows that their SELECTs compute from the history. */
import { escapeIdentifier, type ClientBase } from 'pg';
import { builtInProjections, selectOfRange, type ProjectedRange, type Projection } from '../projections/projections.ts';
import { userProjections } from '../projections/user-versions.ts';

/** Number of updates in one compared range. */
const updatesPerRange = 1_000;

export interface ProjectionDifference {
  /** `missing`: only the SELECT returns it. `extra`: only the table has it. */
  readonly type: 'missing' | 'extra';
  readonly offset: number;
}

/** Makes views compute all rows from the history until the transaction ends. SELECTs of projections read such views. */
export async function ignoreProjections(client: ClientBase): Promise<void> {
  await client.query(`set local ledger_indexer.projections = 'off'`);
}

/** The built-in projections, and those that users added. */
export async function storedProjections(client: ClientBase, schema: string): Promise<readonly Projection[]> {
  const users = (await userProjections(client, schema)).filter(({ user }) => user?.isRetired !== true);
  return [...(await builtInProjections(schema)), ...users];
}

/** Ranges whose rows a projection stores and readers use, in order and of at most 1,000 updates. */
export async function storedRanges(
  client: ClientBase,
  { name, isSummed }: Projection,
): Promise<readonly ProjectedRange[]> {
  const { rows } = await client.query<ProjectedRange>(
    `with covered as (
       select lower(r.offsets) - 1 as after, upper(r.offsets) - 1 as up_to
         from projections p
        cross join unnest(p.covered - noted_offsets(p.is_summed, p.looks_up)) r (offsets)
        where p.name = $1),
     limits as (
       select ${isSummed ? 'block_end(n."offset")' : 'n."offset"'} as "offset"
         from (select u."offset", row_number() over (order by u."offset") as nth from updates u) n
        where n.nth % $2 = 0)
     select b.after, b."upTo"
       from covered c
      cross join lateral (
              select lag(e.at, 1, c.after) over (order by e.at) as after, e.at as "upTo"
                from (select l."offset" as at from limits l
                       where l."offset" > coalesce(c.after, -1) and l."offset" < c.up_to
                      union select c.up_to) e) b
      order by b."upTo"`,
    [name, updatesPerRange],
  );
  return rows;
}

/** Rows of one range that only one side has, by offset. All columns are compared. */
export async function rangeDifferences(
  client: ClientBase,
  projection: Projection,
  range: ProjectedRange,
): Promise<readonly ProjectionDifference[]> {
  const { after, upTo } = range;
  if (projection.user !== undefined) await becomeReadRole(client, projection.user.readRole);
  const { rows } = await client.query<ProjectionDifference>(
    `with stored as materialized (
       select * from ${projection.table} p
        where p."offset" > ${after === null ? '-1' : String(after)} and p."offset" <= ${String(upTo)}),
     computed as materialized (${selectOfRange(projection, range)})
     select 'extra' as type, d."offset"::float8 as "offset" from (table stored except all table computed) d
     union all
     select 'missing', d."offset"::float8 from (table computed except all table stored) d
      order by 2, 1`,
  );
  if (projection.user !== undefined) await client.query('reset role');
  return rows;
}

/**
 * Computes rows with the rights with which they were computed, if the session may switch to the role. Otherwise the
 * session itself is a reader.
 */
async function becomeReadRole(client: ClientBase, readRole: string): Promise<void> {
  const { rowCount } = await client.query(
    `select from pg_roles r where r.rolname = $1 and pg_has_role(current_user, r.oid,
       case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end)`,
    [readRole],
  );
  if (rowCount === 1) await client.query(`set local role ${escapeIdentifier(readRole)}`);
}

/** At most `count` ranges with equal distances, always with the last one. */
export function sampleOf<T>(ranges: readonly T[], count: number): readonly T[] {
  return ranges.filter((_, index) => {
    const position = (at: number): number => Math.floor((at * count) / ranges.length);
    return position(index + 1) > position(index);
  });
}
