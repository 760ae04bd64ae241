/** `grant-reader ROLE`: makes a role that may read the schemas of the stream, all of it or as certain parties see it. */
import { readFile } from 'node:fs/promises';
import { loadConfig } from '../config/config.ts';
import { openDatabase } from '../store/database.ts';
import { assertMigrated } from '../store/migrations.ts';
import { grantReader, planReader } from '../store/readers/reader-role.ts';
import { scramVerifier } from '../store/readers/scram.ts';
import { misuse, noDatabase } from './refusals.ts';

interface Arguments {
  readonly role: string;
  readonly parties: readonly string[];
  readonly passwordFile: string | undefined;
  readonly dryRun: boolean;
  /** Options of the configuration. */
  readonly rest: readonly string[];
}

const usage = 'usage: ledger-indexer grant-reader ROLE [--party PARTY]... [--password-file FILE] [--dry-run]';

/** Says what was granted; with `--dry-run` the SQL instead. @throws IndexerError READER_REFUSED, STORE_NOT_PERMITTED, USAGE */
export async function grantReaderCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  write: (line: string) => void,
): Promise<void> {
  const given = parse(argv);
  const { url, schema } = loadConfig(given.rest, env).database;
  if (url === undefined) throw noDatabase('name the database, as the owner of the tables');
  const { role, parties, dryRun } = given;
  const password = given.passwordFile === undefined ? undefined : await passwordOf(given.passwordFile, dryRun);
  const options = { statementTimeoutMs: 60_000, applicationName: 'ledger-indexer grant-reader', maxConnections: 1 };
  const database = openDatabase({ url, schema, ...options });
  try {
    await assertMigrated(database);
    const reader = { role, parties, password };
    if (dryRun) {
      for (const statements of await planReader(database, reader)) {
        for (const line of ['begin', `set local search_path = "${schema}"`, ...statements, 'commit']) write(`${line};`);
      }
      if (parties.length > 0) write('-- then: security_invoker on every view, and select on them and on the tables');
      return;
    }
    await grantReader(database, reader);
    const what = parties.length === 0 ? 'everything' : `what ${parties.join(', ')} may see`;
    write(`role ${role} reads ${what} in schema ${schema} and the views beside it`);
  } finally {
    await database.close();
  }
}

function parse(argv: readonly string[]): Arguments {
  const parties: string[] = [];
  const rest: string[] = [];
  let [role, passwordFile, dryRun]: [string | undefined, string | undefined, boolean] = [undefined, undefined, false];
  for (let at = 0; at < argv.length; at += 1) {
    const [flag, inline] = split(argv[at] ?? '');
    const value = (): string => inline ?? argv[(at += 1)] ?? '';
    if (flag === '--party') parties.push(value());
    else if (flag === '--password-file') passwordFile = value();
    else if (flag === '--dry-run') dryRun = true;
    else if (role === undefined && !flag.startsWith('-')) role = flag;
    else rest.push(argv[at] ?? '');
  }
  if (role === undefined) throw misuse('grant-reader needs the name of a role', usage);
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(role) || role.startsWith('pg_') || role === 'public') {
    throw misuse(
      `"${role.slice(0, 80)}" is no name for a role`,
      'take lower-case letters, digits and underscores, at most 63',
    );
  }
  if (parties.some((party) => !/^[A-Za-z0-9:_ -]{1,255}$/.test(party))) {
    throw misuse('--party needs a party id, such as alice::1220ab…', usage);
  }
  return { role, parties, passwordFile, dryRun, rest };
}

function split(word: string): readonly [string, string | undefined] {
  const at = word.indexOf('=');
  return word.startsWith('--') && at > 0 ? [word.slice(0, at), word.slice(at + 1)] : [word, undefined];
}

async function passwordOf(file: string, hidden: boolean): Promise<string> {
  let password: string;
  try {
    password = (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (cause) {
    throw misuse(`the password file cannot be read: ${(cause as NodeJS.ErrnoException).code ?? 'unknown'}`, usage);
  }
  if (password === '') throw misuse('the password file is empty', usage);
  return hidden ? '…' : scramVerifier(password);
}
