/** Checks of Postgres: its version and rights, the state of the schema, and the writer. */
import type { Config } from '../../config/config.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { holderText } from '../../model/stream.ts';
import {
  hasTables,
  inspectServer,
  lastWriter,
  noticeQueueUsage,
  writerLockHolder,
} from '../../store/connection/inspection.ts';
import { assertExerciseJson } from '../../store/schema/exercise-json.ts';
import { assertMigrated } from '../../store/schema/migrations.ts';
import { assertWritable, checkServer } from '../../store/connection/server-check.ts';
import { WriterCandidate } from '../../store/lock/writer-lock.ts';
import { refuseOtherStreams } from '../../store/roles/schema-owners.ts';
import { checkPruningRights, checkWriterRights, type WriterRightsResult } from '../../store/roles/writer-trial.ts';
import { formatBytes } from '../command-line/amounts.ts';
import { openFor } from '../database/with-database.ts';
import { checkConnectionLimits } from './connection-check.ts';
import { checkClock } from './ledger-checks.ts';
import { operationChecks } from './operation-checks.ts';
import { fail, pass, skip, type Check, type Finding, warn } from './outcome.ts';
import { readerChecks } from './reader-checks.ts';
import { checkPostgresVersion } from './release-checks.ts';
import { settingsChecks } from './settings-checks.ts';

/** A pool for the checks, which run concurrently. */
export function openCheckDatabase(config: Config, limitMs: number): Promise<Database> {
  return openFor(config, { command: 'check', statementTimeoutMs: limitMs, connections: 8 });
}

/** The checks in the order of the output. */
export function databaseChecks(database: Database, config: Config): readonly Check[] {
  const after = ['postgres'];
  return [
    {
      name: 'postgres',
      run: async () => {
        const { version, encoding, database: name, role } = await inspectServer(database);
        return pass(`version ${version}, database "${name}" stores ${encoding}, role "${role}"`);
      },
    },
    {
      name: 'postgres release',
      after,
      run: async () => checkPostgresVersion((await inspectServer(database)).version, Date.now()),
    },
    {
      name: 'postgres rights',
      after,
      run: async () => {
        await checkServer(database);
        return pass('version, encoding and rights of the role are sufficient');
      },
    },
    { name: 'pooler', after, run: () => checkPooler(database, config) },
    { name: 'connections', after, run: () => checkConnectionLimits(database, config) },
    { name: 'disk', after, run: () => disk(database) },
    { name: 'notices', after, run: () => notices(database, config) },
    { name: 'schema', after, run: () => schema(database, config) },
    { name: 'rights to write', after, run: () => reportWriterRights(database) },
    ...(config.indexer.retentionMs === undefined
      ? []
      : [{ name: 'rights to prune', after, run: () => reportPruningRights(database) }]),
    { name: 'writer', after, run: () => writer(database) },
    {
      name: 'postgres clock',
      after,
      run: async () => {
        const requestedAt = Date.now();
        return checkClock('Postgres', (await inspectServer(database)).clockMs, requestedAt, Date.now());
      },
    },
    ...operationChecks(database),
    ...readerChecks(database),
    ...settingsChecks(database),
  ];
}

async function checkPooler(database: Database, { indexer }: Config): Promise<Finding> {
  await new WriterCandidate(database, indexer.leaseMs).checkAddress();
  return pass('sessions are not shared: no pooler gives them to other clients');
}

async function disk(database: Database): Promise<Finding> {
  const { databaseBytes, schemaBytes } = await inspectServer(database);
  return pass(
    `the database takes ${formatBytes(databaseBytes)}, schema "${database.schema}" ${formatBytes(schemaBytes)} of it; ` +
      'Postgres does not report free space: monitor the volume',
  );
}

/**
 * Checks the notification queue. If a session listens and keeps a transaction open, all notifications of the server
 * stay in the queue. When the queue is full, NOTIFY fails.
 */
