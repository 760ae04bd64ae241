/** The parts that run inside this process when no URL names real ones: Postgres and the sandbox ledger. */
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { startEmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import type { Logger } from '../observe/logger.ts';
import { startDemoLedger } from '../sandbox/demo-ledger.ts';

export interface Surroundings {
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  readonly embeddedLedger: boolean;
  readonly embeddedDatabase: boolean;
  /** Stops what was started here, the database last. */
  stop(): Promise<void>;
}

/** Starts what the configuration does not name. */
export async function startSurroundings(config: Config, logger: Logger): Promise<Surroundings> {
  const stops: (() => Promise<void>)[] = [];
  const { dataDir, demoSeed, demoUpdatesPerSecond } = config.indexer;
  let databaseUrl = config.database.url;
  if (databaseUrl === undefined) {
    const postgres = await startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres') });
    stops.push(() => postgres.stop());
    databaseUrl = postgres.url;
    const { port, version, reused } = postgres;
    logger.info({ port, version, reused }, 'embedded Postgres is up');
  }
  let ledgerUrl = config.ledger.url;
  if (ledgerUrl === undefined) {
    const ledger = await startDemoLedger({
      seed: demoSeed,
      updatesPerSecond: demoUpdatesPerSecond,
      journal: join(dataDir, `sandbox-${String(demoSeed)}.journal`),
    });
    stops.push(() => ledger.close());
    ledgerUrl = ledger.url;
    logger.info({ url: ledgerUrl, ledgerEnd: ledger.ledgerEnd() }, 'sandbox ledger is up');
  }
  return {
    ledgerUrl,
    databaseUrl,
    embeddedLedger: config.ledger.url === undefined,
    embeddedDatabase: config.database.url === undefined,
    stop: async () => {
      for (const stop of stops.toReversed()) await stop();
    },
  };
}
