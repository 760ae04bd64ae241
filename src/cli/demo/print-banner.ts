/** Prints the startup banner when the stream has caught up with the ledger and the first query returns rows. */
import { pause } from '../../config/pause.ts';
import type { Config } from '../../config/config.ts';
import type { Indexer } from '../../indexer/indexer.ts';
import type { Logging } from '../../observe/log/logger.ts';
import { openDatabase } from '../../store/connection/database.ts';
import { databaseLabel } from '../../store/connection/hosts.ts';
import type { EmbeddedParts } from './embedded-parts.ts';
import { firstQuery, formatBanner, bannerFacts, ownCommand } from './banner.ts';
import { saveDemoNote } from './running-demo.ts';

const tryIntervalMs = 200;
/**
 * Time limit for the first query, milliseconds. Views are created in the background, within seconds after the stream
 * has caught up.
 */
const timeLimitMs = 120_000;

export interface BannerContext {
  readonly config: Config;
  readonly embeddedParts: EmbeddedParts;
  readonly indexer: Indexer;
  readonly logging: Logging;
  /** Aborted when the run ends. */
  readonly over: AbortSignal;
}

/**
 * Writes the note for other commands, and prints the banner when the demo is ready. Never rejects, because the indexer
 * does not depend on it.
 */
export async function printBannerWhenLive(run: BannerContext): Promise<void> {
  const { indexer, embeddedParts, config, logging, over } = run;
  writeDemoNote(run, false);
  await indexer.live;
  if (over.aborted) return;
  const { schema } = config.database;
  const isQueryReady = !embeddedParts.embeddedLedger || (await waitForResponse(run));
  if (over.aborted) return;
  writeDemoNote(run, true);
  const { httpUrl } = indexer;
  if (!isQueryReady) logging.logger.warn({ afterMs: timeLimitMs }, 'first query of the banner returns no rows yet');
  if (logging.progress !== undefined) {
    process.stdout.write(formatBanner(embeddedParts, httpUrl, schema));
    return;
  }
  const repeatCommand = embeddedParts.embeddedDatabase ? { again: `${ownCommand()} demo-info` } : {};
  logging.logger.info(
    { ...bannerFacts(embeddedParts, httpUrl, config), ...repeatCommand },
    'caught up with the ledger',
  );
}

function writeDemoNote({ config, embeddedParts, indexer }: BannerContext, isLive: boolean): void {
  const { embeddedLedger, embeddedDatabase, ledgerUrl, databaseUrl } = embeddedParts;
  if (!embeddedLedger && !embeddedDatabase) return;
  saveDemoNote(config.indexer.dataDir, {
    pid: process.pid,
    httpUrl: indexer.httpUrl,
    ledgerUrl,
    database: databaseLabel(databaseUrl),
    schema: config.database.schema,
    embeddedLedger,
    embeddedDatabase,
    live: isLive,
  });
}

/**
 * Waits until the first query returns rows, so that the banner contains only working queries. Resolves to false if the
 * query returns no rows in time.
 */
async function waitForResponse({ config, embeddedParts, over }: BannerContext): Promise<boolean> {
  const { databaseUrl: url } = embeddedParts;
  const { schema, statementTimeoutMs } = config.database;
  const applicationName = 'ledger-indexer greeting';
  const database = openDatabase({ url, schema, statementTimeoutMs, applicationName, maxConnections: 1 });
  const query = firstQuery(schema, true);
  try {
    for (const end = performance.now() + timeLimitMs; performance.now() < end && !over.aborted;) {
      const rows = await database
        .withClient((client) => client.query(query))
        .then(
          ({ rowCount }) => rowCount ?? 0,
          () => 0,
        );
      if (rows > 0) return true;
      await pause(tryIntervalMs, over);
    }
    return false;
  } finally {
    await database.close();
  }
}
