/** A history made by Postgres itself, large enough that plans matter. */
import type { ReadDatabase } from './read-database.ts';

/**
 * One create per offset from 1 to `count`, in 20 templates of package `big` (modules M, entities T0 to T19, two package
 * versions each of half). Seven of eight contracts ended, half of them soon, the others after up to the whole history.
 */
export async function generateHistory(database: ReadDatabase, count: number): Promise<void> {
  const end = `o + 1 + (case when o % 2 = 0 then o % 50 else (o::bigint * 7919) % ${count} end)`;
  await database.query(`
    insert into templates
      select 2 * i + v, case v when 1 then 'old' else 'new' end, 'M', 'T' || i, 'big'
        from generate_series(0, 19) i, generate_series(1, 2) v;
    insert into synchronizers values (1, 'here') on conflict do nothing;
    insert into choices values (1, 1, 0, 'Archive'), (2, 3, 0, 'Archive');
    insert into updates ("offset", kind, update_id, synchronizer_pk, effective_at, record_time, event_count, epoch)
      select o, 'transaction', 'u' || o, 1, timestamptz '2026-01-01' + o * interval '1 second',
             timestamptz '2026-01-01' + o * interval '1 second', 1, 1
        from generate_series(1, ${count}) o;
    insert into contracts (contract_id, "offset", node_id, origin, synchronizer_pk, template_pk, payload, signatories,
                           observers, witness_parties)
      select md5(o::text), o, 0, 'create', 1, 1 + o * 7 % 40, jsonb_build_object('n', o), '{a}', '{}', '{a}'
        from generate_series(1, ${count}) o;
    insert into lifetimes
      select md5(o::text), 1, o, 1 + o * 7 % 40, case when o % 8 > 0 and ${end} <= ${count} then ${end} end
        from generate_series(1, ${count}) o;
    insert into exercises ("offset", node_id, contract_id, template_pk, choice_pk, acting_parties, witness_parties,
                           consuming, implemented_interfaces)
      select o, 1, md5(o::text), 1 + o % 2 * 2, 1 + o % 2, '{a}', '{a}', true, '{}' from generate_series(1, ${count}) o;
    update stream set checkpoint = ${count};`);
  await database.query('vacuum analyze');
}
