/** The parts that run inside this process when no URL names real ones: Postgres and the sandbox ledger. */
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
import { journalOf, prepareDataDir, takeDataDir } from './data-dir.ts';
import { demoPort, firstPorts, keepPort } from './demo-ports.ts';
import { asWriter, openStream, writerName } from '../database/maintenance.ts';
import { anyParticipant } from '../maintain/reset.ts';
import { demoRunning } from './running-demo.ts';

const portAttempts = 5;

export interface EmbeddedParts {
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  readonly embeddedLedger: boolean;
  readonly embeddedDatabase: boolean;
  /** Whether the embedded ledger still has its history from the first offset on. */
  readonly wholeHistory: boolean;
  /** Stops what was started here, the database last. */
  stop(): Promise<void>;
}

/**
 * Starts what the configuration does not name.
 * @throws IndexerError DATA_DIR_UNUSABLE; DATA_DIR_TAKEN by another demo or by a participant; DEMO_RUNNING when another
 * process has the demo's data in use; what the embedded server throws. What was started by then is stopped
 */
export async function startEmbeddedParts(config: Config, logger: Logger): Promise<EmbeddedParts> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const one of stops.toReversed()) await one();
  };
  try {
    return { ...(await start(config, logger, stops)), stop };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

/** @param stops told of what was started, the database first */
async function start(
  config: Config,
  logger: Logger,
  stops: (() => Promise<void>)[],
): Promise<Omit<EmbeddedParts, 'stop'>> {
  const { dataDir } = config.indexer;
  if (config.database.url === undefined || config.ledger.url === undefined) prepareDataDir(dataDir);
  let databaseUrl = config.database.url;
  if (databaseUrl === undefined) {
    const ledgerUrl = config.ledger.url;
    const former = takeDataDir(dataDir, ledgerUrl === undefined ? { seed: config.indexer.demoSeed } : { ledgerUrl });
    if (former !== undefined) warnOfParticipant(dataDir, former, logger);
    const port = (): Promise<number> => demoPort({ dataDir, logger }, 'postgres', firstPorts.postgres);
    const { startEmbeddedPostgres } = await embeddedPostgres();
    const postgres = await startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), port });
    stops.push(() => postgres.stop());
    // Its own ledger would write what it does into the journal of the one that runs: neither could be played again.
    if (postgres.shared && config.ledger.url === undefined) throw demoRunning(dataDir);
    databaseUrl = postgres.url;
    const { port: postgresPort, version, reused } = postgres;
    keepPort(dataDir, 'postgres', postgresPort);
    logger.info({ port: postgresPort, version, reused }, 'embedded Postgres is up');
  }
  let ledgerUrl = config.ledger.url;
  let wholeHistory = false;
  if (ledgerUrl === undefined) {
    const ledger = await startDemo(config, databaseUrl, logger);
    stops.push(() => ledger.close());
    ledgerUrl = ledger.url;
    keepPort(dataDir, 'ledger', Number(new URL(ledgerUrl).port));
    wholeHistory = ledger.prunedTo() === 0;
    logger.info({ url: ledgerUrl, ledgerEnd: ledger.ledgerEnd() }, 'sandbox ledger is up');
  }
  return {
    ledgerUrl,
    databaseUrl,
    wholeHistory,
    embeddedLedger: config.ledger.url === undefined,
    embeddedDatabase: config.database.url === undefined,
  };
}

/** A participant may have got another address; only its history tells, and parks the indexer if it is another one. */
function warnOfParticipant(dataDir: string, former: string, logger: Logger): void {
  const remedy =
    'nothing if this is the same participant; for another one set DATABASE_URL, or INDEXER_DATA_DIR to another folder, or set ' +
    `LEDGER_URL back to ${former}`;
  const folder = resolve(dataDir);
  logger.warn(
    { folder, remedy },
    `the folder holds the history of the participant at ${former}, and LEDGER_URL names another address`,
  );
}

/** The sandbox of this configuration, as it was when it stopped the last time. */
async function startDemo(config: Config, databaseUrl: string, logger: Logger): Promise<DemoLedger> {
  const { dataDir, demoSeed: seed, demoUpdatesPerSecond, demoSpeed, demoMaxUpdates, demoChaos } = config.indexer;
  const { schema } = config.database;
  // Only a demo pays for building its packages.
  const { demoParticipantId, isOver, startDemoLedger } = await demoLedger();
  const journal = journalOf(dataDir, seed);
  // Only where the database is the demo's own: nobody else's is emptied.
  if (config.database.url === undefined && isOver(journal)) {
    const emptied = await beginAnew(config, databaseUrl, { journal, participantId: demoParticipantId });
    if (emptied) logger.info('the demo is one of another version: it begins anew, with an empty database');
    else logger.warn({ schema }, 'the demo begins anew; the schema stays as it is: it is not of the demo');
  }
  const slowDatabase = (ms: number): Promise<void> => holdUp(databaseUrl, schema, ms);
  const report = (trouble: string): void => logger.warn({ fault: trouble }, 'chaos: trouble on purpose');
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

/** A port that was free may be taken in between, by another demo that starts now: the next one is asked for. */
async function onFreePort<T>(port: () => Promise<number>, listen: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await listen(await port());
    } catch (thrown) {
      if (toIndexerError(thrown).code !== 'SANDBOX_LISTEN' || attempt === portAttempts) throw thrown;
    }
  }
}

/**
 * Forgets the demo: what it stored first, then its journal, so that a crash in between does it again. False when the
 * schema was left alone because another ledger was indexed into it, which may have pruned since what is stored here.
 */
async function beginAnew(
  config: Config,
  databaseUrl: string,
  { journal, participantId }: { readonly journal: string; readonly participantId: string },
): Promise<boolean> {
  const embedded = { ...config, database: { ...config.database, url: databaseUrl } };
  const database = await openStream(embedded, 'demo', config.database.schema);
  try {
    await migrate(database, { exerciseJson: config.indexer.exerciseJson });
    const ours = await asWriter(database, 'demo', async () => {
      const stream = await readStream(database);
      if (stream?.participantId !== participantId) return stream === undefined || stream.checkpoint === null;
      await emptyHistory(database, anyParticipant(config), writerName);
      return true;
    });
    await rm(journal);
    return ours;
  } finally {
    await database.close();
  }
}

/**
 * Makes a database slow on purpose: the table `stream` is held against writers, so that the checkpoint cannot move, and reads
 * go on. @param ms for so long, milliseconds
 * @throws IndexerError STORE_… when the database cannot be reached or has no such schema
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
