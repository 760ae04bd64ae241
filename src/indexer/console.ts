/** The query page of one process, and its database connections. */
import type { Config } from '../config/config.ts';
import type { IndexerError } from '../errors/indexer-error.ts';
import type { NodeRights } from '../model/push/node-rights.ts';
import type { ConsoleEndpoint } from '../observe/http/console-endpoint.ts';
import type { TokenCallers } from '../observe/http/token-callers.ts';
import type { Logging } from '../observe/log/logger.ts';
import type { ReadyQuery } from '../observe/page/console-messages.ts';
import { ConsolePage } from '../observe/page/console-page.ts';
import { readSchemas } from '../store/connection/read-schemas.ts';
import type { Database } from '../store/connection/database.ts';
import { openConsoleReads } from '../store/console/console-reads.ts';
import { openNodeReads, type NodeReads } from '../store/console/node-reads.ts';
import type { ReadCalls } from '../store/console/read-calls.ts';
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

/** Pools of the indexer's own login, for users of the participant. */
interface NodePools {
  readonly lookups: Database;
  readonly pages: Database;
}

export interface OpenConsole {
  readonly endpoint: ConsoleEndpoint;
  readonly close: () => Promise<void>;
}

/** Opens the query page; it connects at the first request. Undefined if the page is turned off. */
export function openConsole(input: ConsoleInput, callers: TokenCallers, pools: NodePools): OpenConsole | undefined {
  const {
    console,
    config,
    databaseUrl,
    logging: { logger },
  } = input;
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
  const nodeReads = readsForNode(input, statementTimeoutMs, pools);
  const withExplain = (callerReads: ReadCalls) => ({
    ...callerReads,
    explain: async (id: string): Promise<string> => [...console.explainedLines(await callerReads.explain(id))].join(''),
  });
  const { explore } = readSchemas(schema);
  const consoleGuide = { queries: console.queries, explore, maxSeconds: statementTimeoutMs / 1000 };
  const page = new ConsolePage({
    reads: withExplain(reads),
    readsOf: (caller) => withExplain('user' in caller ? readsOfUser(nodeReads, caller.rights) : reads.as(caller)),
    guide: consoleGuide,
    takesNodeTokens: nodeReads !== undefined,
  });
  const close = async (): Promise<void> => void (await Promise.all([reads.close(), nodeReads?.close()]));
  return { endpoint: { page, callers }, close };
}

function readsForNode(
  { config: { indexer, database }, databaseUrl: url }: ConsoleInput,
  statementTimeoutMs: number,
  { lookups: writer, pages }: NodePools,
): NodeReads | undefined {
  if (indexer.nodeAccess === undefined) return undefined;
  const { role: name, password } = indexer.nodeAccess;
  return openNodeReads({ url, schema: database.schema, login: { name, password }, statementTimeoutMs, writer, pages });
}

/** Callers are users only if tokens of the participant are accepted. */
function readsOfUser(nodeReads: NodeReads | undefined, rights: NodeRights): ReadCalls {
  if (nodeReads !== undefined) return nodeReads.of(rights);
  throw new TypeError('tokens of the participant are not accepted');
}
