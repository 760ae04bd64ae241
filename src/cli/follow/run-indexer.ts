/** Indexes the ledger of LEDGER_URL into DATABASE_URL or an embedded Postgres. Without both, runs a demo. */
import { openAccess } from '../../ledger/open-access.ts';
import { describeConfig, loadConfig, type Config } from '../../config/config.ts';
import type { OptionFlags } from '../../config/option-sources.ts';
import { freePortFrom } from '../../observe/http/local-ports.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { startIndexer, type Indexer, type IndexerOptions } from '../../indexer/indexer.ts';
import type { ConsoleParts } from '../../indexer/console.ts';
import { createLogger, type Logging } from '../../observe/log/logger.ts';
import { assertPortFree } from '../../observe/http/http-server.ts';
import { version } from '../../version.ts';
import { assertDatabaseUnnamed, assertNoOtherName } from '../database/named-database.ts';
import { writeParticipantFile, prepareDataDir } from '../demo/data-dir.ts';
import { demoPort, keepPort } from '../demo/demo-ports.ts';
import { startEmbeddedParts, type EmbeddedParts } from '../demo/embedded-parts.ts';
import { printBannerWhenLive } from '../demo/print-banner.ts';
import { pageGuide, readyQueries } from '../demo/banner.ts';
import { explainedLines } from '../inspect/explained-lines.ts';
import { demoRunning, forgetDemo, runningDemo } from '../demo/running-demo.ts';

/**
 * Runs until `stop` is aborted (SIGTERM, SIGINT).
 * @param flags options of the command line
 * @throws IndexerError with its exit code
 */
export async function runIndexer(flags: OptionFlags, env: NodeJS.ProcessEnv, stop: AbortSignal): Promise<void> {
  const loadedConfig = withDemoDefaults(loadConfig(env, flags));
  assertDatabaseUnnamed(loadedConfig);
  assertNoOtherName(loadedConfig, env);
  const access = await openAccess(loadedConfig.ledger, stop);
  const { logLevel, logFormat: format } = loadedConfig.indexer;
  const logging = createLogger({ level: logLevel, format, stream: process.stdout });
  const { logger } = logging;
  logger.info({ version, node: process.version, schema: loadedConfig.database.schema }, 'ledger-indexer starts');
  const canMovePort = isEmbedded(loadedConfig) && !isConfigured('http-port', flags, env);
  const config = await withFreePort(loadedConfig, canMovePort, logging);
  const embeddedParts = await startEmbeddedParts(config, logger);
  try {
    const { ledgerUrl, databaseUrl } = embeddedParts;
    const statusPageGuide = pageGuide(embeddedParts, config);
    const console = consoleParts(embeddedParts, config);
    const options = { access, ledgerUrl, databaseUrl, version, logging, guide: statusPageGuide, console };
    const indexer = await startOnFreePort({ ...options, config: withHistory(config, embeddedParts) }, canMovePort);
    await waitForEnd({ config, embeddedParts, indexer, logging, stop });
  } finally {
    await embeddedParts.stop();
  }
  logger.info('stopped');
}

/** Line width in characters that a terminal displays without wrapping. */
const explainedWidth = 100;

type Embedded = Pick<EmbeddedParts, 'embeddedLedger' | 'embeddedDatabase'>;

/** The parts of a run that the query page needs. */
export function consoleParts({ embeddedLedger, embeddedDatabase }: Embedded, config: Config): ConsoleParts {
  const { traceUrlTemplate } = config.indexer;
  return {
    queries: readyQueries(config.database.schema, embeddedLedger),
    explainedLines: (explained) =>
      explainedLines(explained, { width: explainedWidth, coloured: false, traceUrlTemplate }),
    ownDatabase: embeddedDatabase,
  };
}

interface RunContext {
  readonly config: Config;
  readonly embeddedParts: EmbeddedParts;
  readonly indexer: Indexer;
  readonly logging: Logging;
  readonly stop: AbortSignal;
}

