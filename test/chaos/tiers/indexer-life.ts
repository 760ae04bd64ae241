/**
 * An indexer that runs inside this process. It starts as the program starts it, and ends when an operator stops it or
 * when a crash is simulated.
 */
import { openAccess } from '../../../src/ledger/open-access.ts';
import { loadConfig, type Config } from '../../../src/config/config.ts';
import { startIndexer, type Indexer } from '../../../src/indexer/indexer.ts';
import { createLogger } from '../../../src/observe/log/logger.ts';
import { WireProxy, type Tap } from '../faults/wire-proxy.ts';

const keptLines = 400;
/** This is shorter than the time for which the ledger of the suite stops sending. */
const idleProbeAfterMs = 25;

export interface LifeOptions {
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Callbacks of the proxies; without them the indexer connects directly. */
  readonly taps?: { readonly postgres: Tap; readonly ledger: Tap };
}

export interface IndexerLife {
  /** The newest log lines of the indexer. */
  readonly log: readonly string[];
  /** Reason why the indexer ended without a stop; undefined while it runs, and after a stop. */
  ended(): string | undefined;
  /** Whether the indexer is parked. */
  parked(): boolean;
  /** Stops the indexer as an operator would. */
  stop(): Promise<void>;
  /** Simulates a crash: resets its connections and refuses new ones. `swept` cleans up the rest. */
  drop(): void;
  readonly swept: () => Promise<void>;
  readonly proxies: { readonly postgres: WireProxy; readonly ledger: WireProxy } | undefined;
}

/** Configuration shared by all indexers of the suite. */
export const defaults: Readonly<Record<string, string>> = {
  INDEXER_HTTP_PORT: '0',
  INDEXER_RETRY_MAX_DELAY: '10ms',
  INDEXER_PING_INTERVAL: '100ms',
  INDEXER_STOP_TIMEOUT: '5s',
  INDEXER_BATCH_UPDATES: '5',
  POSTGRES_MIGRATE: 'never',
  // This is needed only to let a stream report an expired token.
  LEDGER_TOKEN: 'chaos-token',
};

/** Starts an indexer. */
export async function startLife(options: LifeOptions): Promise<IndexerLife> {
  const proxies = options.taps === undefined ? undefined : await startProxies(options, options.taps);
  const ledgerUrl = proxies?.ledger.before(options.ledgerUrl) ?? options.ledgerUrl;
  const databaseUrl = proxies?.postgres.before(options.databaseUrl) ?? options.databaseUrl;
  const log: string[] = [];
  const keep = (line: string): boolean => {
    if (log.push(line) > keptLines) log.shift();
    return true;
  };
  const env = { ...defaults, LEDGER_URL: ledgerUrl, DATABASE_URL: databaseUrl, ...options.env };
  const config = withShortDelays(loadConfig(env));
  const logging = createLogger({ level: 'info', format: 'json', stream: { write: keep } });
  const access = await openAccess(config.ledger, new AbortController().signal);
  const indexer = await startIndexer({ config, access, ledgerUrl, databaseUrl, version: 'chaos', logging });
  return lifeOf(indexer, log, proxies);
}

/** Shorter limits than an operator can set, because the suite waits for many of them. */
function withShortDelays(config: Config): Config {
  return { ...config, indexer: { ...config.indexer, idleProbeAfterMs } };
}

/** Starts the proxies between an indexer and both servers. */
export async function startProxies(
  { ledgerUrl, databaseUrl }: Pick<LifeOptions, 'ledgerUrl' | 'databaseUrl'>,
  wireTaps: { readonly postgres: Tap; readonly ledger: Tap },
): Promise<{ readonly postgres: WireProxy; readonly ledger: WireProxy }> {
  const endpointOf = (url: string): { host: string; port: number } => {
    const { hostname, port } = new URL(url);
    return { host: hostname, port: Number(port) };
  };
  const postgres = await WireProxy.start('postgres', endpointOf(databaseUrl));
  const ledger = await WireProxy.start('ledger', endpointOf(ledgerUrl));
  postgres.tap = wireTaps.postgres;
  ledger.tap = wireTaps.ledger;
  return { postgres, ledger };
}

function lifeOf(indexer: Indexer, log: readonly string[], proxies: IndexerLife['proxies']): IndexerLife {
  let endReason: string | undefined;
  let whenSwept: Promise<void> | undefined;
  indexer.done.then(
    () => (endReason = 'by itself'),
    (error: unknown) => (endReason = error instanceof Error ? error.message : 'for no reason'),
  );
  const sweep = async (): Promise<void> => {
    await indexer.stop();
    await proxies?.postgres[Symbol.asyncDispose]();
    await proxies?.ledger[Symbol.asyncDispose]();
  };
  return {
    log,
    proxies,
    ended: () => endReason,
    parked: () => {
      const last = log.findLast((line) => line.includes('"phase":'));
      return last?.includes('"phase":"parked"') === true;
    },
    stop: () => (whenSwept ??= sweep()),
    drop: () => {
      proxies?.postgres.sever();
      proxies?.ledger.sever();
      whenSwept ??= sweep();
      whenSwept.catch(() => undefined);
    },
    swept: async () => {
      await whenSwept;
    },
  };
}