async function notices(database: Database, { indexer }: Config): Promise<Finding> {
  if (!indexer.notify) return skip('INDEXER_NOTIFY is false');
  const usage = await noticeQueueUsage(database);
  const message = `the notification queue of the server is ${(100 * usage).toFixed(0)} % full`;
  if (usage < queueUsageLimit) return pass(message);
  return warn(
    `${message}: at 100 % listeners receive nothing; ingestion is not affected`,
    'end the session that listens in an open transaction, which the Postgres log names from 50 %: run as an administrator ' +
      "`select pid, usename, application_name, xact_start from pg_stat_activity where state like 'idle in transaction%' order by " +
      'xact_start`, then `select pg_terminate_backend(PID)`',
  );
}

const queueUsageLimit = 0.5;

async function schema(database: Database, config: Config): Promise<Finding> {
  const auto = config.database.migrate === 'auto';
  const hasStoredTables = await hasTables(database);
  if (!hasStoredTables) await database.withClient((client) => refuseOtherStreams(client, database.schema));
  if (!hasStoredTables && auto)
    return pass(`"${database.schema}" does not exist yet: the indexer creates it at the start`);
  try {
    await assertMigrated(database);
    await assertExerciseJson(database, config.indexer.exerciseJson);
  } catch (thrown) {
    const error = toIndexerError(thrown);
    if (error.code !== 'SCHEMA_OUTDATED' || !auto) throw error;
    return pass(`${error.message}; the indexer applies them at the start (POSTGRES_MIGRATE=auto)`);
  }
  return pass(`"${database.schema}" matches this version`);
}

async function reportWriterRights(database: Database): Promise<Finding> {
  if (!(await hasTables(database))) {
    await assertWritable(database);
    return skip('nothing is stored yet: the role may take locks and write');
  }
  const { missing: missingRights, other } = await checkWriterRights(database);
  if (missingRights.length === 0) {
    await assertWritable(database);
    return pass('every right that writing needs was tested, without changing a row');
  }
  const { role } = await inspectServer(database);
  if (other !== undefined) {
    return fail(
      `role "${role}" ${excessRights[other]} (tested without changing a row), but lacks these rights of the writer: ${listRights(missingRights)}`,
      'run the indexer and `check` as the writer role of `ledger-indexer grant-roles`',
    );
  }
  return fail(
    `role "${role}" lacks ${listRights(missingRights)}`,
    'run `ledger-indexer grant-roles` as the owner of the tables, and connect as its writer role; or run ' +
      `\`set search_path to "${database.schema}"; grant ${missingRights[0] ?? ''} to "${role}"\`for each missing right`,
  );
}

const excessRights: Readonly<Record<NonNullable<WriterRightsResult['other']>, string>> = {
  redactor: 'has the rights of the redactor',
  reader: 'has the rights of a reader of everything',
};

async function reportPruningRights(database: Database): Promise<Finding> {
  if (!(await hasTables(database))) return skip('nothing is stored yet');
  const { missing: missingRights, remedy } = await checkPruningRights(database);
  if (missingRights.length === 0)
    return pass('every right that INDEXER_RETENTION needs was tested, without changing a row');
  const { role } = await inspectServer(database);
  return fail(
    `INDEXER_RETENTION is set, but role "${role}" may not prune: it lacks ${listRights(missingRights)}`,
    remedy,
  );
}

const maxListedRights = 5;

function listRights(rights: readonly string[]): string {
  const hiddenCount = rights.length - maxListedRights;
  return `${rights.slice(0, maxListedRights).join('; ')}${hiddenCount > 0 ? ` and ${String(hiddenCount)} more` : ''}`;
}

async function writer(database: Database): Promise<Finding> {
  const holder = await writerLockHolder(database);
  const last = (await hasTables(database)) ? await lastWriter(database) : undefined;
  const wrote = last === undefined ? '' : `; the last writer was ${last}`;
  if (holder === undefined) return pass(`no process holds the writer lock${wrote}`);
  return pass(`the writer lock is held by ${holderText(holder)}${wrote}; another indexer would be its standby`);
}
