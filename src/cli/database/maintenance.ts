/** What commands that rewrite stored history have in common: the right to write, a long limit, a word before they act. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, type Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { holderText, type LockHolder } from '../../model/lock-holder.ts';
import type { Database } from '../../store/connection/database.ts';
import { maintenanceLimitMs } from '../../store/history/maintenance.ts';
import { writerLockHolder } from '../../store/connection/inspection.ts';
import { WriterSeat } from '../../store/lock/writer-lock.ts';
import { parse, type Given } from '../command-line/parse.ts';
import { commandNamed } from '../table/command-table.ts';
import { openFor, withDatabase } from './with-database.ts';

/** Who wrote last, as in stream.writer. */
export const writerName = `${hostname()}:${String(process.pid)}`;

const amply = { statementTimeoutMs: maintenanceLimitMs, connections: 4 } as const;

/** Lease of the lock of a command, milliseconds: no standby waits for it, so it may hang for a while. */
export const commandLeaseMs = 30_000;

const lockPollMs = 250;
const lockTries = 20;

export interface MaintenanceArguments {
  readonly config: Config;
  /** `--yes`: do it instead of showing what would be done. */
  readonly yes: boolean;
  readonly given: Given;
}

/** What the command of this name was given. @throws IndexerError USAGE, CONFIGURATION_INVALID */
export function maintenanceArguments(
  name: string,
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): MaintenanceArguments {
  const given = parse(commandNamed(name), argv);
  return { config: loadConfig(given.options, env), yes: given.has('yes'), given };
}

const asOwner = 'name the database, as the owner of the tables';

/** Opens the database of the stream for `work`, migrated and with time enough. @throws IndexerError CONFIGURATION_INVALID */
export function withStream<T>(config: Config, command: string, work: (database: Database) => Promise<T>): Promise<T> {
  return withDatabase(config, { command, remedy: asOwner, ...amply }, work);
}

/** A handle of a schema in the database of the configuration, with time enough for large tables. */
export function openStream(config: Config, command: string, schema: string): Database {
  return openFor(config, { command, remedy: asOwner, schema, ...amply });
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
