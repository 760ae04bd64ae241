/**
 * Hands a stream over to another server and back, with processes that are killed at each step. At the end, the target
 * must equal a fresh index. Indexers may write to only one of the two servers at a time.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../packages/embedded-postgres/src/embedded-postgres.ts';
import { migrateCommand } from '../../src/cli/follow/migrate.ts';
import { redactCommand } from '../../src/cli/maintain/redact.ts';
import { startDaemon, type Daemon } from '../e2e/runs/daemon.ts';
import { HistoryWorld } from '../history/history-run.ts';
import { brokenRules } from '../history/rules.ts';
import { query } from '../support/database.ts';
import { digestOf } from '../support/digest.ts';
import { runCommand } from '../support/run-command.ts';
import { secretFile } from '../support/secret-file.ts';
import { waitFor } from '../support/wait-for.ts';
import { rebuild, value, fromGenesis } from './world.ts';
import { startRebuild, type RebuildProcess } from './process.ts';

const suffix = randomBytes(4).toString('hex');
const [knownRole, unknownRole] = [`into_known_${suffix}`, `into_strange_${suffix}`];

let world: HistoryWorld;
let folder: string;
let server: EmbeddedPostgres;
let previousDaemon: Daemon;
let redactedId: string;
const queryTarget = async (text: string): Promise<unknown> =>
  Object.values((await query(server.url, text))[0] ?? {})[0];
const readBothSides = () =>
  Promise.all(
    [value, (_: unknown, text: string) => queryTarget(text)].map((sendQuery) => sendQuery(world, handoverSql)),
  );
const handoverSql = 'select handover from ledger.stream';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rebuild-into-'));
  [world, server] = await Promise.all([HistoryWorld.open(200), startEmbeddedPostgres({ dataDir: folder })]);
  previousDaemon = follow(world.database.url);
  await expectInto(world.database.url);
  redactedId = String(await value(world, 'select contract_id from explore.contracts where not is_active limit 1'));
  await runCommand(redactCommand, ['contract', redactedId, '--reason', 'asked', '--yes'], world.env());
  await query(server.url, `create role ${knownRole}`);
  await query(
    world.database.url,
    `create role ${knownRole}; create role ${unknownRole};
     grant usage on schema ledger, explore to ${knownRole}, ${unknownRole};
     grant select on ledger.updates, explore.contracts to ${knownRole}, ${unknownRole};
     create policy everybody on ledger.updates using (true); alter table ledger.updates enable row level security;
     create index updates_of_people on ledger.updates (lower(command_id));
     insert into ledger.retention_holds (name, "offset", reason) values ('replica', 5, 'mine');
     insert into ledger.party_labels (party, source, label) values ('alice::12', 'customers', 'Alice');
     insert into ledger.instrument_labels (admin, instrument_id, source, name) values ('alice::12', 'C', 'customers', 'Coin');
     insert into ledger.verifications values ('invariants', 'equal', 5, now(), 1, 2, 0, 0, 'mine')`,
  );
}, 90_000);
afterAll(async () => {
  await previousDaemon.kill();
  await query(world.database.url, `drop owned by ${knownRole}, ${unknownRole}; drop role ${knownRole}, ${unknownRole}`);
  await world.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

function follow(databaseUrl: string): Daemon {
  const env = { ...fromGenesis, INDEXER_LEASE: '2s' };
  return startDaemon({ ledgerUrl: world.sandbox.url, databaseUrl, schema: 'ledger', env });
}

/** Locks the stream row on the other server after it has caught up; `end` releases the lock. */
async function holdRow(child: RebuildProcess): Promise<Client> {
  await child.says('requesting the writer lock');
  const client = new Client({ connectionString: server.url });
  await client.connect();
  await client.query('begin; select from ledger.stream for update');
  return client;
}

/** Whether the schema equals a fresh index with the same redactions. */
async function matchesFresh(url: string): Promise<boolean> {
  const env = { ...fromGenesis, DATABASE_URL: url };
  await runCommand(migrateCommand, [], world.env('fresh', env));
  for (const table of ['redactions', 'redacted_contracts', 'redacted_exercises']) {
    await query(url, `insert into fresh.${table} select * from ledger.${table}`);
  }
  await world.index('fresh', env);
  return (await digestOf(url, 'ledger')) === (await digestOf(url, 'fresh'));
}

/** Waits until the database has all updates of the ledger. */
async function expectInto(url: string): Promise<void> {
  await waitFor('everything is stored', async () => {
    const [row] = await query(url, 'select checkpoint from ledger.stream').catch(() => []);
    return Number(row?.['checkpoint'] ?? -1) >= world.sandbox.ledger.ledgerEnd() ? true : undefined;
  });
}

/** Messages before each step, at which the command is killed and run again. */
const steps = ['catching up', 'closing the source', 'opening the target'] as const;

