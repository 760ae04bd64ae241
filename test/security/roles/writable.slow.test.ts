/**
 * Reasons why the writer cannot write although it has rights on the tables: functions revoked from PUBLIC, read-only
 * sessions, a missing right to read, and pruning. `check` and the indexer report each reason with a statement that
 * fixes it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { query } from '../../support/database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { runIndexer } from '../../e2e/runs/indexer-run.ts';
import { RolesWorld } from './world.ts';

interface Line {
  readonly name: string;
  readonly state: string;
  readonly found: string;
  readonly fix?: string;
}

interface Problem {
  readonly code: string;
  readonly remedy: string;
}

let world: RolesWorld;
let name: string;
let writer: string;

/** Runs `check`. Resolves to the exit code and the line with this name. */
async function check(
  line: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Line & { readonly code: number }> {
  const { code, stdout } = await world.run('writer', ['check', '--json'], env);
  const { checks } = JSON.parse(stdout) as { checks: readonly Line[] };
  const checkRow = checks.find((candidateCheck) => candidateCheck.name === line);
  if (checkRow === undefined) throw new Error(`no line ${line}: ${stdout}`);
  return { ...checkRow, code: code ?? -1 };
}

/** The statements in a remedy. */
function statements(remedy: string | undefined): readonly string[] {
  return [...(remedy ?? '').matchAll(/`((?:set search_path|begin|grant|alter) [^`]+)`/g)].map(
    ([, statement = '']) => statement,
  );
}

/** Runs the first statement of a remedy as the administrator. */
async function follow(remedy: string | undefined): Promise<void> {
  const [statement] = statements(remedy);
  if (statement === undefined) throw new Error(`no statement in: ${String(remedy)}`);
  await world.query(statement);
}

beforeAll(async () => {
  world = await RolesWorld.open();
  name = new URL(world.database.url).pathname.slice(1);
  writer = `${world.prefix}_writer`;
  await world.succeeds('writer', ['run', '--stop-at', 'end', '--http-port', '0']);
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

describe('second stream without advisory locks', () => {
  it('makes check and run report the missing grant, and runs after that grant', async () => {
    const role = `${world.prefix}_second`;
    await world.query(`create role ${role} login password 'secret'; grant create on database ${name} to ${role}`);
    const url = Object.assign(new URL(world.database.url), { username: role, password: 'secret' }).href;
    const env = { DATABASE_URL: url, POSTGRES_SCHEMA: 'desk', POSTGRES_MIGRATE: 'auto' };
    const line = await check('rights to write', env);
    expect(line).toMatchObject({ code: 1, state: 'fail' });
    expect(line.found).toContain('it lacks execute on pg_try_advisory_lock(integer, integer)');
    await using indexer = await runIndexer({ ...world.env('writer'), ...env, INDEXER_HTTP_PORT: '0' });
    const parkedStatus = await waitFor('it parks', async () => {
      const { state, lastError } = await indexer.status();
      return state === 'parked' ? (lastError as Problem) : undefined;
    });
    expect(parkedStatus.code).toBe('STORE_NOT_PERMITTED');
    expect(indexer.log.join('')).toContain(
      'grant execute on function pg_catalog.pg_try_advisory_lock(integer, integer)',
    );
    await follow(line.fix);
    await world.succeeds('writer', ['run', '--stop-at', 'end', '--http-port', '0'], env);
    expect(await check('rights to write', env)).toMatchObject({ code: 0, state: 'pass' });
    await world.query(`drop owned by ${role}`);
  });
});

describe('writer role of grant-roles', () => {
  it('makes check report the missing grant if the role may not use advisory locks', async () => {
    await world.query(`revoke execute on function pg_catalog.pg_try_advisory_lock(integer, integer) from ${writer}`);
    const line = await check('rights to write');
    expect(line).toMatchObject({ code: 1, state: 'fail' });
    await follow(line.fix);
    expect(await check('rights to write')).toMatchObject({ code: 0, state: 'pass' });
  });

  it.each([
    ['the role', () => `alter role ${writer} set`, () => `role "${writer}"`],
    ['the role in the database', () => `alter role ${writer} in database ${name} set`, () => `in database "${name}"`],
    ['the database', () => `alter database ${name} set`, () => `database "${name}"`],
  ])('makes check and run report a read-only setting of %s, with the fix', async (_of, set, found) => {
    await world.query(`${set()} default_transaction_read_only = on`);
    const line = await check('rights to write');
    expect(line).toMatchObject({ code: 1, state: 'fail' });
    expect(line.found).toContain('this is the primary server');
    expect(line.found).toContain(found());
    await using indexer = await runIndexer({ ...world.env('writer'), INDEXER_HTTP_PORT: '0' });
    await waitFor('it says why it does not write', () =>
      indexer.log.find(
        (text) => text.includes('STORE_READ_ONLY') && text.includes('reset default_transaction_read_only'),
      ),
    );
    await follow(line.fix);
    await waitFor('it continues', async () => ((await indexer.status()).state === 'live' ? true : undefined));
  });

  it.each(['webhook_secrets', 'jobs', 'contracts'])(
    'makes check report a missing select right on %s',
    async (table) => {
      await world.query(`revoke select on ledger.${table} from ${writer}`);
      const line = await check('rights to write');
      expect(line).toMatchObject({ code: 1, state: 'fail' });
      // Without the right on contracts, triggers of other tables fail too.
      expect(line.found).toMatch(new RegExp(`^role "${writer}" lacks select on ${table}(?:;|$)`));
      await follow(line.fix);
      expect(await check('rights to write')).toMatchObject({ code: 0, state: 'pass' });
    },
  );

  it('can replace the filter of a stream only before the stream has history', async () => {
    const schema = 'early';
    const env = { POSTGRES_SCHEMA: schema };
    const prefix = `${world.prefix}_early`;
    await world.succeeds('administrator', ['migrate'], env);
    await world.succeeds('administrator', ['grant-roles', '--prefix', prefix, '--password-dir', world.folder], env);
    const url = Object.assign(new URL(world.url('writer')), { username: `${prefix}_writer` }).href;
    const earlyEnv = { ...env, DATABASE_URL: url };
    const typo = {
      ...earlyEnv,
      LEDGER_TEMPLATES: '#splice-amulet:Splice.Amulet:Amulett',
      LEDGER_INTERFACES: '',
      INDEXER_START: 'seed',
    };
    {
      await using indexer = await runIndexer({ ...world.env('writer'), ...typo, INDEXER_HTTP_PORT: '0' });
      await waitFor('it parks', async () => ((await indexer.status()).state === 'parked' ? true : undefined));
    }
    await world.succeeds('writer', ['run', '--stop-at', 'end', '--http-port', '0'], earlyEnv);
    const forgedSql = `update ${schema}.stream set seeded_at = null, checkpoint = null, seed_contracts = 0, filter_hash = 'x'`;
    await expect(query(url, forgedSql)).rejects.toThrow(/only the owner of the tables may change the filter/);
  });

  it('can prune for INDEXER_RETENTION only after the grant that check, log and /status report', async () => {
    const env = { INDEXER_RETENTION: '30m', INDEXER_RETENTION_INTERVAL: '1s' };
    const line = await check('rights to prune', env);
    const grant = `grant "${world.prefix}_redactor" to "${writer}"`;
    expect(line).toMatchObject({ code: 1, state: 'fail' });
    expect(statements(line.fix)).toEqual([grant]);
    await using indexer = await world.live('writer', env);
    const refusalLine = await waitFor('it is refused', async () => {
      const retention = (await indexer.status()).retention as { readonly problem: Problem | null } | null;
      return retention?.problem ?? undefined;
    });
    expect(refusalLine).toMatchObject({
      code: 'STORE_NOT_PERMITTED',
      remedy: expect.stringContaining(grant) as string,
    });
    expect(indexer.log.find((text) => text.includes('old history could not be pruned'))).toContain(
      JSON.stringify(grant).slice(1, -1),
    );
    await follow(line.fix);
    await waitFor('history is pruned', async () => {
      const [row] = await query(world.database.url, 'select pruned_to_offset::int as kept from ledger.stream');
      return row?.['kept'] === null ? undefined : true;
    });
    await waitFor('the problem is resolved', async () =>
      ((await indexer.status()).retention as { readonly problem: unknown }).problem === null ? true : undefined,
    );
    expect(await check('rights to prune', env)).toMatchObject({ code: 0, state: 'pass' });
  });
});
