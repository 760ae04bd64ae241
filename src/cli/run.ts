/** `run` (the default): indexes the ledger of LEDGER_URL into DATABASE_URL; whichever is missing runs embedded. */
import { openAccess } from '../access.ts';
import { loadConfig, type Config } from '../config/config.ts';
import { startIndexer } from '../indexer.ts';
import { createLogger } from '../observe/logger.ts';
import { demoInterfaces } from '../sandbox/demo/names.ts';
import { version } from '../version.ts';
import { startSurroundings, type Surroundings } from './embedded-parts.ts';
import { greeting, pageGuide } from './greeting.ts';

/**
 * Runs until `stop` is aborted (SIGTERM, SIGINT).
 * @throws IndexerError with its exit code
 */
export async function runCommand(argv: readonly string[], env: NodeJS.ProcessEnv, stop: AbortSignal): Promise<void> {
  const config = forDemo(loadConfig(argv, env));
  const access = await openAccess(config.ledger, stop);
  const { logLevel: level, logFormat: format } = config.indexer;
  const logging = createLogger({ level, format, stream: process.stdout });
  const { logger } = logging;
  logger.info({ version, node: process.version, schema: config.database.schema }, 'ledger-indexer starts');
  const surroundings = await startSurroundings(config, logger);
  try {
    const { ledgerUrl, databaseUrl } = surroundings;
    const guide = pageGuide(surroundings, config);
    const indexer = await startIndexer({
      config: withHistory(config, surroundings),
      access,
      ledgerUrl,
      databaseUrl,
      version,
      logging,
      guide,
    });
    greet(surroundings, indexer.httpUrl, config.database.schema, logging.progress !== undefined);
    logger.info({ http: indexer.httpUrl }, 'listening: / (the status page) /status /readyz /livez /metrics /wait');
    try {
      await Promise.race([indexer.done, aborted(stop)]);
    } finally {
      await indexer.stop();
    }
  } finally {
    await surroundings.stop();
  }
  logger.info('stopped');
}

/** The sandbox's holdings and transfers are worth seeing through their interfaces, unless other ones are asked for. */
function forDemo(config: Config): Config {
  if (config.ledger.url !== undefined || config.ledger.interfaces.length > 0) return config;
  return { ...config, ledger: { ...config.ledger, interfaces: demoInterfaces } };
}

/** The sandbox's month of history is worth having in full: active contracts alone would say nothing of it. */
function withHistory(config: Config, { wholeHistory }: Surroundings): Config {
  if (!wholeHistory || config.indexer.start !== 'seed') return config;
  return { ...config, indexer: { ...config.indexer, start: 'genesis' } };
}

function greet(surroundings: Surroundings, httpUrl: string, schema: string, terminal: boolean): void {
  if (terminal) process.stdout.write(greeting(surroundings, httpUrl, schema));
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      resolve();
    });
  });
}
