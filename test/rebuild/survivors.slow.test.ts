/** User objects that depend on a schema or its tables must exist after the swap and refer to the new schema. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectionCommand } from '../../src/cli/projections/projection.ts';
import { grantReaderCommand } from '../../src/cli/roles/grant-reader.ts';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { query } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';
import { rebuild, value, viewOf, fromGenesis } from './world.ts';

let world: HistoryWorld;
let typedViewName: string;
let party: string;
let redactedId: string;
let objectsBefore: readonly unknown[][];

/** All objects with their oids, so that re-created objects are detected. */
const oids = `select array_agg(c.oid::regclass || ' ' || c.oid order by c.oid) as all from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
 where n.nspname in ('explore', 'typed', 'pqs', 'pqs_multisync', 'public') and c.relkind in ('v', 'm', 'r')`;
const functions = `select array_agg(p.oid::regprocedure || ' ' || p.oid order by p.oid) as all from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('explore', 'pqs', 'public')`;
const comments = `select array_agg(c.relname || ' ' || coalesce(obj_description(c.oid, 'pg_class'), '-') order by 1) as all
  from pg_class c where relnamespace in ('explore'::regnamespace, 'typed'::regnamespace, 'ledger'::regnamespace)`;

/** Adds a projection of a user, which has the offsets of all updates. */
async function addProjection(env: Readonly<Record<string, string>>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'survivors-'));
  const file = join(folder, 'offsets.sql');
  writeFileSync(file, 'select u."offset" from explore.updates u where u."offset" > :from and u."offset" <= :to');
  await runCommand(grantReaderCommand, ['rebuild_projecting', '--shared-database'], env);
  await runCommand(projectionCommand, ['add', 'offsets', '--sql', file, '--role', 'rebuild_projecting'], env);
  rmSync(folder, { recursive: true });
}

