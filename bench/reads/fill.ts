/**
 * A database for the measurements of reads, created by SQL in the server. It has many contracts of one template, of
 * which one in a hundred is active, rows as long as real ones, and a year of hourly activity. Rows are inserted in the
 * order of their offsets with all indexes in place. So the indexes are as the indexer leaves them, not freshly built.
 */
import type { Client } from 'pg';
import { parties, synchronizerId, templateName } from '../replay/names.ts';
import { schema } from '../postgres.ts';
import type { HistorySpread } from './options.ts';
import { printStatus } from '../figures/terminal.ts';

const templates = 12;
const hoursPerYear = 365 * 24;
/**
 * Number of contracts, active or archived, that have the same value in the indexed payload field. About one of them is
 * active.
 */
export const contractsPerAccount = 100;

/** Every second offset is not visible to the reader, like the gaps of a real ledger. */
const offsetsPerUpdate = 2;
const endedSql = `case when n + life <= total then (n + life) * ${String(offsetsPerUpdate)} end`;

/**
 * SQL for the number of contracts after which contract `n` is archived, from two random numbers of 0 to 1. With
 * `turnover`, one contract in 62 is active for about a quarter of the history, and the others for less than a hundredth
 * of it. So one in a hundred is active at any time, at the end as well as in the middle.
 */
const lifeSql: Readonly<Record<HistorySpread, string>> = {
  turnover: `ceil(-ln(1 - random1) * total * case when random2 < 0.016 then 0.2667 else 0.006 end)::bigint`,
  scattered: `case when n % 100 = 0 then total else ceil(-ln(1 - random1) * total * 0.0001)::bigint end`,
};

/**
 * SQL of the common source of all tables, which is computed once: number, id, offsets and the random hex digits that
 * they are computed from.
 */
function sourceSql(contracts: number, historySpread: HistorySpread): string {
  const random = (from: number): string => `('x' || substr(h, ${String(from)}, 8))::bit(32)::bigint / 4294967296.0`;
  return `create temporary table source as
    select n, h, '00' || h || 'ca111220' || reverse(h) as id, n * ${String(offsetsPerUpdate)} as at, ${endedSql} as ended
      from (select n, h, total, ${lifeSql[historySpread]} as life
              from (select n, h, ${String(contracts)} as total, ${random(1)} as random1, ${random(9)} as random2
                      from (select n, encode(sha256(convert_to('read:' || n, 'UTF8')), 'hex') as h
                              from generate_series(1::bigint, ${String(contracts)}) as n) as hashed) as drawn) as lived`;
}

const time = `timestamptz '2025-01-01' + n * interval '20 seconds'`;
const partyNumber = (from: number): string =>
  `('x' || substr(h, ${String(from)}, 4))::bit(16)::integer % array_length(names, 1)`;
const party = (from: number): string => `names[1 + ${partyNumber(from)}]`;

/** SQL for the number of the party set of operator and owner. There is one for each pair. */
const partiesNumber = `1 + (${partyNumber(1)}) * array_length(names, 1) + ${partyNumber(5)}`;

const payload = `jsonb_build_object(
  'operator', ${party(1)}, 'owner', ${party(5)},
  'instrument', jsonb_build_object('source', ${party(9)}, 'id', 'LOAD' || n % 100, 'scheme', jsonb_build_object('tag', 'RegistrarInternalScheme', 'value', '{}'::jsonb)),
  'amount', n % 1000000 || '.0000000000', 'round', (n % 100000)::text, 'note', 'Payload for "Phillip"', 'lock', null,
  'account', 'account-' || ('x' || substr(h, 20, 7))::bit(28)::integer % greatest(1, $2::bigint / ${String(contractsPerAccount)}),
  'meta', jsonb_build_object('values', jsonb_build_object('splice.org/reason-0', substr(h, 1, 20), 'splice.org/reason-1', substr(h, 21, 20))))`;

interface FillStep {
  readonly table: string;
  readonly sql: string;
}

