/** Rules of redactions: what was removed is noted, and what is noted is removed. */
import type { Invariant } from './invariant.ts';

/** Redacted exercises of the update that is stored at their offset; another ledger's is not meant. */
const noted = `
  exists (select from redacted_exercises x left join updates u on u."offset" = x."offset"
           where x."offset" = e."offset" and x.node_id = e.node_id and x.update_id is not distinct from u.update_id)`;
const ofContract = (alias: string, condition = 'true'): string =>
  `exists (select from redacted_contracts r where r.contract_id = ${alias}.contract_id and ${condition})`;
const unknown = (table: string): string =>
  `not exists (select from redactions d where d.redaction_id = ${table}.redaction_id)`;

/** Rule I36. */
export const redactionInvariants: readonly Invariant[] = [
  {
    id: 'I36',
    says: 'what was redacted is noted, and what is noted is redacted',
    sql: `select c."offset", c.contract_id, 'contract ' || case when c.redaction_id is null then 'has contents that were redacted'
                 else 'was redacted, which redacted_contracts does not know' end as found
            from contracts c where (c.redaction_id is not null) <> ${ofContract('c')}
          union all
          select v."offset", v.contract_id, 'view ' || case when v.redaction_id is null then 'has contents that were redacted'
                 else 'was redacted, which redacted_contracts does not know' end
            from interface_views v where (v.redaction_id is not null) <> ${ofContract('v')}
          union all
          select e."offset", e.contract_id, 'exercise ' || e.node_id || case when e.redaction_id is null
                 then ' has contents that were redacted' else ' was redacted, which is noted nowhere' end
            from exercises e where (e.redaction_id is not null) <> (${ofContract('e', 'r.exercises')} or ${noted})
          union all
          select null, contract_id, 'redacted by nobody' from redacted_contracts where ${unknown('redacted_contracts')}
          union all
          select "offset", null, 'node ' || node_id || ' redacted by nobody'
            from redacted_exercises where ${unknown('redacted_exercises')}`,
  },
];
