/** What commands that rewrite stored history have in common: the right to write, a long limit, a word before they act. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, type Config } from '../config/config.ts';
import { ExitCode, IndexerError } from '../errors.ts';
import { holderText, type LockHolder } from '../model/lock-holder.ts';
import { openDatabase, type Database } from '../store/database.ts';
import { maintenanceLimitMs } from '../store/history/maintenance.ts';
import { writerLockHolder } from '../store/inspection.ts';
import { assertMigrated } from '../store/migrations.ts';
import { WriterSeat } from '../store/writer-lock.ts';
import { noDatabase } from './refusals.ts';

/** Who wrote last, as in stream.writer. */
export const writerName = `${hostname()}:${String(process.pid)}`;

/** Lease of the lock of a command, milliseconds: no standby waits for it, so it may hang for a while. */
export const commandLeaseMs = 30_000;

const lockPollMs = 250;
const lockTries = 20;

export interface MaintenanceArguments {
  readonly config: Config;
  /** `--yes`: do it instead of showing what would be done. */
  readonly yes: boolean;
  /** The command's own flags that were given, without `--`. */
  readonly given: ReadonlyMap<string, string>;
}

/**
 * Splits the command's own flags from the options of the configuration.
 * @param flags its flags without a value, `valued` those with one
 */
export function maintenanceArguments(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  flags: readonly string[],
  valued: readonly string[] = [],
): MaintenanceArguments {
  const given = new Map<string, string>();
  const rest: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    const [name = '', inline] = word.startsWith('--') ? word.slice(2).split('=', 2) : [''];
    if (valued.includes(name)) given.set(name, inline ?? argv[(at += 1)] ?? '');
    else if (['yes', ...flags].includes(name) && inline === undefined) given.set(name, '');
    else rest.push(word);
  }
  return { config: loadConfig(rest, env), yes: given.has('yes'), given };
}

/** Opens the database of the stream for `work`, migrated and with time enough. @throws IndexerError CONFIGURATION_INVALID */
export async function withStream<T>(
  config: Config,
  command: string,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = openStream(config, command, config.database.schema);
  try {
    await assertMigrated(database);
    return await work(database);
  } finally {
    await database.close();
  }
}

/** A handle of a schema in the database of the configuration, with time enough for large tables. */
export function openStream(config: Config, command: string, schema: string): Database {
  const { url } = config.database;
  if (url === undefined) throw noDatabase('name the database, as the owner of the tables');
  const applicationName = `ledger-indexer ${command}`;
  return openDatabase({ url, schema, statementTimeoutMs: maintenanceLimitMs, applicationName });
}

/**
 * `work` while nobody else can write. A parked indexer has the lock for a moment every minute: that is waited for.
 * @throws IndexerError WRITER_ACTIVE when an indexer keeps the lock
 */
export async function asWriter<T>(database: Database, command: string, work: () => Promise<T>): Promise<T> {
  const seat = new WriterSeat(database, commandLeaseMs);
  try {
    let lock = await seat.tryLock();
    for (let tries = 0; lock === undefined && tries < lockTries; tries += 1) {
      await sleep(lockPollMs);
      lock = await seat.tryLock();
    }
    if (lock === undefined) throw writerActive(database.schema, command, await writerLockHolder(database));
    return await Promise.race([work(), lock.lost]);
  } finally {
    await seat.close();
  }
}

function writerActive(schema: string, command: string, holder: LockHolder | undefined): IndexerError {
  const held = holder === undefined ? '' : `: the right to write is held by ${holderText(holder)}`;
  return new IndexerError(`an indexer is at work on schema "${schema}"${held}`, {
    code: 'WRITER_ACTIVE',
    retry: 'fatal',
    exitCode: ExitCode.temporary,
    remedy: `stop every indexer of this schema that is not parked (standbys too), then run: ledger-indexer ${command}`,
  });
}

/** Row counts by table, aligned; tables without rows are left out. */
export function countLines(counts: ReadonlyMap<string, number>): readonly string[] {
  const lines = [...counts]
    .filter(([, rows]) => rows > 0)
    .map(([name, rows]) => `  ${name.padEnd(20)} ${String(rows).padStart(12)}`);
  return lines.length === 0 ? ['  nothing'] : lines;
}
