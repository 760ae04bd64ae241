/**
 * Reports for an operator: rights that an upgrade changed, sessions that block the writer, and timeouts that end such
 * sessions.
 */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../support/wait-for.ts';
import { RolesWorld, type Login } from './world.ts';

let world: RolesWorld;
beforeAll(async () => {
  world = await RolesWorld.open();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

interface Line {
  readonly name: string;
  readonly state: string;
  readonly found: string;
  readonly fix?: string;
}

async function checked(login: Login, name: string): Promise<Line | undefined> {
  const { stdout } = await world.run(login, ['check', '--json', '--timeout', '30']);
  return (JSON.parse(stdout) as { checks: readonly Line[] }).checks.find((line) => line.name === name);
}

async function session(login: Login): Promise<Client> {
  const client = new Client({ connectionString: world.url(login), application_name: 'left open' });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

describe('outdated rights of roles', () => {
  it('are reported by migrate and check, with the command that fixes them', async () => {
    const { prefix } = world;
    expect((await world.succeeds('migrator', ['migrate'])).stdout).toBe('schema "ledger" is up to date\n');
    expect(await checked('writer', 'rights of roles')).toMatchObject({ state: 'pass' });
    await world.query(
      `revoke insert on ledger.updates from ${prefix}_writer; revoke update (problem_at) on ledger.webhooks from ${prefix}_writer;
       revoke execute on function pqs.redact_exercise(pqs.event_id, text) from ${prefix}_redactor; grant insert on ledger.batches to ${prefix}_writer;
       grant update (contract_key_hash) on ledger.contracts to ${prefix}_redactor`,
    );
    // Without the right on updates, the catalog does not show which role is the writer, so this right is granted again.
    await world.query(
      `grant insert on ledger.updates to ${prefix}_writer; revoke insert on ledger.archives from ${prefix}_writer`,
    );
    const reportLines = [
      `role "${prefix}_redactor" lacks execute on function "pqs".redact_exercise("pqs".event_id, text), and no longer needs update (contract_key_hash) on contracts`,
      `role "${prefix}_writer" lacks insert on archives, update (problem_at) on webhooks`,
    ];
    const grantHint = `as the migrator: \`ledger-indexer grant-roles --prefix ${prefix}\``;
    const { stdout } = await world.succeeds('migrator', ['migrate']);
    expect(stdout.split('\n').slice(1)).toEqual([...reportLines, `grant the rights of this version, ${grantHint}`, '']);
    expect(await checked('writer', 'rights of roles')).toMatchObject({
      state: 'warn',
      found: reportLines.join('; '),
      fix: grantHint,
    });
    await world.succeeds('migrator', ['grant-roles', ...world.named]);
    expect((await world.succeeds('migrator', ['migrate'])).stdout).toBe('schema "ledger" is up to date\n');
    expect(await checked('writer', 'rights of roles')).toMatchObject({ state: 'pass' });
  });
});

describe('database settings and rights', () => {
  it('are reported by check after a restore lost them, and restored by grant-roles', async () => {
    const { prefix } = world;
    const [{ name } = {}] = await world.query('select quote_ident(current_database()) as name');
    await world.query(
      `alter role ${prefix}_migrator in database ${String(name)} reset role; alter role ${prefix}_writer in database ${String(name)} reset all;
       revoke create on database ${String(name)} from ${prefix}_owner`,
    );
    expect(await checked('writer', 'rights of roles')).toMatchObject({
      state: 'warn',
      found: [
        `role "${prefix}_migrator" lacks the setting role in this database`,
        `role "${prefix}_owner" lacks create on the database`,
        `role "${prefix}_writer" lacks the setting idle_in_transaction_session_timeout in this database`,
      ].join('; '),
    });
    await world.succeeds('administrator', ['grant-roles', ...world.named]);
    expect(await checked('writer', 'rights of roles')).toMatchObject({ state: 'pass' });
  });

  it('of readers and of reader tokens are reported by check, and restored by grant-reader', async () => {
    const { prefix, served } = world;
    await world.succeeds('administrator', ['grant-reader', served]);
    await world.succeeds('administrator', ['reader-token', 'create', '--role', served]);
    expect(await checked('writer', 'reader settings')).toMatchObject({ state: 'pass' });
    const [{ login } = {}] = await world.query('select login_name as login from ledger.reader_tokens');
    const [{ name } = {}] = await world.query('select quote_ident(current_database()) as name');
    await world.query(
      `alter role ${prefix}_reader in database ${String(name)} reset all;
       alter role ${String(login)} in database ${String(name)} reset search_path`,
    );
    expect(await checked('writer', 'reader settings')).toMatchObject({
      state: 'warn',
      found: [
        `${prefix}_reader lacks statement_timeout, default_transaction_read_only, search_path`,
        `${String(login)} lacks search_path in this database`,
      ].join('; '),
      fix: expect.stringContaining(`\`ledger-indexer grant-reader ${prefix}_reader\``) as unknown,
    });
    await world.succeeds('administrator', ['grant-reader', `${prefix}_reader`]);
    const [{ id } = {}] = await world.query('select id from ledger.reader_tokens');
    await world.succeeds('administrator', ['reader-token', 'revoke', String(id)]);
    expect(await checked('writer', 'reader settings')).toMatchObject({ state: 'pass' });
  });
});

describe('row-level security', () => {
  it('fails check and writing for a writer without BYPASSRLS, with what to do', async () => {
    const { prefix } = world;
    await world.query(
      `alter role ${prefix}_writer nobypassrls; alter table ledger.contracts enable row level security`,
    );
    const refused = /STORE_NOT_PERMITTED.*row-level security[^]*grant-roles` as an administrator/;
    try {
      expect(await checked('writer', 'rights to write')).toMatchObject({ state: 'fail', code: 'STORE_NOT_PERMITTED' });
      world.network.happen(1);
      world.network.settle();
      const { stderr } = await world.run('writer', ['run', '--stop-at', 'end'], { INDEXER_HTTP_PORT: '0' });
      expect(stderr).toMatch(refused);
    } finally {
      await world.query('alter table ledger.contracts disable row level security');
    }
    await world.succeeds('administrator', ['grant-roles', ...world.named]);
    expect(await checked('writer', 'rights to write')).toMatchObject({ state: 'pass' });
  });
});

describe('idle session in a transaction', () => {
  it.each(['writer', 'redactor'] as const)('has a timeout of 30 s for the %s role', async (login) => {
    const client = await session(login);
    try {
      const { rows } = await client.query(
        `select current_setting('idle_in_transaction_session_timeout') as idle, current_setting('transaction_timeout', true) as most`,
      );
      const [{ version } = {}] = await world.query(`select current_setting('server_version_num')::int as version`);
      expect(rows).toEqual([{ idle: '30s', most: Number(version) >= 170_000 ? '10min' : null }]);
    } finally {
      await client.end();
    }
  });

  it('is reported by check while it blocks the writer, even indirectly', async () => {
    await using indexer = await world.live('writer');
    expect(await checked('writer', 'blocked writer')).toMatchObject({ state: 'pass' });
    const client = await session('redactor');
    const redactorSession = await session('redactor');
    try {
      const [{ pid } = {}] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
      await client.query('begin; update ledger.stream set epoch = epoch + 1');
      const blockedUpdate = redactorSession.query('update ledger.stream set epoch = epoch + 1').catch(() => undefined);
      world.network.happen(5);
      const line = await waitFor('check names the session', async () => {
        const checkResult = await checked('writer', 'blocked writer');
        return checkResult?.state === 'warn' ? checkResult : undefined;
      });
      expect(line.found).toMatch(
        new RegExp(
          `^ingestion waits for process ${String(pid)} \\(role ${world.prefix}_redactor, application left open\\), for \\d+ s so far$`,
        ),
      );
      expect(line.fix).toContain(`select pg_terminate_backend(${String(pid)})`);
      // A role that may see the transaction sees how long it has been open.
      expect((await checked('administrator', 'blocked writer'))?.found).toMatch(
        /left open, in a transaction of \d+ s\)/,
      );
      await world.query(`select pg_terminate_backend(${String(pid)})`);
      await blockedUpdate;
      await indexer.reaches(world.end(), 60_000);
      expect(await checked('writer', 'blocked writer')).toMatchObject({ state: 'pass' });
    } finally {
      await Promise.all([client.end(), redactorSession.end()]);
    }
  });
});
