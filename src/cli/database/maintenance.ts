/**
 * Functions that are shared by the commands that rewrite stored history: the writer lock, a long statement timeout, and
 * previews.
 */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { holderText } from '../../model/stream.ts';
import type { Database } from '../../store/connection/database.ts';
import { aligned, fixedWidthColumn, numbers } from '../command-line/aligned.ts';
import type { Feature } from '../command-line/least-roles.ts';
import { openFor, withDatabase } from './with-database.ts';

/** Name of this process in `stream.writer`. */
export const writerName = `${hostname()}:${String(process.pid)}`;

/** Lease of the writer lock of a command, milliseconds. It may be long, because no standby waits for a command. */
export const commandLeaseMs = 30_000;

/**
 * Statement timeout of commands that rewrite history, milliseconds. It is long, because rewriting a large history takes
 * long.
 */
const statementLimitMs = 24 * 60 * 60 * 1000;

const lockPollMs = 250;
const lockTries = 20;

const limits = {
  statementTimeoutMs: statementLimitMs,
  connections: 4,
} as const;

/**
 * Opens the database of the stream for `work`. The schema is migrated, and the statement timeout is long.
 * @throws IndexerError CONFIGURATION_INVALID
 */
export function withStream<T>(config: Config, feature: Feature, work: (database: Database) => Promise<T>): Promise<T> {
  const [command = feature] = feature.split(' ');
  return withDatabase(config, { command, feature, ...limits }, work);
}

/** A handle for a schema in the configured database, with a statement timeout that is long enough for large tables. */
export function openStream(config: Config, command: string, schema: string): Promise<Database> {
  return openFor(config, { command, schema, ...limits });
}

/**
 * Runs `work` while no other process can write. Waits for a parked indexer, which holds the lock for a short time every
 * minute.
 * @throws IndexerError WRITER_ACTIVE if an indexer keeps the lock
 */
export async function withWriterLock<T>(database: Database, command: string, work: () => Promise<T>): Promise<T> {
  const { WriterCandidate } = await import('../../store/lock/writer-lock.ts');
  const candidate = new WriterCandidate(database, commandLeaseMs);
  try {
    let lock = await candidate.tryLock();
    for (let attempt = 0; lock === undefined && attempt < lockTries; attempt += 1) {
      await sleep(lockPollMs);
      lock = await candidate.tryLock();
    }
    if (lock === undefined) throw await writerActive(database, command);
    return await Promise.race([work(), lock.lost]);
  } finally {
    await candidate.close();
  }
}

async function writerActive(database: Database, command: string): Promise<IndexerError> {
  const { writerLockHolder } = await import('../../store/connection/inspection.ts');
  const holder = await writerLockHolder(database);
  const holderNote = holder === undefined ? '' : `: the writer lock is held by ${holderText(holder)}`;
  return new IndexerError(`an indexer writes to schema "${database.schema}"${holderNote}`, {
    code: 'WRITER_ACTIVE',
    remedy: `stop all indexers of this schema that are not parked, including standbys, then run: ledger-indexer ${command}`,
  });
}

/** Aligned lines with the number of rows of each table. Tables without rows are omitted. */
export function countLines(counts: ReadonlyMap<string, number>): readonly string[] {
  const cells = [...counts].filter(([, rows]) => rows > 0).map(([name, rows]) => [name, String(rows)]);
  if (cells.length === 0) return ['  nothing'];
  return aligned(cells, { indent: 2, gap: 1, columns: [fixedWidthColumn(20), numbers(12)] });
}
