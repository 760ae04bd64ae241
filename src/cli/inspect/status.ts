/**
 * `status`: prints the status of the indexer of this database or, if it does not respond, the facts in the database.
 * Prints once, or every second. The output names its source.
 */
import { pause } from '../../config/pause.ts';
import { describeConfig, loadConfig, type Config } from '../../config/config.ts';
import type { OptionFlags } from '../../config/option-sources.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { databaseLabel } from '../../store/connection/hosts.ts';
import { aligned, fixedWidthColumn } from '../command-line/aligned.ts';
import { json, type Call, type Command } from '../command-line/command.ts';
import { openFor, withAnyDatabase } from '../database/with-database.ts';
import { printSizes, assertSizeFlags, sizeFlags } from './sizes.ts';
import { statusScreen } from './status-screen.ts';
import { findIndexer, type StatusRequest } from './status-source.ts';

export const statusCommand: Command = {
  name: 'status',
  summary: 'print the status of the indexer, or of its database, or disk usage',
  does: [
    'Reads the status of the indexer that writes to DATABASE_URL, at INDEXER_HTTP_HOST:INDEXER_HTTP_PORT, or of the demo of',
    'this folder. If it does not respond, or another indexer does, reads the database. `source` names the source. --http-port',
    'selects the indexer on that port, whatever it writes to.',
    'With --watch, repeats this every second until Ctrl-C: one screen on a terminal, otherwise one line of JSON each time.',
    'With --sizes, reads only the database, primary or standby: bytes by kind of table, estimated rows, bytes per event,',
    'growth of the last days, and with --disk or --free the day when the disk is full (a demo reads its own disk). No scans.',
  ],
  operands: [],
  flags: [json, { name: 'watch', doc: 'print state, offsets, lag, rates and last error every second' }, ...sizeFlags],
  examples: ['status --json', 'status --watch', 'status --sizes --free 200GB'],
  exits: [[69, 'neither an indexer nor a database responds']],
  /** Prints aligned lines, or JSON with `--json`. @throws IndexerError STATUS_UNAVAILABLE if no source is available */
  run: async (call) => {
    const { args, env, print, stdout } = call;
    assertSizeFlags(args);
    if (args.has('sizes')) return printSizes(loadConfig(env, args.options), call);
    const statusRequest = questionOf(args.options, env);
    if (args.has('watch')) return watch(statusRequest, stdout.isTTY === true && !args.has('json'), call);
    const status = await ask(statusRequest);
    if (args.has('json')) return print(JSON.stringify(status));
    const cells = Object.entries(status).map(([name, value]) => [name, formatValue(value)]);
    for (const line of aligned(cells, { gap: 1, columns: [fixedWidthColumn(20)] })) print(line);
  },
};

const openOptions = { command: 'status', feature: 'status', connections: 4 } as const;

function questionOf(flags: OptionFlags, env: NodeJS.ProcessEnv): StatusRequest {
  const config = loadConfig(env, flags);
  const origins = describeConfig(env, flags).flatMap(({ name, origin }) =>
    name === 'http-host' || name === 'http-port' ? [origin] : [],
  );
  if (origins.includes('flag')) return { config, address: 'flag' };
  return { config, address: origins.every((origin) => origin === 'default') ? 'default' : 'configured' };
}

async function ask(statusRequest: StatusRequest): Promise<object> {
  const source = await findIndexer(statusRequest);
  if ('status' in source) return { source: source.at, ...source.status };
  return fromDatabase(statusRequest.config, source.reason);
}

const intervalMs = 1_000;
/** Escape codes that move the cursor to the top left and clear everything below. */
const clear = '\u001B[H\u001B[J';

/** Prints until Ctrl-C. Failures are printed instead of thrown, because the source may respond later. */
async function watch(
  statusRequest: StatusRequest,
  screen: boolean,
  { print, write, stop, stdout }: Call,
): Promise<void> {
  const { config } = statusRequest;
  for (let first = true; !stop.aborted; first = false) {
    const startedAtMs = performance.now();
    const source = await findIndexer(statusRequest);
    const isFound = 'status' in source;
    if (!isFound && first && config.database.url === undefined) throw unavailableError(config, source.reason);
    const now = isFound ? { source: source.at, ...source.status } : await readStatusFromDatabase(config, source.reason);
    if (screen) write(`${first ? '\u001B[2J' : ''}${clear}${statusScreen(now, stdout.columns).join('\n')}\n`);
    else print(JSON.stringify(now));
    const pauseMs = Math.max(50, intervalMs - (performance.now() - startedAtMs));
    await pause(pauseMs, stop);
  }
}

/** The position of the stream from the database, without counting rows, or the reason why it cannot be read. */
async function readStatusFromDatabase(config: Config, reason: string): Promise<object> {
  const { url } = config.database;
  if (url === undefined) return { state: 'not_running', reason };
  const source = databaseText(config.database, url);
  const { readStream } = await import('../../store/history/maintenance.ts');
  const database = await openFor(config, openOptions);
  try {
    const stream = await readStream(database);
    if (stream === undefined) {
      return { source, state: 'not_running', reason: `${reason}; nothing is indexed in this schema` };
    }
    const { participantId, checkpoint, seeded, seedOffset } = stream;
    return { source, state: 'not_running', reason, checkpoint, seeded, seedOffset, participantId };
  } catch (thrown) {
    const { code, message } = toIndexerError(thrown);
    return { source, state: 'not_running', reason: `${reason}; ${code}: ${message}` };
  } finally {
    await database.close();
  }
}

async function fromDatabase(config: Config, reason: string): Promise<object> {
  const { url } = config.database;
  if (url === undefined) throw unavailableError(config, reason);
  const { readStoredStatus } = await import('../../store/reads/ledger-facts.ts');
  const status = await withAnyDatabase(config, openOptions, async (database) => {
    try {
      return await readStoredStatus(database);
    } catch (thrown) {
      // If a role may not use the schema, Postgres reports its tables as missing.
      const { checkServer } = await import('../../store/connection/server-check.ts');
      await checkServer(database);
      throw thrown;
    }
  });
  if (status === undefined) throw unavailableError(config, `${reason}, and nothing is indexed in this schema`);
  return { source: databaseText(config.database, url), state: 'not_running', reason, ...status };
}

function databaseText({ schema }: Config['database'], url: string): string {
  return `database ${databaseLabel(url)}, schema "${schema}"`;
}

function formatValue(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : `${value as string | number | boolean}`;
}

function unavailableError({ database, indexer }: Config, reason: string): IndexerError {
  const hint =
    database.url === undefined ? `; DATABASE_URL is not set, and no demo runs with the data in ${indexer.dataDir}` : '';
  return new IndexerError(`${reason}${hint}`, {
    code: 'STATUS_UNAVAILABLE',
    remedy: 'start the indexer, or select another one: set DATABASE_URL to its database, or pass --http-port',
  });
}