beforeAll(async () => {
  world = await HistoryWorld.open(120);
  const { url } = world.database;
  await world.index('ledger', fromGenesis);
  // Typed views are created in the background.
  await using indexer = await world.run('ledger', fromGenesis);
  const exerciseViewSql = `select v.view_name from ledger.typed_views v join explore.exercises e on e.choice = v.choice
    and e.template_fqn = concat_ws(':', v.package_name, v.module_name, v.entity_name) where v.kind = 'choice' limit 1`;
  typedViewName = await viewOf(world, exerciseViewSql);
  await indexer[Symbol.asyncDispose]();
  party = String(await value(world, 'select signatories[1] from explore.active_contracts limit 1'));
  redactedId = String(await value(world, `select contract_id from explore.contracts where not is_active limit 1`));
  await query(
    url,
    `drop role if exists rebuild_party; drop role if exists rebuild_node; drop role if exists rebuild_ops;
     drop role if exists rebuild_projecting; create role rebuild_ops nologin;
     create view public.active as select count(*) as n from explore.active_contracts;
     create materialized view public.kept as select template_fqn, count(*) as n from explore.contracts group by 1;
     create view public.exercised as select count(*) as n from typed."${typedViewName}";
     create function public.newest() returns bigint language sql stable begin atomic select explore.latest_offset(); end;
     create view public.direct with (security_barrier = true) as
       select ledger.id_text(contract_id) as contract_id, "offset" from ledger.live where unhosted_since is null;
     create function public.direct_count() returns bigint language sql stable
       begin atomic select count(*) from ledger.updates; end;
     create table ledger.notes (contract_id text primary key, note text);
     insert into ledger.notes values ('x', 'mine');
     create index contracts_owner on ledger.contracts ((payload ->> 'owner')) where payload ? 'owner';
     create index live_ids on ledger.live (ledger.id_text(contract_id), "offset");
     create statistics ledger.template_parties (dependencies) on template_pk, parties_pk from ledger.contracts;
     alter table ledger.updates set (autovacuum_vacuum_scale_factor = 0.01);
     alter table ledger.contracts alter column template_pk set statistics 500;
     comment on column ledger.contracts.payload is 'our own words';
     create publication rebuilt for table ledger.batches (batch_offset, epoch), ledger.updates where ("offset" > 10);
     grant usage on schema ledger, explore to rebuild_ops;
     grant select on ledger.updates, explore.updates to rebuild_ops;
     grant select ("offset") on ledger.contracts to rebuild_ops;
     grant execute on function ledger.hosts(text, integer, bigint) to rebuild_ops;
     alter default privileges in schema ledger grant select on tables to rebuild_ops;
     create table public.seen (at bigint);
     create function public.see() returns trigger language plpgsql as $$ begin insert into public.seen values (new."offset"); return new; end $$;
     create trigger seeing after insert on ledger.updates for each row execute function public.see();
     insert into ledger.retention_holds (name, "offset") values ('replica', 5);
     insert into ledger.party_labels (party, source, label) values ('${party}', 'customers', 'A customer'), ('x::12', 'customers', 'X');
     insert into ledger.instrument_labels (admin, instrument_id, source, name) values ('${party}', 'C', 'customers', 'Coin');
     insert into ledger.verifications values ('invariants', 'equal', 5, now(), 1, 5, 0, 0, null)
       on conflict (kind) do nothing;`,
  );
  const env = world.env();
  await runCommand(redactCommand, ['contract', redactedId, '--reason', 'asked', '--yes'], env);
  await runCommand(grantReaderCommand, ['rebuild_party', '--party', party], env);
  await addProjection(env);
  await runCommand(grantReaderCommand, ['rebuild_node', '--node-tokens'], env);
  objectsBefore = await Promise.all(
    [oids, functions, comments].map(async (text) => (await value(world, text)) as unknown[]),
  );
  world.grow(20);
  await world.index('ledger', fromGenesis);
  await rebuild(world, '--yes');
  world.grow(50);
  await world.index('ledger', fromGenesis);
}, 120_000);
afterAll(async () => {
  await query(world.database.url, 'drop owned by rebuild_ops, rebuild_party, rebuild_node, rebuild_projecting').catch(
    () => undefined,
  );
  await world.close();
});

