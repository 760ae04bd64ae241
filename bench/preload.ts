/**
 * Databases that already hold many contracts, for growth: made by SQL in the server, 90 % archived, then copied for
 * each run. Payloads are small there: rows that no statement touches again cost a run nothing but disk. Primary keys
 * and indexes are built after the rows, which is quick.
 */
import { escapeIdentifier, type Client } from 'pg';
import { filterFingerprint } from '../src/ledger/api/request-format.ts';
import { synchronizerId, templateName } from './replay/names.ts';
import { migrated, schema, withClient, type RunDatabase, type Server } from './postgres.ts';
import type { Expected } from './replay/profiles.ts';
import { preloadedPerActive } from './replay/recording.ts';

/** `contractId('preloaded', n)` of names.ts in SQL. */
const idSql = `(select '00' || h || 'ca111220' || reverse(h)
                  from (select encode(sha256(convert_to('preloaded:' || n, 'UTF8')), 'hex') as h) as hash)`;

/** Offsets before those of the stream, which begins at 1. */
const offsetSql = 'n - 1000000000';

/** What each column gets; a column without an entry here stays null. */
const columns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  contracts: {
    contract_id: 'id',
    offset: offsetSql,
    node_id: '0',
    origin: `'create'`,
    synchronizer_pk: '1',
    template_pk: '1',
    payload: `'{"owner":"preloaded"}'`,
    signatories: `'{}'`,
    observers: `'{}'`,
    witness_parties: `'{}'`,
    created_at: `timestamptz '2026-01-01'`,
    acs_delta: 'true',
  },
  lifetimes: {
    contract_id: 'id',
    synchronizer_pk: '1',
    activated_offset: offsetSql,
    template_pk: '1',
    deactivated_offset: `case when n % ${String(preloadedPerActive)} = 0 then null else ${offsetSql} + 1 end`,
  },
};

/** A migrated database with so many contracts. */
export async function preloadedDatabase(server: Server, contracts: number): Promise<RunDatabase> {
  const database = await migrated(await server.createDatabase());
  await withClient(database.url, async (client) => {
    await client.query(`set search_path = ${schema}; set maintenance_work_mem = '1GB'; set work_mem = '256MB'`);
    await addDictionaries(client);
    await addStream(client);
    for (const [table, values] of Object.entries(columns)) {
      const rebuild = await withoutIndexes(client, table);
      const names = await columnsOf(client, table);
      const given = Object.entries(values).filter(([name]) => names.includes(name));
      await client.query(
        `insert into ${table} (${given.map(([name]) => escapeIdentifier(name)).join(', ')})
         select ${given.map(([, sql]) => sql).join(', ')}
           from (select n, ${idSql} as id from generate_series(1, ${String(contracts)}) as n) as preloaded`,
      );
      for (const statement of rebuild) await client.query(statement);
    }
    await client.query('vacuum (analyze) contracts');
    await client.query('vacuum (analyze) lifetimes');
    await client.query('checkpoint');
  });
  return database;
}

/** What a preloaded database adds to the counts of a run. */
export function preloadedCounts(contracts: number): Pick<Expected, 'contracts' | 'active'> {
  return { contracts, active: Math.floor(contracts / preloadedPerActive) };
}

/** The entries the rows above refer to; the indexer finds them and goes on numbering after them. */
async function addDictionaries(client: Client): Promise<void> {
  const { id, packageName } = templateName(0);
  const [packageId, moduleName, entityName] = id.split(':');
  await client.query('insert into synchronizers values (1, $1)', [synchronizerId]);
  await client.query(
    `insert into templates (template_pk, package_id, module_name, entity_name, package_name)
     values (1, $1, $2, $3, $4)`,
    [packageId, moduleName, entityName, packageName],
  );
}

/** A stream that was seeded at offset 0: an unseeded one would be emptied first. */
async function addStream(client: Client): Promise<void> {
  const shape = 'LEDGER_EFFECTS';
  const { json, hash } = filterFingerprint({
    parties: [],
    templates: [],
    interfaces: [],
    createdEventBlobs: false,
    shape,
    topology: true,
  });
  await client.query(
    `insert into stream (filter, filter_hash, transaction_shape, seed_offset, seeded_at, checkpoint)
     values ($1, $2, $3, 0, now(), 0)`,
    [json, hash, shape],
  );
}

async function columnsOf(client: Client, table: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ attname: string }>(
    `select attname::text from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
    [table],
  );
  return rows.map(({ attname }) => attname);
}

interface Index {
  readonly name: string;
  readonly definition: string;
  readonly constraint: string | null;
}

/** Drops the indexes of a table; the statements that bring them back. */
async function withoutIndexes(client: Client, table: string): Promise<readonly string[]> {
  const { rows } = await client.query<Index>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition,
            case when c.oid is not null then pg_get_constraintdef(c.oid) end as constraint
       from pg_index i left join pg_constraint c on c.conindid = i.indexrelid
      where i.indrelid = $1::regclass`,
    [table],
  );
  const rebuild: string[] = [];
  for (const { name, definition, constraint } of rows) {
    const add = `alter table ${table} add constraint ${name} ${constraint ?? ''}`;
    rebuild.push(constraint === null ? definition : add);
    await client.query(constraint === null ? `drop index ${name}` : `alter table ${table} drop constraint ${name}`);
  }
  return rebuild;
}
