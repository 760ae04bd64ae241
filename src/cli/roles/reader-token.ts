/**
 * `reader-token`: manages tokens of HTTP clients that use `/changes` and the query page without a database password.
 */
import { age } from '../../config/option.ts';
import { loadConfig } from '../../config/config.ts';
import type { Database } from '../../store/connection/database.ts';
import type { ListedToken } from '../../store/roles/reader-tokens.ts';
import { type Call, json, writeExitCodes, type Command } from '../command-line/command.ts';
import type { Feature } from '../command-line/least-roles.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';
import { sharedDatabase } from './role-flags.ts';

const usage = `ledger-indexer reader-token create --role ROLE [--name TEXT] [--expires 90d|DATE] [--shared-database]
  ledger-indexer reader-token list [--json]
  ledger-indexer reader-token revoke ID`;

export const readerTokenCommand: Command = {
  name: 'reader-token',
  usage: 'create --role ROLE [--name TEXT] [--expires 90d|DATE] [--shared-database] | list | revoke ID',
  summary: 'create, list or revoke tokens of HTTP clients (/changes, /query)',
  does: [
    'A client that sends the token as Authorization: Bearer reads as its role of grant-reader, from any machine.',
    'create prints the token once, on standard output. Each token has its own database login, which revoke drops.',
    'create, run by a superuser, also revokes advisory locks and large objects from reader logins of this database.',
  ],
  operands: [
    { name: 'ACTION', words: ['create', 'list', 'revoke'] },
    { name: 'ID', optional: true },
  ],
  flags: [
    { name: 'role', value: 'ROLE', doc: 'role of grant-reader that the token reads as' },
    { name: 'name', value: 'TEXT', doc: 'name of the holder, as list prints it' },
    { name: 'expires', value: 'WHEN', doc: 'expiry as an age such as 90d, or as a date' },
    sharedDatabase,
    json,
  ],
  examples: ['reader-token create --role alice_reader --name dashboard --expires 90d', 'reader-token revoke 5f0c2a1b'],
  exits: writeExitCodes,
  page: 'docs/how-to/secure/reader-tokens.md',
  /** @throws IndexerError USAGE, READER_TOKEN_REFUSED, READER_TOKEN_NOT_FOUND, STORE_NOT_PERMITTED */
  run: async ({ args, env, print, stderr }) => {
    const action = actionOf(args);
    const openOptions = { command: 'reader-token', feature: featureOf(args.operands[0]) };
    await withDatabase(loadConfig(env, args.options), openOptions, async (database) => {
      const { endExpiredLogins } = await import('../../store/roles/token-logins.ts');
      // The indexer often may not alter roles, but the user of this command may. For logins that stay, `valid until`
      // rejects new sessions.
      await endExpiredLogins(database).catch(() => undefined);
      await action(database, { print, stderr });
    });
  },
};

function featureOf(action: string | undefined): Feature {
  if (action === 'list') return 'reader-token list';
  return action === 'revoke' ? 'reader-token revoke' : 'reader-token create';
}

type Output = Pick<Call, 'print' | 'stderr'>;
type Action = (database: Database, output: Output) => Promise<void>;

function actionOf(args: Args): Action {
  const [action, id, ...extraArguments] = args.operands;
  if (extraArguments.length > 0) throw usageError('reader-token takes one id', usage);
  const createFlag = ['role', 'name', 'expires'].find((flag) => args.text(flag) !== undefined);
  if (action !== 'create' && createFlag !== undefined)
    throw usageError(`--${createFlag} is a flag of reader-token create`, usage);
  if (action !== 'create' && args.has('shared-database')) {
    throw usageError('--shared-database is a flag of reader-token create', usage);
  }
  if (action !== 'list' && args.has('json')) throw usageError('--json is a flag of reader-token list', usage);
  if (action === 'revoke') {
    if (id === undefined) throw usageError('reader-token revoke needs an id', usage);
    return (database, output) => revoke(database, id, output);
  }
  if (id !== undefined) throw usageError(`reader-token ${action ?? ''} takes no id`, usage);
  if (action === 'list') return (database, { print }) => list(database, args.has('json'), print);
  return creating(args);
}

function creating(args: Args): Action {
  const role = args.text('role');
  if (role === undefined) throw usageError('reader-token create needs --role', usage);
  const name = args.text('name') ?? null;
  if (name !== null && !/^[^\p{Cc}]{1,100}$/u.test(name)) throw usageError('--name takes 1 to 100 characters', usage);
  const expiresAt = expiryOf(args.text('expires'));
  const isShared = args.has('shared-database');
  return async (database, { print, stderr }) => {
    const { createToken } = await import('../../store/roles/reader-tokens.ts');
    const { id, token } = await createToken(database, { role, name, expiresAt, sharedDatabase: isShared });
    const endText = expiresAt === null ? 'until it is revoked' : `until ${expiresAt.toISOString()}`;
    // Printed to standard error, because standard output with the token may be redirected to a file.
    stderr.write(`token ${id} reads as ${role} ${endText}; it is printed only once\n`);
    print(token);
  };
}

/** Parses an age from now, or a date, which is in UTC unless it has a time zone. @throws IndexerError USAGE */
function expiryOf(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const parsed = age('1m', '5000w').parse(text);
  if ('value' in parsed) return new Date(Date.now() + parsed.value);
  const date = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d))?$/.test(text) ? new Date(text) : undefined;
  if (date === undefined || Number.isNaN(date.getTime())) {
    throw usageError('--expires takes an age such as 90d, or a date such as 2027-01-31 or 2027-01-31T12:00:00Z', usage);
  }
  if (date.getTime() <= Date.now()) throw usageError('--expires is in the past', usage);
  return date;
}

async function list(database: Database, asJson: boolean, print: Call['print']): Promise<void> {
  const { listTokens } = await import('../../store/roles/reader-tokens.ts');
  const tokens = await listTokens(database);
  if (!asJson && tokens.length === 0) print('there are no tokens');
  for (const token of tokens) print(asJson ? JSON.stringify(token) : lineOf(token));
}

function lineOf({ id, role, name, createdAt, expiresAt, state }: ListedToken): string {
  const endText = expiresAt === null ? 'no end' : `until ${expiresAt.toISOString()}`;
  return `${id}  ${state}  reads as ${role}  since ${createdAt.toISOString()}  ${endText}${name === null ? '' : `  ${name}`}`;
}

async function revoke(database: Database, id: string, { print }: Output): Promise<void> {
  const { revokeToken } = await import('../../store/roles/reader-tokens.ts');
  await revokeToken(database, id);
  print(`token ${id} is revoked; its open streams end within five seconds`);
}
