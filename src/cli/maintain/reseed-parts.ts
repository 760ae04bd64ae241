/** The parts of the pipeline with which `reseed` reads the active contracts. */
import { openAccess } from '../../ledger/open-access.ts';
import type { Config } from '../../config/config.ts';
import { pipelineParts } from '../../indexer/parts.ts';
import { HealthTracker } from '../../observe/health/health-tracker.ts';
import { createObservers } from '../../observe/indexer-observer.ts';
import { createLogger } from '../../observe/log/logger.ts';
import { createMetrics } from '../../observe/metrics/metrics.ts';
import { Commits } from '../../pipeline/ports/commits.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import type { Database } from '../../store/connection/database.ts';
import { WriterCandidate } from '../../store/lock/writer-lock.ts';
import { version } from '../../version.ts';
import { configurationError } from '../command-line/refusals.ts';
import { commandLeaseMs } from '../database/maintenance.ts';

/** The parts that an indexer uses for its seed. @throws IndexerError CONFIGURATION_INVALID without a ledger */
export async function reseedParts(
  config: Config,
  database: Database,
  stop: AbortSignal,
): Promise<{ readonly parts: PipelineParts; readonly close: () => void }> {
  const { url: ledgerUrl } = config.ledger;
  const { url: databaseUrl, schema } = config.database;
  if (ledgerUrl === undefined || databaseUrl === undefined) {
    throw configurationError(
      'LEDGER_URL is not set',
      'set LEDGER_URL to the participant whose active contracts to read',
    );
  }
  const access = await openAccess(config.ledger, stop);
  const { logLevel, logFormat: format, stalledAfterMs } = config.indexer;
  const raisedLogLevel = logLevel === 'info' ? 'warn' : logLevel;
  const logging = createLogger({ level: raisedLogLevel, format, stream: process.stderr });
  const health = new HealthTracker({ version, schema, stalledAfterMs });
  const metrics = createMetrics({ version });
  const observers = createObservers({ logger: logging.logger, metrics, health });
  const options = { config, access, ledgerUrl, databaseUrl, version, logging };
  // `withWriterLock` takes the writer lock before anything is changed.
  const candidate = new WriterCandidate(database, commandLeaseMs);
  // The command ends after its seed, so it has no listeners.
  const parts = pipelineParts(options, { database, observers, commits: new Commits(), candidate, stop });
  return { parts, close: () => observers.close() };
}
