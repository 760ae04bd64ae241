/** Stored updates by which the ledger's history is compared with ours. */
import type { ContractMark, UpdateMark } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';

/** The newest stored update with an id after `above` and up to `upTo`; undefined when there is none. */
export async function newestMark(database: Database, above: number, upTo: number): Promise<UpdateMark | undefined> {
  const { rows } = await database.withClient((client) =>
    client.query<UpdateMark>(
      `select "offset", update_id as "updateId" from updates
        where "offset" > $1 and "offset" <= $2 and update_id is not null order by "offset" desc limit 1`,
      [above, upTo],
    ),
  );
  return rows[0];
}

/** Where the range begins that the filter in force is complete in (exclusive); what is before may not be visible to it. */
export async function rangeBegin(database: Database): Promise<number> {
  const { rows } = await database.withClient((client) =>
    client.query<{ begin: number | null }>('select max(from_offset) as begin from coverage where to_offset is null'),
  );
  return rows[0]?.begin ?? 0;
}

/** The first of these offsets, rising, at which nothing is stored and nothing was set aside. */
export async function firstUnknown(database: Database, offsets: readonly number[]): Promise<number | undefined> {
  if (offsets.length === 0) return undefined;
  const { rows } = await database.withClient((client) =>
    client.query<{ offset: number }>(
      `select o as "offset" from unnest($1::bigint[]) o
        where not exists (select from updates u where u."offset" = o)
          and not exists (select from quarantine q where q."offset" = o) order by o limit 1`,
      [offsets],
    ),
  );
  return rows[0]?.offset;
}

// Active contracts by which the ledger's history is compared with ours, where no update can be.

/** The newest active contracts, at most `limit` and one of a template, that were never reassigned. */
export async function newestContracts(database: Database, limit: number): Promise<readonly ContractMark[]> {
  const { rows } = await database.withClient((client) =>
    client.query<ContractMark>(
      `select n.contract_id as "contractId", n.activated_offset as "offset"
         from templates t
         cross join lateral (
           select l.contract_id, l.activated_offset from lifetimes l
            where l.template_pk = t.template_pk and l.deactivated_offset is null and l.unknown_since is null
            order by l.activated_offset desc limit 1) n
         join contracts c on c.contract_id = n.contract_id and c."offset" = n.activated_offset
        where c.origin in ('create', 'seed') and coalesce(c.reassignment_counter, 0) = 0
        order by n.activated_offset desc limit $1`,
      [limit],
    ),
  );
  return rows;
}
