/** Starts the embedded servers. If no URL is set, Postgres and the sandbox ledger run in this process. */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { DemoLedger } from 'ledger-indexer-sandbox/demo/demo-ledger';
import type { Config } from '../../config/config.ts';
import { toIndexerError } from '../../errors/indexer-error.ts';
import type { Logger } from '../../observe/log/logger.ts';
import { demoLedger, embeddedPostgres } from './optional-parts.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { emptyHistory } from '../../store/history/reset.ts';
import { openDatabase } from '../../store/connection/database.ts';
import { migrate } from '../../store/schema/migrations.ts';
import { journalOf, prepareDataDir, claimDataDir } from './data-dir.ts';
import { demoPort, firstPorts, keepPort } from './demo-ports.ts';
import { withWriterLock, openStream, writerName } from '../database/maintenance.ts';
import { identityOfAnyParticipant } from '../maintain/reset.ts';
import { demoRunning } from './running-demo.ts';

const maxPortAttempts = 5;

export interface EmbeddedParts {
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  readonly embeddedLedger: boolean;
  readonly embeddedDatabase: boolean;
  /** Whether the embedded ledger still has its history from the first offset. */
  readonly hasCompleteHistory: boolean;
  /** Stops the embedded servers, the database last. */
  stop(): Promise<void>;
}

/**
 * Starts the servers for which no URL is configured. If one fails, stops those that were started.
 * @throws IndexerError DATA_DIR_UNUSABLE; DATA_DIR_TAKEN by another demo or participant; DEMO_RUNNING if another
 * process uses the data of the demo; errors of the embedded server
 */
export async function startEmbeddedParts(config: Config, logger: Logger): Promise<EmbeddedParts> {
  const stopFunctions: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const stopPart of stopFunctions.toReversed()) await stopPart();
  };
  try {
    return { ...(await start(config, logger, stopFunctions)), stop };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

/** @param stopFunctions receives the stop function of each started server, beginning with the database */
async function start(
  config: Config,
  logger: Logger,
  stopFunctions: (() => Promise<void>)[],
): Promise<Omit<EmbeddedParts, 'stop'>> {
  const { dataDir } = config.indexer;
  if (config.database.url === undefined || config.ledger.url === undefined) prepareDataDir(dataDir);
  let databaseUrl = config.database.url;
  if (databaseUrl === undefined) {
    const ledgerUrl = config.ledger.url;
    const previousParticipant = claimDataDir(
      dataDir,
      ledgerUrl === undefined ? { seed: config.indexer.demoSeed } : { ledgerUrl },
    );
    if (previousParticipant !== undefined) warnOfParticipant(dataDir, previousParticipant, logger);
    const port = (): Promise<number> => demoPort({ dataDir, logger }, 'postgres', firstPorts.postgres);
    const { startEmbeddedPostgres } = await embeddedPostgres();
    const postgres = await startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), port });
    stopFunctions.push(() => postgres.stop());
    // Two ledgers would write to the same journal, and neither history could be replayed.
    if (postgres.shared && config.ledger.url === undefined) throw demoRunning(dataDir);
    databaseUrl = postgres.url;
    const { port: postgresPort, version, reused } = postgres;
    keepPort(dataDir, 'postgres', postgresPort);
    logger.info({ port: postgresPort, version, reused }, 'embedded postgres started');
  }
  let ledgerUrl = config.ledger.url;
  let hasCompleteHistory = false;
  if (ledgerUrl === undefined) {
    const ledger = await startDemo(config, databaseUrl, logger);
    stopFunctions.push(() => ledger.close());
    ledgerUrl = ledger.url;
    keepPort(dataDir, 'ledger', Number(new URL(ledgerUrl).port));
    hasCompleteHistory = ledger.prunedTo() === 0;
    logger.info({ url: ledgerUrl, ledgerEnd: ledger.ledgerEnd() }, 'sandbox ledger started');
  }
  return {
    ledgerUrl,
    databaseUrl,
    hasCompleteHistory,
    embeddedLedger: config.ledger.url === undefined,
    embeddedDatabase: config.database.url === undefined,
  };
}

/**
 * Warns that the participant has a different address. A participant is identified only by its history. If the history
 * differs, the indexer parks.
 */
