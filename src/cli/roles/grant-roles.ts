/** `grant-roles`: roles of its own for a stream, so that the indexer connects with no more rights than writing needs. */
import { join } from 'node:path';
import { loadConfig } from '../../config/config.ts';
import type { LoginRole, RolePlan } from '../../store/roles/grant-roles.ts';
import { scramVerifier } from '../../store/roles/scram.ts';
import { readSmallFile, whyUnreadable } from '../../config/small-file.ts';
import { dryRun, writing, type Command, type Print } from '../command-line/command.ts';
import { commandsOf } from '../command-line/least-roles.ts';
import { misuse } from '../command-line/refusals.ts';
import { inQuotes } from '../command-line/shell-word.ts';
import { withDatabase } from '../database/with-database.ts';
import { connections, connectionsOf, sharedDatabase } from './role-flags.ts';

const opening = {
  command: 'grant-roles',
  feature: 'grant-roles',
  remedy: 'name the database, as its administrator',
  statementTimeoutMs: 60_000,
} as const;

export const grantRolesCommand: Command = {
  name: 'grant-roles',
  summary: 'roles of its own for the stream: owner, migrator, writer, redactor, reader; --dry-run shows the SQL',
  does: ['Each has no more rights than its work needs. Run it as the owner of the database.'],
  operands: [],
  flags: [
    { name: 'prefix', value: 'NAME', doc: 'before the names of the roles' },
    {
      name: 'password-dir',
      value: 'FOLDER',
      doc: 'files migrator, writer, redactor, reader (without the prefix), with their passwords',
    },
    connections,
    sharedDatabase,
    dryRun,
  ],
  examples: ['grant-roles --dry-run', 'grant-roles --prefix ledger --password-dir ./passwords'],
  exits: writing,
  page: 'docs/how-to/secure/roles.md',
  /** Says which roles there are now; with `--dry-run` the SQL instead. @throws IndexerError GRANT_ROLES_REFUSED, STORE_NOT_PERMITTED, USAGE */
  run: async ({ given, env, print }) => {
    const config = loadConfig(env, given.options);
    const { schema } = config.database;
    const prefix = given.text('prefix') ?? schema;
    if (!/^[a-z_][a-z0-9_]{0,53}$/.test(prefix) || prefix.startsWith('pg_')) {
      throw misuse(`"${prefix.slice(0, 80)}" cannot begin names of roles`, 'take at most 54 of a-z, 0-9 and _');
    }
    const isDry = given.has('dry-run');
    const { grantRoles, loginRoles, planRoles } = await import('../../store/roles/grant-roles.ts');
    const passwords = await passwordsOf(loginRoles, given.text('password-dir'), isDry);
    const request = {
      prefix,
      passwords,
      sharedDatabase: given.has('shared-database'),
      connections: connectionsOf(given),
    };
    await withDatabase(config, opening, async (database) => {
      if (isDry) show(await planRoles(database, request), schema, print);
      else tell(await grantRoles(database, request), print);
    });
  },
};

const usage =
  'usage: ledger-indexer grant-roles [--prefix NAME] [--password-dir FOLDER] [--connections N] [--shared-database] [--dry-run]; ' +
  'the folder has files migrator, writer, redactor, reader';

function show({ roles, statements }: RolePlan, schema: string, print: Print): void {
  for (const line of ['begin', `set local search_path = "${schema}"`, ...statements, 'commit']) print(`${line};`);
  print(`-- then: ledger-indexer grant-reader ${roles.reader}`);
}

function tell({ roles, bypass }: RolePlan, print: Print): void {
  print(`${roles.owner} owns the schemas and cannot log in`);
  print(`${roles.migrator}: ledger-indexer ${commandsOf('migrator').join(', ')}`);
  print(`${roles.writer}: ledger-indexer run, with POSTGRES_MIGRATE=never`);
  print(`${roles.redactor}: ledger-indexer ${commandsOf('redactor').join(', ')}`);
  print(`${roles.reader}: queries and dashboards`);
  if (!bypass)
    print('you may not give BYPASSRLS: readers that are limited to parties are not to be had with this writer');
}

async function passwordsOf(
  loginRoles: readonly LoginRole[],
  folder: string | undefined,
  hidden: boolean,
): Promise<Readonly<Partial<Record<LoginRole, string>>>> {
  const passwords: Partial<Record<LoginRole, string>> = {};
  if (folder === undefined) return passwords;
  for (const role of loginRoles) {
    const password = await passwordIn(join(folder, role));
    if (password !== undefined) passwords[role] = hidden ? '…' : scramVerifier(password);
  }
  if (Object.keys(passwords).length === 0) {
    throw misuse(
      `${folder.slice(0, 200)} has none of the files ${loginRoles.join(', ')}, each with a password`,
      `make them first: (umask 077; mkdir -p ${inQuotes(folder)}; for role in ${loginRoles.join(' ')}; do openssl rand -hex 24 > ${inQuotes(folder)}/$role; done)`,
    );
  }
  return passwords;
}

/** Undefined when there is no such file. */
async function passwordIn(file: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readSmallFile(file);
  } catch (cause) {
    const why = whyUnreadable(cause);
    if (why === 'ENOENT') return undefined;
    throw misuse(`the password file ${file} cannot be read: ${why}`, usage);
  }
  const password = text.replace(/\r?\n$/, '');
  if (password === '') throw misuse(`the password file ${file} is empty`, usage);
  return password;
}
