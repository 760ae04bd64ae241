/** Says where to look once there is something to see: the stream is level with the ledger, and the first query answers. */
import { pause } from '../../config/pause.ts';
import type { Config } from '../../config/config.ts';
import type { Indexer } from '../../indexer/indexer.ts';
import type { Logging } from '../../observe/log/logger.ts';
import { openDatabase } from '../../store/connection/database.ts';
import { placeOf } from '../../store/connection/hosts.ts';
import type { EmbeddedParts } from './embedded-parts.ts';
import { firstQuery, greeting, greetingFacts, ownCommand } from './greeting.ts';
import { noteDemo } from './running-demo.ts';

const tryEveryMs = 200;
/** Views are made beside the stream, within seconds of its being level. */
const patienceMs = 120_000;

export interface Greeting {
  readonly config: Config;
  readonly embeddedParts: EmbeddedParts;
  readonly indexer: Indexer;
  readonly logging: Logging;
  /** Ends the waiting. */
  readonly over: AbortSignal;
}

/** Leaves a note for other commands, and greets when the time has come. Never rejects: the indexer runs without it. */
export async function greetWhenLive(run: Greeting): Promise<void> {
  const { indexer, embeddedParts, config, logging, over } = run;
  leaveNote(run, false);
  await indexer.live;
  if (over.aborted) return;
  const { schema } = config.database;
  const answered = !embeddedParts.embeddedLedger || (await untilItAnswers(run));
  if (over.aborted) return;
  leaveNote(run, true);
  const { httpUrl } = indexer;
  if (!answered) logging.logger.warn({ afterMs: patienceMs }, 'the first query of the greeting does not answer yet');
  if (logging.progress !== undefined) {
    process.stdout.write(greeting(embeddedParts, httpUrl, schema));
    return;
  }
  const again = embeddedParts.embeddedDatabase ? { again: `${ownCommand()} demo-info` } : {};
  logging.logger.info({ ...greetingFacts(embeddedParts, httpUrl, config), ...again }, 'level with the ledger');
}

function leaveNote({ config, embeddedParts, indexer }: Greeting, live: boolean): void {
  const { embeddedLedger, embeddedDatabase, ledgerUrl, databaseUrl } = embeddedParts;
  if (!embeddedLedger && !embeddedDatabase) return;
  noteDemo(config.indexer.dataDir, {
    pid: process.pid,
    httpUrl: indexer.httpUrl,
    ledgerUrl,
    database: placeOf(databaseUrl),
    schema: config.database.schema,
    embeddedLedger,
    embeddedDatabase,
    live,
  });
}

/** Whether the first query has answered with rows: what is promised was tried. */
async function untilItAnswers({ config, embeddedParts, over }: Greeting): Promise<boolean> {
  const { databaseUrl: url } = embeddedParts;
  const { schema, statementTimeoutMs } = config.database;
  const applicationName = 'ledger-indexer greeting';
  const database = openDatabase({ url, schema, statementTimeoutMs, applicationName, maxConnections: 1 });
  const query = firstQuery(schema, true);
  try {
    for (const end = performance.now() + patienceMs; performance.now() < end && !over.aborted;) {
      const rows = await database
        .withClient((client) => client.query(query))
        .then(
          ({ rowCount }) => rowCount ?? 0,
          () => 0,
        );
      if (rows > 0) return true;
      await pause(tryEveryMs, over);
    }
    return false;
  } finally {
    await database.close();
  }
}
