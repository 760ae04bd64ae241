/** `status`: what the running indexer says of itself; when none answers, what the database says. Once, or each second. */
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, type Config } from '../config/config.ts';
import { ExitCode, IndexerError, toIndexerError } from '../errors.ts';
import { openDatabase } from '../store/database.ts';
import { readStream } from '../store/history/maintenance.ts';
import { readStoredStatus } from '../store/ledger-facts.ts';
import { statusScreen } from './status-screen.ts';

export interface StatusIo {
  readonly print: (line: string) => void;
  readonly write: (text: string) => void;
  /** Ends `--watch`. */
  readonly stop: AbortSignal;
}

const ownFlags = new Set(['--json', '--watch']);

/** Prints aligned lines, or JSON with `--json`. @throws IndexerError STATUS_UNAVAILABLE when nobody knows */
export async function statusCommand(argv: readonly string[], env: NodeJS.ProcessEnv, io: StatusIo): Promise<void> {
  const given = (flag: string): boolean => argv.includes(flag);
  const config = loadConfig(
    argv.filter((word) => !ownFlags.has(word)),
    env,
  );
  if (given('--watch')) return watch(config, { ...io, screen: process.stdout.isTTY && !given('--json') });
  const status = (await askDaemon(config)) ?? (await askDatabase(config));
  if (given('--json')) return io.print(JSON.stringify(status));
  for (const [name, value] of Object.entries(status)) io.print(`${name.padEnd(20)} ${shown(value)}`);
}

const intervalMs = 1_000;
/** Of the terminal: cursor home and everything below it cleared. */
const clear = '\u001B[H\u001B[J';

/** Until Ctrl-C. Whoever does not answer may answer again, so that is shown, not thrown. */
async function watch(config: Config, { print, write, stop, screen }: StatusIo & { screen: boolean }): Promise<void> {
  for (let first = true; !stop.aborted; first = false) {
    const beganAt = performance.now();
    const status = await askDaemon(config);
    if (status === undefined && first && config.database.url === undefined) throw unavailable(config);
    const now: object = status ?? { state: 'not running here', ...(await storedPlace(config)) };
    if (screen) write(`${first ? '\u001B[2J' : ''}${clear}${statusScreen(now, process.stdout.columns).join('\n')}\n`);
    else print(JSON.stringify(now));
    const restMs = Math.max(50, intervalMs - (performance.now() - beganAt));
    await sleep(restMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Where the stream stands in the database, without counting rows; or what hinders to say. */
async function storedPlace({ database }: Config): Promise<object> {
  const { url, schema, statementTimeoutMs } = database;
  if (url === undefined) return { because: 'no indexer answers' };
  const stored = openDatabase({ url, schema, statementTimeoutMs, applicationName: 'ledger-indexer status' });
  try {
    const stream = await readStream(stored);
    if (stream === undefined) return { because: 'nothing was ever indexed in this schema' };
    const { participantId, checkpoint, seeded, seedOffset } = stream;
    return {
      because: 'no indexer answers; this is what the database says',
      checkpoint,
      seeded,
      seedOffset,
      participantId,
    };
  } catch (thrown) {
    const { code, message } = toIndexerError(thrown);
    return { because: `${code}: ${message}` };
  } finally {
    await stored.close();
  }
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : `${value as string | number | boolean}`;
}

async function askDaemon(config: Config): Promise<object | undefined> {
  const { httpHost, httpPort } = config.indexer;
  const host = httpHost === '0.0.0.0' ? '127.0.0.1' : httpHost;
  try {
    const answer = await fetch(`http://${host}:${String(httpPort)}/status`, { signal: AbortSignal.timeout(2_000) });
    return (await answer.json()) as object;
  } catch {
    // Not running here: the database is asked next.
    return undefined;
  }
}

async function askDatabase(config: Config): Promise<object> {
  const { url, schema, statementTimeoutMs } = config.database;
  if (url === undefined) throw unavailable(config);
  const database = openDatabase({ url, schema, statementTimeoutMs, applicationName: 'ledger-indexer status' });
  try {
    const stored = await readStoredStatus(database);
    if (stored === undefined) throw unavailable(config);
    return { state: 'not running here', ...stored };
  } finally {
    await database.close();
  }
}

function unavailable({ indexer }: Config): IndexerError {
  return new IndexerError(`no indexer answers on port ${String(indexer.httpPort)} and no database says more`, {
    code: 'STATUS_UNAVAILABLE',
    retry: 'fatal',
    exitCode: ExitCode.unreachable,
    remedy: 'start the indexer, or set INDEXER_HTTP_PORT or DATABASE_URL to what the running one uses',
  });
}