/** Parameters: $1 is the names of the parties, $2 the number of contracts. */
const fills: readonly FillStep[] = [
  {
    table: 'contract_parties',
    sql: `insert into contract_parties (parties_pk, signatories, observers, witness_parties)
          select 1 + i * array_length(names, 1) + j, array[names[1 + i]], array[names[1 + j]], array[names[1 + i], names[1 + j]]
            from (select $1::text[] as names) as given, generate_series(0, array_length(names, 1) - 1) as i,
                 generate_series(0, array_length(names, 1) - 1) as j
           where $2::bigint is not null order by 1`,
  },
  {
    table: 'updates',
    sql: `insert into updates ("offset", batch_offset, kind, update_id, synchronizer_pk, command_id, effective_at, record_time,
                               trace_parent, paid_traffic_cost, event_count)
          select at, 0, 't', decode('1220' || h, 'hex'), 1, 'command-' || substr(h, 1, 8), ${time},
                 ${time} + interval '0.3 seconds', decode('00' || substr(h, 1, 48) || '01', 'hex'), n % 20000, 3
            from source where $1::text[] is not null and $2::bigint is not null order by n`,
  },
  {
    table: 'contracts',
    sql: `insert into contracts ("offset", created_at, node_id, template_pk, synchronizer_pk, parties_pk, origin, acs_delta,
                                 contract_id, payload, representative_package_id)
          select at, ${time}, 0, 1, 1, ${partiesNumber}, 'c', true, decode(id, 'hex'), ${payload},
                 encode(sha256('package'), 'hex')
            from (select source.*, $1::text[] as names from source) as source order by n`,
  },
  {
    table: 'live',
    sql: `insert into live ("offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
          select at, 0, 1, 1, ${partiesNumber}, decode(id, 'hex')
            from (select source.*, $1::text[] as names from source) as source
           where ended is null and $2::bigint is not null order by n`,
  },
  {
    table: 'ended',
    sql: `insert into ended ("offset", ended_offset, node_id, template_pk, synchronizer_pk, parties_pk, class, ended_by,
                             contract_id, ended_at, ended_node_id)
          select at, ended, 0, 1, 1, ${partiesNumber}, lifetime_class(at, ended), 'a', decode(id, 'hex'),
                 timestamptz '2025-01-01' + ended / ${String(offsetsPerUpdate)} * interval '20 seconds', 1
            from (select source.*, $1::text[] as names from source) as source
           where ended is not null and $2::bigint is not null order by ended, n`,
  },
  {
    table: 'activity_hourly',
    sql: `insert into activity_hourly (hour, template_pk, choice_pk, synchronizer_pk, creates, archives, exercises)
          select timestamptz '2025-01-01' + h * interval '1 hour', t, case when consuming then t else 0 end, 1,
                 case when consuming then 0 else 15 end, case when consuming then 14 else 0 end, case when consuming then 14 else 0 end
            from generate_series(0, ${String(hoursPerYear - 1)}) as h, generate_series(1, ${String(templates)}) as t,
                 (values (false), (true)) as kind (consuming)
           where $1::text[] is not null and $2::bigint is not null order by h, t, consuming`,
  },
  {
    table: 'activity_hourly',
    sql: `insert into activity_hourly (hour, template_pk, choice_pk, synchronizer_pk, creates, archives, exercises,
                                       transactions, paid_traffic_cost, delay_seconds, total_creates, total_archives, total_exercises)
          select timestamptz '2025-01-01' + h * interval '1 hour', 0, 0, 1, 0, 0, 0, 180, 1800000, 54,
                 ${String(templates * 15)}, ${String(templates * 14)}, ${String(templates * 14)}
            from generate_series(0, ${String(hoursPerYear - 1)}) as h where $1::text[] is not null and $2::bigint is not null`,
  },
];

/** Fills a migrated database, and collects statistics for the planner. */
export async function fill(client: Client, contracts: number, historySpread: HistorySpread): Promise<void> {
  await client.query(`set search_path = ${schema}; set work_mem = '256MB'; set maintenance_work_mem = '512MB'`);
  await addDictionaries(client);
  await client.query('insert into batches (batch_offset, epoch) values (0, 1)');
  printStatus('making rows');
  await client.query(sourceSql(contracts, historySpread));
  for (const { table, sql } of fills) {
    printStatus(`filling ${table}`);
    await client.query(sql, [parties, contracts]);
  }
  await client.query('drop table source');
  await client.query(
    `insert into active_counts (template_pk, activated, deactivated)
     select t, coalesce(activated, 1000), coalesce(deactivated, 900)
       from generate_series(1, ${String(templates)}) as t
       left join (select template_pk, count(*) as activated, count(deactivated_offset) as deactivated
                    from lifetimes group by 1) as counted on template_pk = t
     on conflict (template_pk) do update set activated = excluded.activated, deactivated = excluded.deactivated`,
  );
  await addStream(client, contracts);
}

async function addDictionaries(client: Client): Promise<void> {
  await client.query('insert into synchronizers values (1, $1)', [synchronizerId]);
  for (let pk = 1; pk <= templates; pk += 1) {
    const { id, packageName, choices } = templateName(pk - 1);
    const [packageId, moduleName, entityName] = id.split(':');
    await client.query('insert into templates values ($1, $2, $3, $4, $5)', [
      pk,
      packageId,
      moduleName,
      entityName,
      packageName,
    ]);
    await client.query('insert into choices values ($1, $1, 0, $2)', [pk, choices[1]]);
  }
}

async function addStream(client: Client, contracts: number): Promise<void> {
  const checkpoint = contracts * offsetsPerUpdate;
  await client.query(
    `insert into stream (filter, filter_hash, transaction_shape, seed_offset, seeded_at, checkpoint,
                         checkpoint_update_offset, checkpoint_record_time, ledger_end, epoch, participant_pruned_offset)
     values ('{}', 'none', 'LEDGER_EFFECTS', 0, now(), $1, $1, now(), $1, 1, 0)`,
    [checkpoint],
  );
  await client.query(
    `insert into coverage (from_offset, origin, filter_hash, transaction_shape) values (0, 'genesis', 'none', 'LEDGER_EFFECTS')`,
  );
}

/** Marks all rows as visible and collects statistics, as autovacuum does after some time. */
export async function settle(client: Client): Promise<void> {
  printStatus('vacuum analyze');
  await client.query('vacuum (analyze)');
  await client.query('checkpoint');
}