describe('schema swap', () => {
  it('keeps oids and comments of all reader views and functions', async () => {
    const objectsAfter = await Promise.all([oids, functions, comments].map((text) => value(world, text)));
    // Additional typed views are created for later packages.
    for (const [index, keptObjects] of objectsBefore.entries())
      expect(objectsAfter[index]).toEqual(expect.arrayContaining(keptObjects));
  });

  it('redirects user views and functions to the new schema', async () => {
    const liveCount = await value(world, 'select count(*) from ledger.live where unhosted_since is null');
    expect(await value(world, 'select n from public.active')).toBe(liveCount);
    expect(await value(world, 'select count(*) from public.direct')).toBe(liveCount);
    expect(await value(world, 'select public.newest()')).toBe(
      await value(world, 'select checkpoint from ledger.stream'),
    );
    expect(await value(world, 'select public.direct_count()')).toBe(
      await value(world, 'select count(*) from ledger.updates'),
    );
    const exercises = `select count(*) from explore.exercises e where exists (
      select from ledger.typed_views v where v.view_name = '${typedViewName}' and v.choice = e.choice
         and e.template_fqn = concat_ws(':', v.package_name, v.module_name, v.entity_name))`;
    expect(Number(await value(world, 'select n from public.exercised'))).toBeGreaterThan(0);
    expect(await value(world, 'select n from public.exercised')).toBe(await value(world, exercises));
    await query(world.database.url, 'refresh materialized view public.kept');
    expect(await value(world, 'select sum(n) from public.kept')).toBe(
      await value(world, 'select count(*) from explore.contracts'),
    );
    const options = `select reloptions @> '{security_barrier=true}' from pg_class where oid = 'public.direct'::regclass`;
    expect(await value(world, options)).toBe(true);
  });

  it('keeps projections of users, whose rows are stored again', async () => {
    const updates = await value(world, 'select count(*) from explore.updates');
    expect(await value(world, 'select count(*) from derived.offsets')).toBe(updates);
    await using indexer = await world.run('ledger', fromGenesis);
    await waitFor('the rows are stored', async () => {
      const { projections } = await indexer.status();
      return projections.find(({ name }) => name === 'offsets$1')?.offsetsBehind === 0 ? true : undefined;
    });
    expect(await value(world, 'select count(*) from derived."offsets$1"')).toBe(updates);
    expect(await value(world, 'select count(*) from derived.offsets')).toBe(updates);
  });

  it('leaves no outside object that depends on the previous schema', async () => {
    expect(await rebuild(world, '--drop-previous')).toContain('would be deleted');
  });

  it('returns only the rows of its party to a party-limited role', async () => {
    const client = new Client({ connectionString: world.database.url });
    await client.connect();
    const activeCountSql = `select count(*)::int as n from explore.active_contracts where '${party}' = any (signatories || observers)`;
    const rowCount = Number((await client.query<{ n: number }>(activeCountSql)).rows[0]?.n);
    await client.query('set role rebuild_party');
    const { rows } = await client.query<{ n: number }>('select count(*)::int as n from explore.active_contracts');
    expect(rowCount).toBeGreaterThan(0);
    expect(rows[0]?.n).toBe(rowCount);
    await client.query('reset role');
    const total = Number(await value(world, 'select count(*) from explore.active_contracts'));
    expect(total).toBeGreaterThan(rowCount);
    await client.end();
  });

  it('returns only the rows of its transaction to the role of users of the participant', async () => {
    const client = new Client({ connectionString: world.database.url });
    await client.connect();
    const countSql = 'select count(*)::int as n from explore.active_contracts';
    const counts: unknown[] = [];
    for (const role of ['rebuild_party', 'rebuild_node', 'rebuild_node with rights']) {
      await client.query('begin');
      if (role.endsWith('rights')) {
        await client.query(
          `insert into ledger.node_sessions (transaction_id, parties, reads_all) values (pg_current_xact_id(), $1, false)`,
          [[party]],
        );
      }
      await client.query(`set local role ${role.split(' ')[0] ?? ''}`);
      counts.push((await client.query<{ n: number }>(countSql)).rows[0]?.n);
      await client.query('rollback');
    }
    await client.end();
    expect(counts).toEqual([counts[0], 0, counts[0]]);
    expect(counts[0]).toBeGreaterThan(0);
  });

  it('keeps grants and default privileges', async () => {
    const privilegesSql = `select array[has_schema_privilege('rebuild_ops', 'ledger', 'usage'),
      has_table_privilege('rebuild_ops', 'ledger.updates', 'select'), has_table_privilege('rebuild_ops', 'ledger.contracts', 'select'),
      has_column_privilege('rebuild_ops', 'ledger.contracts', 'offset', 'select'),
      has_function_privilege('rebuild_ops', 'ledger.hosts(text, integer, bigint)', 'execute'),
      has_function_privilege('public', 'ledger.hosts(text, integer, bigint)', 'execute')]`;
    expect(await value(world, privilegesSql)).toEqual([true, true, false, true, true, false]);
    const defaultRightsSql = `select count(*) from pg_default_acl where defaclnamespace = 'ledger'::regnamespace and defaclacl::text like '%rebuild_ops%'`;
    expect(await value(world, defaultRightsSql)).toBe('1');
  });

  it('copies indexes, statistics, settings, triggers and publications to the new tables', async () => {
    const indexNamesSql = `select array(select indexname::text from pg_indexes where schemaname = 'ledger'
       and indexname in ('contracts_owner', 'live_ids') order by 1)`;
    expect(await value(world, indexNamesSql)).toEqual(['contracts_owner', 'live_ids']);
    const kinds = `select stxkind::text from pg_statistic_ext where stxname = 'template_parties'
       and stxrelid = 'ledger.contracts'::regclass`;
    expect(await value(world, kinds)).toBe('{f}');
    const options = `select reloptions::text from pg_class where oid = 'ledger.updates'::regclass`;
    expect(await value(world, options)).toContain('autovacuum_vacuum_scale_factor=0.01');
    const target = `select attstattarget from pg_attribute where attrelid = 'ledger.contracts'::regclass and attname = 'template_pk'`;
    expect(Number(await value(world, target))).toBe(500);
    const commentSql = `select col_description('ledger.contracts'::regclass, attnum) from pg_attribute
       where attrelid = 'ledger.contracts'::regclass and attname = 'payload'`;
    expect(await value(world, commentSql)).toBe('our own words');
    const publishedRows = await query(
      world.database.url,
      `select schemaname || '.' || tablename as name, array_length(attnames, 1) as columns, rowfilter
         from pg_publication_tables where pubname = 'rebuilt' order by 1`,
    );
    expect(publishedRows).toEqual([
      { name: 'ledger.batches', columns: 2, rowfilter: null },
      expect.objectContaining({ name: 'ledger.updates', rowfilter: '("offset" > 10)' }),
    ]);
    const newestSql = `select max("offset") = (select max(at) from public.seen) from ledger.updates`;
    expect(await value(world, newestSql)).toBe(true);
  });

  it('keeps holds, verify results, and redactions with their effects', async () => {
    expect(await value(world, `select "offset" from ledger.retention_holds where name = 'replica'`)).toBe('5');
    expect(await value(world, `select explore.party_label('${party}')`)).toBe('A customer');
    expect(await value(world, `select explore.instrument_label('${party}', 'C')`)).toBe('Coin');
    expect(await value(world, `select at_offset from ledger.verifications where kind = 'invariants'`)).toBe('5');
    expect(await value(world, 'select note from ledger.notes')).toBe('mine');
    const contract = await query(
      world.database.url,
      `select payload, redaction_id is not null as redacted from ledger.contracts
        where ledger.id_text(contract_id) = '${redactedId}'`,
    );
    expect(contract).toEqual([{ payload: null, redacted: true }]);
    expect(await value(world, 'select contracts from ledger.redactions')).toBe('1');
  });

  it('collects planner statistics for all new tables', async () => {
    const unknown = `select array(select relname::text from pg_class where relnamespace = 'ledger'::regnamespace
      and relkind = 'r' and relname <> 'notes' and reltuples < 0)`;
    expect(await value(world, unknown)).toEqual([]);
  });

  it('limits the search path of schema functions to their own schema', async () => {
    const paths = `select array_agg(distinct n.nspname || ' ' || c) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      cross join unnest(p.proconfig) c where n.nspname in ('ledger', 'ledger_previous') and c like 'search_path%'`;
    expect(await value(world, paths)).toEqual([
      'ledger search_path=ledger, pg_temp',
      'ledger search_path=pg_catalog, pg_temp',
      'ledger_previous search_path=ledger_previous, pg_temp',
      'ledger_previous search_path=pg_catalog, pg_temp',
    ]);
  });
});

describe('rebuild', () => {
  it('refuses to start if an object cannot be copied or the new schema exists', async () => {
    await query(world.database.url, 'create materialized view public.fixed as select count(*) from ledger.updates');
    await rebuild(world, '--drop-previous --yes');
    await expect(rebuild(world, '')).rejects.toMatchObject({
      code: 'REBUILD_REFUSED',
      message: expect.stringContaining('fixed') as string,
    });
    await query(world.database.url, 'drop materialized view public.fixed');
    await query(world.database.url, 'create schema ledger_next');
    await expect(rebuild(world, '--yes')).rejects.toMatchObject({ code: 'REBUILD_REFUSED' });
  });
});
