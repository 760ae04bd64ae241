/** The indexer in this process, controlled through its own HTTP endpoints. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openAccess } from '../ledger/open-access.ts';
import { loadConfig } from '../config/config.ts';
import { IndexerError, toIndexerError } from '../errors/indexer-error.ts';
import { startIndexer, type Indexer } from '../indexer/indexer.ts';
import { createLogger } from '../observe/log/logger.ts';
import { version } from '../version.ts';
import type { Ending } from './ending.ts';
import { quickPace } from './quick-pace.ts';

export interface OwnIndexerOptions {
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  readonly env: Readonly<Record<string, string>>;
  readonly log: (line: string) => void;
}

export interface OwnIndexer {
  readonly httpUrl: string;
  readonly waitFor: (offset: number, timeoutMs?: number) => Promise<void>;
}

const startLimitMs = 60_000;
const waitLimitMs = 10_000;
const longestWaitMs = 60_000;
const pollMs = 15;

/**
 * Starts the indexer and waits until it is ready.
 * @throws IndexerError with which the indexer ended or parked, or TESTING_NOT_READY
 */
export async function startOwnIndexer(options: OwnIndexerOptions, ending: Ending): Promise<OwnIndexer> {
  const { ledgerUrl, databaseUrl, env, log } = options;
  const defaults = { INDEXER_HTTP_PORT: '0', INDEXER_RETRY_MAX_DELAY: '1s', INDEXER_LOG_LEVEL: 'info' };
  const config = loadConfig({ ...defaults, ...env, LEDGER_URL: ledgerUrl, DATABASE_URL: databaseUrl });
  const level = config.indexer.logLevel;
  const logging = createLogger({ level, format: 'json', stream: { write: log } });
  const stop = new AbortController();
  const access = await openAccess(config.ledger, stop.signal);
  const indexer = await startIndexer({ config, access, ledgerUrl, databaseUrl, version, logging, pace: quickPace });
  ending.add(async () => {
    stop.abort();
    await indexer.stop();
  });
  let ended: IndexerError | undefined;
  indexer.done.catch((thrown: unknown) => {
    ended = toIndexerError(thrown);
  });
  await untilReady(indexer, () => ended);
  return { httpUrl: indexer.httpUrl, waitFor: (offset, timeoutMs) => waitFor(indexer, offset, timeoutMs) };
}

interface Status {
  readonly state: string;
  readonly reason: string;
}

async function statusOf({ httpUrl }: Indexer): Promise<Status> {
  return (await (await fetch(`${httpUrl}/status`)).json()) as Status;
}

async function untilReady(indexer: Indexer, ended: () => IndexerError | undefined): Promise<void> {
  for (const end = performance.now() + startLimitMs; ; await sleep(pollMs)) {
    const failure = ended();
    if (failure !== undefined) throw failure;
    const status = await statusOf(indexer);
    if (status.state === 'live' || status.state === 'idle') return;
    if (status.state === 'parked' || performance.now() > end) throw notReady(status);
  }
}

function notReady({ state, reason }: Status): IndexerError {
  return new IndexerError(`the indexer is ${state}: ${reason}`, {
    code: 'TESTING_NOT_READY',
  });
}

async function waitFor(indexer: Indexer, offset: number, timeoutMs = waitLimitMs): Promise<void> {
  const seconds = Math.min(timeoutMs, longestWaitMs) / 1000;
  const answer = await fetch(`${indexer.httpUrl}/wait?offset=${String(offset)}&timeout=${seconds.toFixed(3)}`);
  if (answer.ok) return;
  const { error } = (await answer.json()) as { readonly error: string };
  const { state, reason } = await statusOf(indexer);
  throw new IndexerError(`${error}; the indexer is ${state}: ${reason}`, {
    code: 'TESTING_WAIT_FAILED',
  });
}
