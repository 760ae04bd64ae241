/** `grant-roles`: creates roles for a stream, so that the indexer connects with the least rights that it needs. */
import { join } from 'node:path';
import { loadConfig } from '../../config/config.ts';
import type { LoginRole, RolePlan } from '../../store/roles/grant-roles.ts';
import { scramVerifier } from '../../store/roles/scram.ts';
import { readSmallFile, unreadableReason } from '../../config/small-file.ts';
import { dryRun, writeExitCodes, type Command, type PrintLine } from '../command-line/command.ts';
import { commandsOf } from '../command-line/least-roles.ts';
import { usageError } from '../command-line/refusals.ts';
import { shellQuote } from '../command-line/shell-word.ts';
import { withDatabase } from '../database/with-database.ts';
import { connections, connectionsOf, sharedDatabase } from './role-flags.ts';

const openOptions = {
  command: 'grant-roles',
  feature: 'grant-roles',
  remedy: 'set DATABASE_URL, as the administrator of the database',
  statementTimeoutMs: 60_000,
} as const;

export const grantRolesCommand: Command = {
  name: 'grant-roles',
  summary: 'create roles: owner, migrator, writer, redactor and reader',
  does: ['Each role has only the rights that it needs. Run it as the owner of the database.'],
  operands: [],
  flags: [
    { name: 'prefix', value: 'NAME', doc: 'prefix of the role names' },
    {
      name: 'password-dir',
      value: 'FOLDER',
      doc: 'folder with password files migrator, writer, redactor and reader',
    },
    connections,
    sharedDatabase,
    dryRun,
  ],
  examples: ['grant-roles --dry-run', 'grant-roles --prefix ledger --password-dir ./passwords'],
  exits: writeExitCodes,
  page: 'docs/how-to/secure/roles.md',
  /**
   * Prints the roles, or the SQL with `--dry-run`.
   * @throws IndexerError GRANT_ROLES_REFUSED, STORE_NOT_PERMITTED, USAGE
   */
  run: async ({ args, env, print }) => {
    const config = loadConfig(env, args.options);
    const { schema } = config.database;
    const prefix = args.text('prefix') ?? schema;
    if (!/^[a-z_][a-z0-9_]{0,53}$/.test(prefix) || prefix.startsWith('pg_')) {
      throw usageError(
        `"${prefix.slice(0, 80)}" is not a valid prefix of role names`,
        'use at most 54 characters a-z, 0-9 and _',
      );
    }
    const isDryRun = args.has('dry-run');
    const { grantRoles, loginRoles, planRoles } = await import('../../store/roles/grant-roles.ts');
    const passwords = await passwordsOf(loginRoles, args.text('password-dir'), isDryRun);
    const request = {
      prefix,
      passwords,
      sharedDatabase: args.has('shared-database'),
      connections: connectionsOf(args),
    };
    await withDatabase(config, openOptions, async (database) => {
      if (isDryRun) return printPlan(await planRoles(database, request), schema, print);
      const plan = await grantRoles(database, request);
      const { renewDerivedGrants } = await import('../../store/user-projections/grants.ts');
      await renewDerivedGrants(database);
      printRoles(plan, print);
    });
  },
};

const usage =
  'usage: ledger-indexer grant-roles [--prefix NAME] [--password-dir FOLDER] [--connections N] [--shared-database] [--dry-run]; ' +
  'the folder has files migrator, writer, redactor, reader';

function printPlan({ roles, statements }: RolePlan, schema: string, print: PrintLine): void {
  for (const line of ['begin', `set local search_path = "${schema}"`, ...statements, 'commit']) print(`${line};`);
  print(`-- then: ledger-indexer grant-reader ${roles.reader}`);
}

function printRoles({ roles, bypass: bypassRoles }: RolePlan, print: PrintLine): void {
  print(`${roles.owner} owns the schemas and cannot log in`);
  print(`${roles.migrator}: ledger-indexer ${commandsOf('migrator').join(', ')}`);
  print(`${roles.writer}: ledger-indexer run, with POSTGRES_MIGRATE=never`);
  print(`${roles.redactor}: ledger-indexer ${commandsOf('redactor').join(', ')}`);
  print(`${roles.reader}: queries and dashboards`);
  if (!bypassRoles)
    print('this role may not grant BYPASSRLS: readers limited to parties are impossible with this writer');
}

async function passwordsOf(
  loginRoles: readonly LoginRole[],
  folder: string | undefined,
  isHidden: boolean,
): Promise<Readonly<Partial<Record<LoginRole, string>>>> {
  const passwords: Partial<Record<LoginRole, string>> = {};
  if (folder === undefined) return passwords;
  for (const role of loginRoles) {
    const password = await passwordIn(join(folder, role));
    if (password !== undefined) passwords[role] = isHidden ? '…' : scramVerifier(password);
  }
  if (Object.keys(passwords).length === 0) {
    throw usageError(
      `${folder.slice(0, 200)} has none of the files ${loginRoles.join(', ')}, each with a password`,
      `create them first: (umask 077; mkdir -p ${shellQuote(folder)}; for role in ${loginRoles.join(' ')}; do openssl rand -hex 24 > ${shellQuote(folder)}/$role; done)`,
    );
  }
  return passwords;
}

/** The password in the file; undefined if there is no such file. */
async function passwordIn(file: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readSmallFile(file);
  } catch (cause) {
    const reason = unreadableReason(cause);
    if (reason === 'ENOENT') return undefined;
    throw usageError(`the password file ${file} cannot be read: ${reason}`, usage);
  }
  const password = text.replace(/\r?\n$/, '');
  if (password === '') throw usageError(`the password file ${file} is empty`, usage);
  return password;
}
