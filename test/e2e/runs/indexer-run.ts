/** The complete indexer inside the test process, configured with environment variables as an operator would. */
import type { ProjectionStatus } from '../../../src/observe/health/projection-health.ts';
import { openAccess } from '../../../src/ledger/open-access.ts';
import { pageGuide } from '../../../src/cli/demo/banner.ts';
import { consoleParts } from '../../../src/cli/follow/run-indexer.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { startIndexer } from '../../../src/indexer/indexer.ts';
import { createLogger } from '../../../src/observe/log/logger.ts';
import { quickPace } from '../../../src/testing/quick-pace.ts';
import { waitFor } from '../../support/wait-for.ts';

export interface IndexerRun extends AsyncDisposable {
  /** Base URL of its HTTP endpoints. */
  readonly httpUrl: string;
  /** Its JSON log lines so far. */
  readonly log: readonly string[];
  /** Number of log lines with this message. */
  logged(message: string): number;
  /** The body of `/status`. */
  status(): Promise<{
    readonly state: string;
    readonly checkpoint: number | null;
    readonly lastError: unknown;
    readonly completions: { readonly state: string; readonly reason: string; readonly checkpoint: number | null };
    readonly retention: unknown;
    readonly projections: readonly ProjectionStatus[];
    readonly outdatedOptions: readonly string[];
  }>;
  /** Value of a sample of `/metrics`, identified by name and labels as written there. */
  metric(sample: string): Promise<number>;
  /** Waits until the checkpoint is at least `offset`; fails at once if the indexer ends before that. */
  reaches(offset: number, limitMs?: number): Promise<void>;
  /** Waits until the checkpoint of completions is at least `offset`, if they are followed. */
  completionsReach(offset: number, limitMs?: number): Promise<void>;
}

/** Starts an indexer that polls more often than in production. Disposing stops it. */
export async function runIndexer(env: Readonly<Record<string, string>>): Promise<IndexerRun> {
  const config = loadConfig({ INDEXER_HTTP_PORT: '0', INDEXER_RETRY_MAX_DELAY: '200ms', ...env });
  const log: string[] = [];
  const logging = createLogger({
    level: config.indexer.logLevel,
    format: 'json',
    stream: { write: (line) => log.push(line) > 0 },
  });
  const stop = new AbortController();
  const access = await openAccess(config.ledger, stop.signal);
  const { LEDGER_URL: ledgerUrl = '', DATABASE_URL: databaseUrl = '' } = env;
  const console = consoleParts({ embeddedLedger: false, embeddedDatabase: false }, config);
  const urls = { ledgerUrl, databaseUrl };
  const guide = pageGuide({ ...urls, embeddedLedger: false, embeddedDatabase: false }, config);
  const pageOptions = { version: 'test', logging, guide, console };
  const indexer = await startIndexer({ config, access, ...urls, ...pageOptions, pace: quickPace });
  let endReason: string | undefined;
  indexer.done.then(
    () => (endReason = 'by itself'),
    (error: unknown) => (endReason = error instanceof Error ? error.message : 'for no reason'),
  );
  // The request is retried once, because an idle connection may be closed at the moment it is reused (RFC 9110, 9.2.2
  // permits it).
  const get = (path: string): Promise<Response> =>
    fetch(`${indexer.httpUrl}${path}`).catch(() => fetch(`${indexer.httpUrl}${path}`));
  const status: IndexerRun['status'] = async () => (await (await get('/status')).json()) as never;
  return {
    httpUrl: indexer.httpUrl,
    log,
    logged: (message) => log.filter((line) => line.includes(`"msg":"${message}"`)).length,
    status,
    metric: async (sample) => {
      const line = (await (await get('/metrics')).text()).split('\n').find((text) => text.startsWith(`${sample} `));
      if (line === undefined) throw new Error(`there is no metric ${sample}`);
      return Number(line.slice(sample.length + 1));
    },
    reaches: async (offset, limitMs) => {
      await waitFor(
        `the checkpoint reaches ${offset}`,
        async () => {
          if (endReason !== undefined) throw new Error(`the indexer ended: ${endReason}`);
          // Every checkpoint is at least 0, and /wait does not accept 0.
          if (offset === 0) return true;
          // One waiting request is cheaper than polling, because both client and server are in this process.
          const response = await get(`/wait?offset=${offset}&timeout=1`);
          await response.arrayBuffer();
          return response.ok ? true : undefined;
        },
        limitMs,
      );
    },
    completionsReach: async (offset, limitMs) => {
      await waitFor(
        `completions reach ${offset}`,
        async () => {
          const { completions } = await status();
          return completions.state === 'off' || (completions.checkpoint ?? -1) >= offset ? true : undefined;
        },
        limitMs,
      );
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await indexer.stop();
    },
  };
}
