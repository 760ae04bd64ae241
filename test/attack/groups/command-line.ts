/** Attacks on the command line: secrets in flags and in output, and statements that do more than read. */
import { verdict, type Attempt, type Group } from '../attempt.ts';
import type { World } from '../world/world.ts';

const secret = 'hunter2secret';

interface Row {
  readonly id: string;
  readonly what: string;
  readonly argv: readonly string[] | ((world: World) => readonly string[]);
  readonly env?: (world: World) => Readonly<Record<string, string>>;
  /** Whether the command must fail. If not, only its output is checked. */
  readonly fails?: boolean;
  /** Accepted exit codes of a failure; by default all except success and internal errors. */
  readonly codes?: readonly number[];
  /** Text that the output must not contain. */
  readonly without?: string;
}

const row = ({
  id,
  what: description,
  argv,
  env,
  codes,
  fails = true,
  without: forbiddenText = secret,
}: Row): Attempt => ({
  id: `command-${id}`,
  what: description,
  expected: fails ? 'a refusal, without the secret' : 'no secret in the output',
  run: async (world) => {
    const { code, stdout, stderr } = await world.command(typeof argv === 'function' ? argv(world) : argv, env?.(world));
    const isLeaked = (stdout + stderr).includes(forbiddenText);
    const isCode = codes === undefined ? code !== 0 && code !== 70 : codes.includes(Number(code));
    const isRefused = !fails || isCode;
    return verdict(
      isRefused && !isLeaked,
      `exit ${String(code)}${isLeaked ? ', and the secret is printed' : ''}: ${stderr.replaceAll(forbiddenText, '…')}`,
    );
  },
});

const query = (id: string, statement: string): Attempt =>
  row({
    id: `query-${id}`,
    what: `query: ${statement}`,
    argv: ['query', statement],
    env: (world) => ({ DATABASE_URL: world.urlOf('reader') }),
  });

const rows: readonly Row[] = [
  { id: 'token-flag', what: 'a token of the ledger as a flag', argv: ['check', '--ledger-token', secret] },
  {
    id: 'oauth-secret-flag',
    what: 'a client secret as a flag',
    argv: ['check', '--ledger-oauth-client-secret', secret],
  },
  {
    id: 'password-flag',
    what: 'a password in the flag --database-url',
    argv: ['migrate', '--database-url', `postgres://a:${secret}@127.0.0.1:9/x`],
    // The exit code must not be 69, because that would mean that the command tried to connect.
    codes: [2, 78],
  },
  {
    id: 'config',
    what: 'config with secrets in the environment',
    argv: ['config', '--json'],
    fails: false,
    env: () => ({ LEDGER_TOKEN: secret, DATABASE_URL: `postgres://a:${secret}@h/x` }),
  },
  {
    id: 'wrong-password',
    what: 'a wrong password',
    argv: ['status', '--sizes'],
    env: (world) => ({ DATABASE_URL: world.urlAs(world.superuser, secret) }),
  },
  {
    id: 'unreachable',
    what: 'a server that does not respond',
    argv: ['migrate'],
    env: () => ({ DATABASE_URL: `postgres://a:${secret}@127.0.0.1:9/x` }),
  },
  {
    id: 'password-in-query',
    what: 'a password as a parameter of the URL',
    argv: ['migrate'],
    env: () => ({ DATABASE_URL: `postgres://a@127.0.0.1:9/x?password=${secret}` }),
  },
  {
    id: 'malformed-url',
    what: 'a URL that cannot be read',
    argv: ['migrate'],
    env: () => ({ DATABASE_URL: `postgres:/a:${secret}@@h:x/y` }),
  },
  {
    id: 'webhook-password',
    what: 'a password in the address of a webhook',
    argv: ['webhook', 'add', 'x', '--url', `https://a:${secret}@receiver.example/x`, '--role', 'nobody_here'],
  },
  {
    id: 'schema-injection',
    what: 'SQL as the name of the schema',
    argv: ['status'],
    env: () => ({ POSTGRES_SCHEMA: 'ledger"; drop schema ledger cascade; --' }),
  },
  {
    id: 'prefix-injection',
    what: 'SQL as the prefix of roles',
    argv: ['grant-roles', '--prefix', 'x"; drop table ledger.stream; --', '--dry-run'],
    fails: false,
  },
  { id: 'role-injection', what: 'a role that is a superuser', argv: ({ superuser }) => ['grant-reader', superuser] },
  {
    id: 'reader-role-of-postgres',
    what: 'grant-reader for the role of postgres that reads everything',
    argv: ['grant-reader', 'pg_read_all_data'],
  },
  {
    id: 'token-for-role-of-postgres',
    what: 'a token for a role of postgres',
    argv: ['reader-token', 'create', '--role', 'pg_read_all_data'],
  },
  {
    id: 'insecure-ledger',
    what: 'a token over plain http to another machine',
    argv: ['ledger', 'end'],
    env: () => ({ LEDGER_URL: 'http://192.0.2.1:7575', LEDGER_TOKEN: secret }),
  },
  {
    id: 'file-as-token',
    what: 'a token file that is a folder',
    argv: ['ledger', 'end'],
    env: (world) => ({ LEDGER_URL: world.ledgerUrl, LEDGER_TOKEN_FILE: world.folder }),
  },
];

const statements: readonly (readonly [string, string])[] = [
  ['drop', 'drop table ledger.updates'],
  ['two', 'select 1; select 2'],
  ['meta-command', String.raw`\copy ledger.updates to '/tmp/x'`],
  ['program', `copy (select 1) to program 'id'`],
  ['do', 'do $$ begin end $$'],
  ['large-object', `select lo_from_bytea(0, 'x')`],
  ['advisory-lock', 'select pg_advisory_lock(1)'],
];

const otherAttempts: readonly Attempt[] = [
  ...(['writer', 'redactor', 'migrator'] as const).map((login): Attempt => ({
    id: `command-token-for-${login}`,
    what: `a token for the role of the ${login}`,
    expected: 'a refusal',
    run: async (world) => {
      const { code, stderr } = await world.command(['reader-token', 'create', '--role', world.role(login)]);
      return verdict(code !== 0 && code !== 70, `exit ${String(code)}: ${stderr}`);
    },
  })),
  {
    id: 'command-token-for-role-with-login',
    what: 'a token for a reader that logs in itself',
    expected: 'a refusal',
    run: async (world) => {
      const { code, stderr } = await world.command(['reader-token', 'create', '--role', world.role('limited')]);
      return verdict(code !== 0 && code !== 70, `exit ${String(code)}: ${stderr}`);
    },
  },
  {
    id: 'command-second-indexer-as-reader',
    what: 'an indexer that runs as a reader',
    expected: 'it ends or waits, and ingestion of the first one continues',
    run: async (world) => {
      const env = {
        LEDGER_URL: world.ledgerUrl,
        DATABASE_URL: world.urlOf('reader'),
        POSTGRES_MIGRATE: 'never',
        INDEXER_HTTP_PORT: '0',
        INDEXER_STOP_AT: 'end',
      };
      const { code, stdout, stderr } = await world.command([], env);
      return verdict(code !== 0 && code !== 70, `exit ${String(code)}: ${(stdout + stderr).slice(-200)}`);
    },
  },
];

export const commandLine: Group = {
  name: 'command-line',
  what: 'commands of the program',
  quick: false,
  attempts: [...rows.map(row), ...statements.map(([id, statement]) => query(id, statement)), ...otherAttempts],
};