async function waitForEnd({ stop, ...run }: RunContext): Promise<void> {
  const { indexer, config, logging } = run;
  const endController = new AbortController();
  logging.logger.info(
    { http: indexer.httpUrl },
    'listening: / (status page) /query /status /readyz /livez /metrics /wait',
  );
  const { dataDir } = config.indexer;
  const { url } = config.ledger;
  const warn = (message: string) => (err: unknown) => {
    if (!endController.signal.aborted) logging.logger.warn({ err }, message);
  };
  // The participant is recorded only after the start. If it is the wrong participant, the indexer parks and the folder
  // is not changed.
  if (run.embeddedParts.embeddedDatabase && url !== undefined)
    indexer.live
      .then(() => writeParticipantFile(dataDir, url))
      .catch(warn('storing the participant address in the data folder failed'));
  // If printing the banner or writing the note fails, the indexer continues.
  printBannerWhenLive({ ...run, over: endController.signal }).catch(warn('printing the banner failed'));
  try {
    await Promise.race([indexer.done, waitForAbort(stop)]);
  } finally {
    endController.abort();
    forgetDemo(dataDir);
    await indexer.stop();
  }
}

/**
 * The configuration of a demo. Unless other interfaces are configured, it stores the interface views of the holdings
 * and transfers of the sandbox.
 */
function withDemoDefaults(config: Config): Config {
  if (config.ledger.url !== undefined || config.ledger.wantedInterfaces.length > 0) return config;
  return { ...config, ledger: { ...config.ledger, wantedInterfaces: ['tokens'] } };
}

/** A demo starts at the genesis, because active contracts alone would not contain the sandbox's month of history. */
function withHistory(config: Config, { hasCompleteHistory }: EmbeddedParts): Config {
  if (!hasCompleteHistory || config.indexer.start !== 'seed') return config;
  return { ...config, indexer: { ...config.indexer, start: 'genesis' } };
}

function isEmbedded({ ledger, database }: Config): boolean {
  return ledger.url === undefined || database.url === undefined;
}

function isConfigured(name: string, flags: OptionFlags, env: NodeJS.ProcessEnv): boolean {
  return describeConfig(env, flags).some((option) => option.name === name && option.origin !== 'default');
}

/**
 * Detects a port in use before anything starts. A demo uses its previous port or the next free port. If the port was
 * configured explicitly and is in use, this is an error.
 */
async function withFreePort(config: Config, canMovePort: boolean, { logger }: Logging): Promise<Config> {
  const { dataDir, httpHost, httpPort } = config.indexer;
  if (isEmbedded(config)) {
    prepareDataDir(dataDir);
    const demoNote = await runningDemo(dataDir);
    if (demoNote !== undefined) throw demoRunning(dataDir, demoNote);
  }
  if (canMovePort) return withPort(config, await demoPort({ dataDir, logger }, 'http', httpPort, httpHost));
  await assertPortFree(httpHost, httpPort);
  return config;
}

function withPort(config: Config, httpPort: number): Config {
  return { ...config, indexer: { ...config.indexer, httpPort } };
}

/** Another demo that starts at the same time may take a port that was free when it was checked. */
async function startOnFreePort(options: IndexerOptions, canMovePort: boolean): Promise<Indexer> {
  const { dataDir, httpHost } = options.config.indexer;
  let { httpPort } = options.config.indexer;
  for (;;) {
    try {
      const indexer = await startIndexer({ ...options, config: withPort(options.config, httpPort) });
      if (canMovePort) keepPort(dataDir, 'http', Number(new URL(indexer.httpUrl).port));
      return indexer;
    } catch (thrown) {
      const isPortTaken = thrown instanceof IndexerError && thrown.code === 'HTTP_PORT_TAKEN';
      if (!isPortTaken || !canMovePort) throw thrown;
      httpPort = await freePortFrom(httpPort + 1, httpHost);
    }
  }
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
}
