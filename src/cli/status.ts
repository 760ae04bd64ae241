/** `status`: what the running indexer says of itself; when none answers, what the database says. */
import { loadConfig, type Config } from '../config/config.ts';
import { ExitCode, IndexerError } from '../errors.ts';
import { openDatabase } from '../store/database.ts';
import { readStoredStatus } from '../store/ledger-facts.ts';

/** Prints aligned lines, or JSON with `--json`. @throws IndexerError STATUS_UNAVAILABLE when nobody knows */
export async function statusCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  write: (line: string) => void,
): Promise<void> {
  const json = argv.includes('--json');
  const config = loadConfig(
    argv.filter((word) => word !== '--json'),
    env,
  );
  const status = (await askDaemon(config)) ?? (await askDatabase(config));
  if (json) write(JSON.stringify(status));
  else for (const [name, value] of Object.entries(status)) write(`${name.padEnd(20)} ${shown(value)}`);
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
