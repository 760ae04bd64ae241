/** Active contracts by which the ledger's history is compared with ours, where no update can be. */
import type { Database } from '../connection/database.ts';

export interface ContractMark {
  readonly contractId: string;
  /** Offset of its create. */
  readonly offset: number;
}

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
