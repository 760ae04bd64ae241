/** Generates a history in Postgres that is large enough for realistic query plans. */
import type { ReadDatabase } from './read-database.ts';

/**
 * Creates one contract per offset from 1 to `count`, in 20 templates of package `big`. The modules are M, the entities
 * T0 to T19, and each template has two package versions with half of the contracts each. Seven of eight contracts
 * ended: half of them within 50 offsets, the others at any later offset.
 */
export async function generateHistory(database: ReadDatabase, count: number): Promise<void> {
  const end = `o + 1 + (case when o % 2 = 0 then o % 50 else (o::bigint * 7919) % ${count} end)`;
  await database.query(`
    insert into templates
      select 2 * i + v, case v when 1 then 'old' else 'new' end, 'M', 'T' || i, 'big'
        from generate_series(0, 19) i, generate_series(1, 2) v;
    insert into synchronizers values (1, 'here') on conflict do nothing;
    insert into choices values (1, 1, 0, 'Archive'), (2, 3, 0, 'Archive');
    insert into batches values (0, 1);
    insert into updates ("offset", batch_offset, kind, update_id, synchronizer_pk, effective_at, record_time, event_count)
      select o, 0, 't', '\\xff' || convert_to('u' || o, 'UTF8'), 1, timestamptz '2026-01-01' + o * interval '1 second',
             timestamptz '2026-01-01' + o * interval '1 second', 1
        from generate_series(1, ${count}) o;
    insert into contract_parties values (1, '{a}', '{}', '{a}');
    insert into event_parties values (1, '{a}', '{a}', '{}');
    insert into contracts ("offset", node_id, origin, synchronizer_pk, template_pk, parties_pk, contract_id, payload)
      select o, 0, 'c', 1, 1 + o * 7 % 40, 1, decode(md5(o::text), 'hex'), jsonb_build_object('n', o)
        from generate_series(1, ${count}) o;
    create temporary table drawn as
      select o, case when o % 8 > 0 and ${end} <= ${count} then ${end} end as ended from generate_series(1, ${count}) o;
    insert into live ("offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
      select o, 0, 1 + o * 7 % 40, 1, 1, decode(md5(o::text), 'hex') from drawn where ended is null order by o;
    insert into ended ("offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, class, ended_by,
                       contract_id, ended_at, ended_node_id)
      select o, ended, 0, 1 + o * 7 % 40, 1, 1, lifetime_class(o, ended), 'a', decode(md5(o::text), 'hex'),
             timestamptz '2026-01-01' + ended * interval '1 second', 1
        from drawn where ended is not null order by ended, o;
    drop table drawn;
    insert into exercises ("offset", node_id, template_pk, choice_pk, parties_pk, consuming, contract_id)
      select o, 1, 1 + o % 2 * 2, 1 + o % 2, 1, true, decode(md5(o::text), 'hex') from generate_series(1, ${count}) o;
    update stream set checkpoint = ${count};`);
  await database.query('vacuum analyze');
}