describe('stream handover', { timeout: 120_000 }, () => {
  it('completes without lost or duplicate rows despite kills at every step', async () => {
    const target = { ledgerUrl: world.sandbox.url, databaseUrl: world.database.url };
    const args = ['--into-file', secretFile(server.url), '--yes'];
    for (const step of steps) {
      const child = startRebuild(target, args);
      // The target cannot be opened while this lock is held.
      const heldRow = step === 'opening the target' ? await holdRow(child) : undefined;
      await child.says(step);
      await child.kill();
      world.grow(10);
      // The indexer continues on the source until the source is closed.
      if (heldRow === undefined) await expectInto(world.database.url);
      else expect(await readBothSides()).toEqual(['handed over', 'filling']);
      await heldRow?.end();
    }
    // If the handover is interrupted between the two commits, it can only be completed, because the source cannot know
    // whether the second commit happened.
    await expect(world.command('jobs cancel rebuild')).rejects.toMatchObject({ code: 'JOB_REFUSED' });
    const earlyPark = await world.parks('ledger', { ...fromGenesis, DATABASE_URL: server.url });
    expect(earlyPark.code).toBe('STREAM_NOT_OPEN');
    const checkpoint = await world.checkpoint();
    const last = startRebuild(target, args);
    expect(await last.ended(), last.output()).toBe(0);
    expect(last.output()).toContain(`done: handed over at offset ${String(checkpoint)}`);
    expect(await readBothSides()).toEqual(['handed over', null]);
    const epoch = 'select epoch from ledger.stream';
    expect(Number(await queryTarget(epoch))).toBeGreaterThan(Number(await value(world, epoch)));

    await world.index('ledger', { ...fromGenesis, DATABASE_URL: server.url });
    await waitFor('the previous indexer parks', () =>
      previousDaemon.output().includes('STREAM_HANDED_OVER') ? true : undefined,
    );
    expect(previousDaemon.output()).toContain(`continues in database 127.0.0.1:${String(server.port)}/ledger_indexer`);
    expect(await world.checkpoint()).toBe(checkpoint);
    expect(await matchesFresh(server.url)).toBe(true);
    expect(await brokenRules(server.url, 'ledger')).toEqual([]);
  });

  it('copies holds, verify results, redactions, grants and user objects', async () => {
    expect(await queryTarget(`select "offset" from ledger.retention_holds where name = 'replica'`)).toBe('5');
    expect(await queryTarget(`select explore.party_label('alice::12')`)).toBe('Alice');
    expect(await queryTarget(`select explore.instrument_label('alice::12', 'C')`)).toBe('Coin');
    expect(await queryTarget(`select at_offset from ledger.verifications where kind = 'invariants'`)).toBe('5');
    const redactedSql = `select payload is null and redaction_id is not null from ledger.contracts where ledger.id_text(contract_id) = '${redactedId}'`;
    expect(await queryTarget(redactedSql)).toBe(true);
    const names = `select string_agg(view_name, ' ' order by view_name) from ledger.typed_views`;
    expect(await queryTarget(names)).toBe(await value(world, names));
    expect(await queryTarget(`select to_regclass('ledger.updates_of_people') is not null`)).toBe(true);
    expect(await queryTarget(`select has_table_privilege('${knownRole}', 'explore.contracts', 'select')`)).toBe(true);
    expect(await queryTarget(`select count(*) from pg_policy where polname = 'everybody'`)).toBe('1');
    expect(await queryTarget(`select state || ' ' || step from ledger.jobs where name = 'rebuild'`)).toBe(
      'done handed over',
    );
    expect(await value(world, `select state || ' ' || step from ledger.jobs where name = 'rebuild'`)).toBe(
      'done handed over',
    );
    const ranges = 'select min(from_offset) from ledger.completion_ranges';
    expect(await queryTarget(ranges)).toBe(await value(world, ranges));
  });
  it('works in the reverse direction with the same command and checks', async () => {
    await previousDaemon.kill();
    world.grow(20);
    await world.index('ledger', { ...fromGenesis, DATABASE_URL: server.url });
    const localOptions = { ...fromGenesis, DATABASE_URL: server.url };
    await expect(rebuild(world, '--yes', fromGenesis)).rejects.toMatchObject({ code: 'REBUILD_REFUSED' });
    await expect(rebuild(world, `--into-file ${secretFile(server.url)}`, localOptions)).rejects.toMatchObject({
      code: 'REBUILD_REFUSED',
    });
    expect(await rebuild(world, `--into-file ${secretFile(world.database.url)} --yes`, localOptions)).toContain(
      'done: handed over at offset',
    );
    expect(await readBothSides()).toEqual([null, 'handed over']);
    world.grow(20);
    await world.index('ledger', fromGenesis);
    expect(await matchesFresh(world.database.url)).toBe(true);
  });

  it('leaves the stream at the source and no copy at the target when cancelled', async () => {
    await query(server.url, 'drop schema ledger, explore, typed, pqs, pqs_multisync cascade');
    expect(await rebuild(world, `--into-file ${secretFile(server.url)} --no-swap --yes`, fromGenesis)).toContain(
      'has caught up; to hand over',
    );
    expect(await readBothSides()).toEqual([null, 'filling']);
    const reader = new Client({ connectionString: world.database.url });
    await reader.connect();
    // A session with this lock prevents the closing of the source.
    await reader.query('begin; lock table ledger.retention_holds in share mode');
    const runningRebuild = rebuild(world, `--into-file ${secretFile(server.url)} --yes`, fromGenesis);
    await waitFor(
      'it is blocked',
      async () => (await value(world, `select problem from ledger.jobs where name = 'rebuild'`)) ?? undefined,
    );
    await world.command('jobs cancel rebuild');
    expect(await runningRebuild).toContain('the rebuild was cancelled');
    await reader.end();
    expect(
      await queryTarget(
        `select count(*) from pg_namespace where nspname in ('ledger', 'explore', 'typed', 'pqs', 'pqs_multisync')`,
      ),
    ).toBe('0');
    world.grow(10);
    await world.index('ledger', fromGenesis);
  });
});