function warnOfParticipant(dataDir: string, previousParticipant: string, logger: Logger): void {
  const remedy =
    'no action needed if this is the same participant; for another participant set DATABASE_URL, or INDEXER_DATA_DIR to another folder, or set ' +
    `LEDGER_URL to ${previousParticipant}`;
  const folder = resolve(dataDir);
  logger.warn(
    { folder, remedy },
    `data folder holds the history of the participant at ${previousParticipant}, LEDGER_URL has another address`,
  );
}

/** Starts the sandbox of this configuration, in the state in which it was last stopped. */
async function startDemo(config: Config, databaseUrl: string, logger: Logger): Promise<DemoLedger> {
  const { dataDir, demoSeed: seed, demoUpdatesPerSecond, demoSpeed, demoMaxUpdates, demoChaos } = config.indexer;
  const { schema } = config.database;
  // This module is loaded only for a demo, because building its packages takes time.
  const { demoParticipantId, startsOver, startDemoLedger } = await demoLedger();
  const journal = journalOf(dataDir, seed);
  // Only the database of the demo itself is emptied.
  if (config.database.url === undefined && startsOver(journal)) {
    const wasEmptied = await resetDemo(config, databaseUrl, { journal, participantId: demoParticipantId });
    if (wasEmptied) logger.info('demo restarts with an empty database: its data is from another version');
    else logger.warn({ schema }, 'demo restarts; the schema is kept because it does not belong to the demo');
  }
  const slowDatabase = (ms: number): Promise<void> => holdUp(databaseUrl, schema, ms);
  const report = (fault: string): void => logger.warn({ fault: fault }, 'chaos: injected fault');
  const options = {
    seed,
    updatesPerSecond: demoUpdatesPerSecond * demoSpeed,
    journal,
    ...(demoMaxUpdates === undefined ? {} : { maxUpdates: demoMaxUpdates }),
    ...(demoChaos ? { chaos: { slowDatabase, report } } : {}),
  };
  return onFreePort(
    () => demoPort({ dataDir, logger }, 'ledger', firstPorts.ledger),
    (port) => startDemoLedger({ ...options, port }),
  );
}

/** Tries the next port if another demo, which starts at the same time, has taken the free port. */
async function onFreePort<T>(port: () => Promise<number>, listen: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await listen(await port());
    } catch (thrown) {
      if (toIndexerError(thrown).code !== 'SANDBOX_LISTEN' || attempt === maxPortAttempts) throw thrown;
    }
  }
}

/**
 * Deletes the demo. The stored rows are deleted before its journal, so that the deletion is repeated after a crash in
 * between. Returns false if the schema was kept because another ledger was indexed into it. That schema must not be
 * deleted, because the ledger may have pruned the stored history since.
 */
async function resetDemo(
  config: Config,
  databaseUrl: string,
  { journal, participantId }: { readonly journal: string; readonly participantId: string },
): Promise<boolean> {
  const embeddedConfig = { ...config, database: { ...config.database, url: databaseUrl } };
  const database = await openStream(embeddedConfig, 'demo', config.database.schema);
  try {
    await migrate(database, { exerciseJson: config.indexer.exerciseJson });
    const isOwnSchema = await withWriterLock(database, 'demo', async () => {
      const stream = await readStream(database);
      if (stream?.participantId !== participantId) return stream === undefined || stream.checkpoint === null;
      await emptyHistory(database, identityOfAnyParticipant(config), writerName);
      return true;
    });
    await rm(journal);
    return isOwnSchema;
  } finally {
    await database.close();
  }
}

/**
 * Slows down a database on purpose. It locks table `stream` against writers, so that the checkpoint cannot advance
 * while reads continue.
 * @param ms duration, milliseconds
 * @throws IndexerError STORE_… if the database cannot be reached or has no such schema
 */
async function holdUp(url: string, schema: string, ms: number): Promise<void> {
  const applicationName = 'ledger-indexer chaos';
  const database = openDatabase({ url, schema, statementTimeoutMs: ms + 30_000, applicationName });
  try {
    await database.transaction(async (client) => {
      await client.query('lock table stream in exclusive mode');
      await client.query('select pg_sleep($1)', [ms / 1000]);
    });
  } finally {
    await database.close();
  }
}
