/** Lets commands without a configured database use the demo that runs in the data folder. */
import { join } from 'node:path';
import type { OptionFlags } from '../../config/option-sources.ts';
import { options } from '../../config/option-table.ts';
import type { Option } from '../../config/option.ts';
import { runningServerUrl } from './optional-parts.ts';
import { databaseLabel } from '../../store/connection/hosts.ts';
import { readRunningDemoNote } from './running-demo.ts';

/**
 * Adds DATABASE_URL of the embedded server that runs in the data folder to the environment, unless a database is set.
 * If it is the database of a demo and no ledger is set, adds LEDGER_URL and LEDGER_INTERFACES of the demo's ledger as
 * well. Tokens and other credentials are then removed, because they belong to another ledger and the sandbox needs
 * none.
 */
export async function withDemoEnv(env: NodeJS.ProcessEnv, { values: flags }: OptionFlags): Promise<NodeJS.ProcessEnv> {
  const settingOf = (option: Option<unknown>): string | undefined => flags.get(option.name) ?? textOf(env, option.env);
  const isNamed = (option: Option<unknown>): boolean =>
    settingOf(option) !== undefined || (option.fileVariant && textOf(env, `${option.env}_FILE`) !== undefined);
  if (isNamed(options.database.url) && isNamed(options.ledger.url)) return env;
  const dataDir = settingOf(options.indexer.dataDir) ?? options.indexer.dataDir.fallback;
  const isExpected = readRunningDemoNote(dataDir)?.embeddedDatabase === true;
  const runningUrl = isNamed(options.database.url)
    ? undefined
    : await runningServerUrl(join(dataDir, 'postgres'), isExpected);
  const withDatabase = runningUrl === undefined ? env : { ...env, [options.database.url.env]: runningUrl };
  const note = isNamed(options.ledger.url) ? undefined : readRunningDemoNote(dataDir);
  const databaseUrl = runningUrl ?? settingOf(options.database.url);
  // The database in the environment belongs to a different ledger.
  if (note?.embeddedLedger !== true || databaseUrl === undefined || databaseLabel(databaseUrl) !== note.database) {
    return withDatabase;
  }
  if (access.some((option) => flags.has(option.name))) return withDatabase;
  const interfaces = isNamed(options.ledger.wantedInterfaces) ? {} : { LEDGER_INTERFACES: 'tokens' };
  return { ...withoutAccessOptions(withDatabase), LEDGER_URL: note.ledgerUrl, ...interfaces };
}

/** Variables with credentials for a ledger or for its token provider. */
const access: readonly Option<unknown>[] = [
  options.ledger.token,
  options.ledger.tokenFile,
  options.ledger.certFile,
  options.ledger.keyFile,
  ...Object.values(options.oauth),
];

function withoutAccessOptions(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = new Set(access.flatMap((option) => [option.env, `${option.env}_FILE`]));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.has(name)));
}

/** An empty variable is treated like an unset variable. */
function textOf(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const text = env[name]?.trim();
  return text === '' ? undefined : text;
}
