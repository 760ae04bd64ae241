/** Rights on projections of users: of the roles of `grant-roles`, of readers, and of readers limited to parties. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectionCommand } from '../../../src/cli/projections/projection.ts';
import { grantReaderCommand } from '../../../src/cli/roles/grant-reader.ts';
import { grantRolesCommand } from '../../../src/cli/roles/grant-roles.ts';
import { ProjectionJob } from '../../../src/store/projections/projection-job.ts';
import { HistoryWorld } from '../../history/history-run.ts';
import { query } from '../../support/database.ts';
import { runCommand } from '../../support/run-command.ts';
import { turnJitOff, withDatabase } from '../projected.ts';
import { contentsSql, transfersSql } from './world.ts';

const prefix = `derived_${randomBytes(4).toString('hex')}`;
const kinds = ['migrator', 'writer', 'redactor', 'reader'] as const;
const [limited, later] = [`${prefix}_limited`, `${prefix}_later`];
/** Rows of contracts with the stakeholders of each. */
const partiesSql = `select e."offset", e.node_id, e.template_fqn, p.party from explore.events e cross join unnest(e.parties) p (party)
  where e.event_type = 'created' and e."offset" > :from and e."offset" <= :to`;
let world: HistoryWorld;
let folder: string;
let party: string;

function urlOf(role: string): string {
  const url = new URL(world.database.url);
  url.username = role;
  url.password = 'kept';
  return url.href;
}

const asKind = (kind: (typeof kinds)[number]): string => urlOf(`${prefix}_${kind}`);

async function project(url: string, ...argv: readonly string[]): Promise<void> {
  await runCommand(projectionCommand, argv, { DATABASE_URL: url });
}

function file(sql: string): string {
  const path = join(folder, randomBytes(4).toString('hex'));
  writeFileSync(path, sql);
  return path;
}

const add = (url: string, name: string, sql: string, ...options: readonly string[]): Promise<void> =>
  project(url, 'add', name, '--sql', file(sql), '--role', `${prefix}_reader`, ...options);

async function fillAsWriter(): Promise<void> {
  await withDatabase(asKind('writer'), async (database) => {
    const job = new ProjectionJob(database);
    for (let step = await job.step(); step !== undefined; step = await job.step()) {
      if (step !== 'off' && step.kind === 'failed') throw step.error;
    }
  });
}

async function limitTo(role: string): Promise<void> {
  const passwordFile = join(folder, 'password');
  await runCommand(grantReaderCommand, [role, '--party', party, '--password-file', passwordFile], world.env());
}

beforeAll(async () => {
  world = await HistoryWorld.open(200);
  await turnJitOff(world.database.url);
  await world.index('ledger', { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis', INDEXER_PROJECTIONS: 'off' });
  folder = mkdtempSync(join(tmpdir(), 'derived-'));
  for (const kind of [...kinds, 'password']) writeFileSync(join(folder, kind), 'kept\n');
  await runCommand(grantRolesCommand, ['--prefix', prefix, '--password-dir', folder], world.env());
  party = String((await world.row('select owner from explore.token_balances order by 1 limit 1'))['owner']);
  await limitTo(limited);
});
afterAll(async () => {
  await world.close();
  const roles = ['owner', ...kinds, 'limited', 'later'].map((kind) => `${prefix}_${kind}`).join(', ');
  await query(process.env['TEST_POSTGRES_URL'] ?? '', `drop role if exists ${roles}`);
  rmSync(folder, { recursive: true });
});

const count = async (url: string, from: string): Promise<number> =>
  Number((await query(url, `select count(*)::int as count from ${from}`))[0]?.['count']);

describe('projections of users with the roles of grant-roles', () => {
  it('are added by the migrator only', async () => {
    for (const kind of ['reader', 'redactor', 'writer'] as const) {
      await expect(add(asKind(kind), 'transfers', transfersSql)).rejects.toMatchObject({ code: 'STORE_NOT_PERMITTED' });
    }
    await add(asKind('migrator'), 'transfers', transfersSql);
    await add(asKind('migrator'), 'contents', contentsSql);
    await add(asKind('migrator'), 'parties', partiesSql, '--party-column', 'party');
    expect(
      await world.row(
        `select count(distinct relowner)::int as owners from pg_class where relnamespace = 'derived'::regnamespace`,
      ),
    ).toEqual({ owners: 1 });
  });

  it('are stored by the writer, and swapped without a right to create', async () => {
    await fillAsWriter();
    expect(await count(world.database.url, 'derived."transfers$1"')).toBeGreaterThan(0);
    await add(asKind('migrator'), 'transfers', transfersSql.replace('t.amount,', '-t.amount as amount,'));
    await fillAsWriter();
    expect(await count(world.database.url, 'derived.transfers where amount > 0')).toBe(0);
    expect(await count(world.database.url, 'derived."transfers$1"')).toBe(0);
    await expect(query(asKind('writer'), 'create table derived.made (a integer)')).rejects.toThrow(/permission denied/);
    await expect(query(asKind('writer'), 'drop view derived.transfers')).rejects.toThrow(/must be owner/);
    await expect(query(asKind('writer'), `update ledger.user_projections set select_text = ''`)).rejects.toThrow(
      /permission denied/,
    );
  });

  it('are read by readers of everything, also by later ones', async () => {
    const all = await count(world.database.url, 'derived.transfers');
    expect(await count(asKind('reader'), 'derived.transfers')).toBe(all);
    await runCommand(grantReaderCommand, [later, '--password-file', join(folder, 'password')], world.env());
    expect(await count(urlOf(later), 'derived.transfers')).toBe(all);
    await expect(query(asKind('reader'), 'delete from derived."transfers$2"')).rejects.toThrow(
      /permission denied|read-only/,
    );
  });

  it('lose redacted contents by the redactor', async () => {
    const { id } = await world.row(
      `select contract_id as id from derived."contents$1" where payload is not null and contract_id in (select contract_id from explore.contracts where status = 'archived') limit 1`,
    );
    await query(asKind('redactor'), `select pqs.redact_contract('${String(id)}', 'redaction')`);
    expect(await count(world.database.url, `derived."contents$1" where contract_id = '${String(id)}'`)).toBe(0);
    await fillAsWriter();
  });
});

describe('a reader limited to parties', () => {
  it('does not read a projection without a party column', async () => {
    for (const name of ['transfers', 'contents', '"transfers$2"', '"contents$1"']) {
      await expect(query(urlOf(limited), `select from derived.${name}`)).rejects.toThrow(/permission denied/);
    }
    await expect(query(urlOf(limited), 'select from ledger.user_projections')).resolves.toEqual([]);
  });

  it('reads the rows that it may see of a projection with a party column, and no stored rows', async () => {
    expect(await count(urlOf(limited), 'derived."parties$1"')).toBe(0);
    const seen = `(${partiesSql.replace(':from', '-1').replace(':to', '9223372036854775807')}) t`;
    const visible = await count(urlOf(limited), seen);
    expect(visible).toBeGreaterThan(0);
    expect(visible).toBeLessThan(await count(world.database.url, 'derived.parties'));
    expect(await count(urlOf(limited), 'derived.parties')).toBe(visible);
    await limitTo(`${prefix}_limited`);
    expect(await count(urlOf(limited), 'derived.parties')).toBe(visible);
  });
});
