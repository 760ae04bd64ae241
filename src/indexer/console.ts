/** The query page of one process, and its database connections. */
import type { Config } from '../config/config.ts';
import type { IndexerError } from '../errors/indexer-error.ts';
import type { ConsoleEndpoint } from '../observe/http/console-endpoint.ts';
import type { ReaderTokens } from '../observe/http/reader-tokens.ts';
import type { Logging } from '../observe/log/logger.ts';
import type { ReadyQuery } from '../observe/page/console-messages.ts';
import { ConsolePage } from '../observe/page/console-page.ts';
import { readSchemas } from '../store/connection/read-schemas.ts';
import { openConsoleReads, type ReadCalls } from '../store/console/console-reads.ts';
import type { Explained } from '../store/reads/explain.ts';

/**
 * Statement timeout of the query page, unless POSTGRES_STATEMENT_TIMEOUT is shorter; a request has 75 s. Milliseconds.
 */
const consoleStatementMs = 30_000;

export interface ConsoleParts {
  readonly queries: readonly ReadyQuery[];
  /** Formats a query plan as the lines that `explain` prints. */
  readonly explainedLines: (explained: Explained) => Iterable<string>;
  /** Whether the database is our own, so that a read-only login may be created in it. */
  readonly ownDatabase: boolean;
}

interface ConsoleInput {
  readonly config: Config;
  readonly databaseUrl: string;
  /** Parts of the query page; without them there is no query page. */
  readonly console?: ConsoleParts;
  readonly logging: Pick<Logging, 'logger'>;
}

export interface OpenConsole {
  readonly endpoint: ConsoleEndpoint;
  readonly close: () => Promise<void>;
}

/** Opens the query page; it connects at the first request. Undefined if the page is turned off. */
export function openConsole(
  { console, config, databaseUrl, logging: { logger } }: ConsoleInput,
  tokens: ReaderTokens,
): OpenConsole | undefined {
  const { indexer, database } = config;
  if (console === undefined || !indexer.queryPage) return undefined;
  const { schema } = database;
  const { queryPageUrl, queryPageUrlFile } = indexer;
  const statementTimeoutMs = Math.min(consoleStatementMs, database.statementTimeoutMs);
  const login =
    queryPageUrl === undefined
      ? { url: databaseUrl, urlFile: database.urlFile, makeReader: console.ownDatabase }
      : { url: queryPageUrl, urlFile: queryPageUrlFile, makeReader: false };
  const onLoginRejected = (error: IndexerError): void => logger.warn({ err: error }, 'login of a token refused');
  const reads = openConsoleReads({ ...login, schema, statementTimeoutMs, onLoginRefused: onLoginRejected });
  const withExplain = (callerReads: ReadCalls) => ({
    ...callerReads,
    explain: async (id: string): Promise<string> => [...console.explainedLines(await callerReads.explain(id))].join(''),
  });
  const { explore } = readSchemas(schema);
  const consoleGuide = { queries: console.queries, explore, maxSeconds: statementTimeoutMs / 1000 };
  const page = new ConsolePage({
    reads: withExplain(reads),
    readsOf: (login) => withExplain(reads.as(login)),
    guide: consoleGuide,
  });
  return { endpoint: { page, tokens }, close: () => reads.close() };
}
