/** `grant-roles`: roles of its own for a stream, so that the indexer connects with no more rights than writing needs. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../config/config.ts';
import { scramVerifier } from '../../store/roles/scram.ts';
import { grantRoles, loginRoles, planRoles, type LoginRole, type RolePlan } from '../../store/roles/grant-roles.ts';
import { parse } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { commandNamed } from '../table/command-table.ts';
import { withDatabase } from '../database/with-database.ts';

const usage =
  'usage: ledger-indexer grant-roles [--prefix NAME] [--password-dir FOLDER] [--shared-database] [--dry-run]; ' +
  'the folder has files migrator, writer, redactor, reader';

/** Says which roles there are now; with `--dry-run` the SQL instead. @throws IndexerError ROLES_REFUSED, STORE_NOT_PERMITTED, USAGE */
export async function grantRolesCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  write: (line: string) => void,
): Promise<void> {
  const given = parse(commandNamed('grant-roles'), argv);
  const config = loadConfig(given.options, env);
  const { schema } = config.database;
  const prefix = given.text('prefix') ?? schema;
  if (!/^[a-z_][a-z0-9_]{0,53}$/.test(prefix) || prefix.startsWith('pg_')) {
    throw misuse(`"${prefix.slice(0, 80)}" cannot begin names of roles`, 'take at most 54 of a-z, 0-9 and _');
  }
  const dryRun = given.has('dry-run');
  const passwords = await passwordsOf(given.text('password-dir'), dryRun);
  const request = { prefix, passwords, sharedDatabase: given.has('shared-database') };
  const remedy = 'name the database, as its administrator';
  await withDatabase(config, { command: 'grant-roles', remedy, statementTimeoutMs: 60_000 }, async (database) => {
    if (dryRun) show(await planRoles(database, request), schema, write);
    else tell(await grantRoles(database, request), write);
  });
}

function show({ roles, statements }: RolePlan, schema: string, write: (line: string) => void): void {
  for (const line of ['begin', `set local search_path = "${schema}"`, ...statements, 'commit']) write(`${line};`);
  write(`-- then: ledger-indexer grant-reader ${roles.reader}`);
}

function tell({ roles, bypass }: RolePlan, write: (line: string) => void): void {
  write(`${roles.owner} owns the schemas and cannot log in`);
  write(
    `${roles.migrator}: ledger-indexer migrate, grant-roles, views, index, reset, reseed, accept-filter, quarantine`,
  );
  write(`${roles.writer}: ledger-indexer run, with POSTGRES_MIGRATE=never`);
  write(`${roles.redactor}: ledger-indexer redact, prune`);
  write(`${roles.reader}: queries and dashboards`);
  if (!bypass)
    write('you may not give BYPASSRLS: readers that are limited to parties are not to be had with this writer');
}

async function passwordsOf(
  folder: string | undefined,
  hidden: boolean,
): Promise<Readonly<Partial<Record<LoginRole, string>>>> {
  const passwords: Partial<Record<LoginRole, string>> = {};
  if (folder === undefined) return passwords;
  for (const role of loginRoles) {
    const password = await passwordIn(join(folder, role));
    if (password !== undefined) passwords[role] = hidden ? '…' : scramVerifier(password);
  }
  if (Object.keys(passwords).length === 0) throw misuse(`no file of a role is in the folder of passwords`, usage);
  return passwords;
}

/** Undefined when there is no such file. */
async function passwordIn(file: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw misuse(`a password file cannot be read: ${code}`, usage);
  }
  const password = text.replace(/\r?\n$/, '');
  if (password === '') throw misuse('a password file is empty', usage);
  return password;
}
