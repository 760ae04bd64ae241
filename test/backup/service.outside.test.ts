/**
 * Moves a database between two services without a superuser by a dump, with the commands of
 * docs/how-to/run/backup-and-restore.md. The administrator has the rights that Amazon RDS gives.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { programInProcess } from '../cli/in-process.ts';
import { query } from '../support/database.ts';
import { tableDigests } from '../support/digest.ts';
import { programsSkipReason } from '../support/packaged/programs.ts';
import { createServerFiles, startServer, type PackagedServer } from '../support/packaged/server.ts';
import { needs } from '../support/skips/needs.ts';
import { preparePage, rolePassword, runBlock, type PageRun } from './page.ts';

const admin = 'admin';
let folder: string;
let sandbox: Sandbox;
const servers: PackagedServer[] = [];

beforeAll(async () => {
  if (programsSkipReason !== undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-service-'));
  chmodSync(folder, 0o755);
  await preparePage(folder);
  for (const name of ['migrator', 'writer', 'redactor', 'reader', 'analyst.txt'])
    writeFileSync(join(folder, name), rolePassword);
  sandbox = await startSandbox({ seed: 4, limits: { checkpointIntervalMs: 50 } });
  generateHistory(sandbox.ledger, { seed: 4, updates: 100 });
});
afterAll(async () => {
  if (programsSkipReason !== undefined) return;
  for (const server of servers) await server[Symbol.asyncDispose]();
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a server with the administrator of a service. */
async function service(name: string): Promise<PackagedServer> {
  await createServerFiles(join(folder, name));
  const server = await startServer(join(folder, name));
  servers.push(server);
  await query(
    server.url('postgres'),
    `create role rds_superuser; grant pg_monitor, pg_signal_backend to rds_superuser;
     create role ${admin} login createdb createrole password '${rolePassword}' in role rds_superuser`,
  );
  return server;
}

function on(server: PackagedServer): PageRun {
  const databaseUrl = server.url('ledger', admin, rolePassword);
  return { folder, server, databaseUrl, user: admin, env: { LEDGER_URL: sandbox.url } };
}

/** Runs a command as this role. @throws Error unless it succeeds */
async function command(server: PackagedServer, role: string, ...argv: readonly string[]): Promise<string> {
  const env = {
    LEDGER_URL: sandbox.url,
    DATABASE_URL: server.url('ledger', role, rolePassword),
    INDEXER_START: 'genesis',
    INDEXER_HTTP_PORT: '0',
    INDEXER_LOG_LEVEL: 'error',
    POSTGRES_MIGRATE: role === admin ? 'auto' : 'never',
  };
  const { code, stdout, stderr } = await programInProcess(argv, env, folder);
  if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr}${stdout.slice(-2_000)}`);
  return stdout;
}

describe('a dump between services without a superuser', needs(programsSkipReason), () => {
  it('keeps roles, rights and settings, and the indexer continues as the writer', async () => {
    const [source, target] = [await service('source'), await service('target')];
    await query(
      source.url('postgres', admin, rolePassword),
      `create database ledger encoding 'UTF8' template template0`,
    );
    await command(source, admin, 'migrate');
    await runBlock('grant-roles --password-dir', on(source));
    await command(source, 'ledger_writer', 'run', '--stop-at', 'end');
    await runBlock('--no-role-passwords', on(source));
    await runBlock('grant ledger_owner to admin', on(target));
    await runBlock('grant-roles --password-dir', on(target));
    generateHistory(sandbox.ledger, { seed: 5, updates: 30, startAt: Date.UTC(2026, 0, 6) });
    for (const server of [source, target]) await command(server, 'ledger_writer', 'run', '--stop-at', 'end');
    expect(await tableDigests(target.url('ledger'), 'ledger')).toEqual(
      await tableDigests(source.url('ledger'), 'ledger'),
    );
    const { checks } = JSON.parse(await command(target, 'ledger_writer', 'check', '--json')) as {
      readonly checks: readonly { readonly name: string; readonly state: string }[];
    };
    const states = Object.fromEntries(checks.map(({ name, state }) => [name, state]));
    expect(states).toMatchObject({ 'rights to write': 'pass', 'rights of roles': 'pass', 'reader settings': 'pass' });
    const [counted] = await query(
      target.url('ledger', 'analyst', rolePassword),
      'select count(*)::int as n from events',
    );
    expect(counted?.['n']).toBeGreaterThan(0);
    expect(
      await query(target.url('ledger', 'ledger_migrator', rolePassword), 'select current_user::text as role'),
    ).toEqual([{ role: 'ledger_owner' }]);
  });
});
