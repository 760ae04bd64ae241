/**
 * `status`: what the indexer of this database says of itself; when none does, what the database says. Once, or each second.
 * Who was asked stands in the answer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describeConfig, loadConfig, type Config } from '../../config/config.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { openDatabase, type Database } from '../../store/connection/database.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { placeOf } from '../../store/connection/hosts.ts';
import { readStoredStatus } from '../../store/reads/ledger-facts.ts';
import { parse } from '../command-line/parse.ts';
import { statusScreen } from './status-screen.ts';
import { findIndexer, type Question } from './status-source.ts';
import { commandNamed } from '../table/command-table.ts';

export interface StatusIo {
  readonly print: (line: string) => void;
  readonly write: (text: string) => void;
  /** Ends `--watch`. */
  readonly stop: AbortSignal;
}

/** Prints aligned lines, or JSON with `--json`. @throws IndexerError STATUS_UNAVAILABLE when nobody knows */
export async function statusCommand(argv: readonly string[], env: NodeJS.ProcessEnv, io: StatusIo): Promise<void> {
  const given = parse(commandNamed('status'), argv);
  const question = questionOf(given.options, env);
  if (given.has('watch')) return watch(question, { ...io, screen: process.stdout.isTTY && !given.has('json') });
  const status = await ask(question);
  if (given.has('json')) return io.print(JSON.stringify(status));
  for (const [name, value] of Object.entries(status)) io.print(`${name.padEnd(20)} ${shown(value)}`);
}

function questionOf(words: readonly string[], env: NodeJS.ProcessEnv): Question {
  const config = loadConfig(words, env);
  const origins = describeConfig(words, env).flatMap(({ name, origin }) =>
    name === 'http-host' || name === 'http-port' ? [origin] : [],
  );
  if (origins.includes('flag')) return { config, address: 'flag' };
  return { config, address: origins.every((origin) => origin === 'default') ? 'default' : 'configured' };
}

async function ask(question: Question): Promise<object> {
  const source = await findIndexer(question);
  if ('status' in source) return { asked: source.at, ...source.status };
  return fromDatabase(question.config, source.because);
}

const intervalMs = 1_000;
/** Of the terminal: cursor home and everything below it cleared. */
const clear = '\u001B[H\u001B[J';

/** Until Ctrl-C. Whoever does not answer may answer again, so that is shown, not thrown. */
async function watch(
  question: Question,
  { print, write, stop, screen }: StatusIo & { screen: boolean },
): Promise<void> {
  const { config } = question;
  for (let first = true; !stop.aborted; first = false) {
    const beganAt = performance.now();
    const source = await findIndexer(question);
    const found = 'status' in source;
    if (!found && first && config.database.url === undefined) throw unavailable(config, source.because);
    const now = found ? { asked: source.at, ...source.status } : await storedPlace(config, source.because);
    if (screen) write(`${first ? '\u001B[2J' : ''}${clear}${statusScreen(now, process.stdout.columns).join('\n')}\n`);
    else print(JSON.stringify(now));
    const restMs = Math.max(50, intervalMs - (performance.now() - beganAt));
    await sleep(restMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Where the stream stands in the database, without counting rows; or what hinders to say. */
async function storedPlace({ database }: Config, because: string): Promise<object> {
  const { url } = database;
  if (url === undefined) return { state: 'not running here', because };
  const asked = inWords(database, url);
  const stored = open(database, url);
  try {
    const stream = await readStream(stored);
    if (stream === undefined) {
      return { asked, state: 'not running here', because: `${because}; nothing was ever indexed in this schema` };
    }
    const { participantId, checkpoint, seeded, seedOffset } = stream;
    return { asked, state: 'not running here', because, checkpoint, seeded, seedOffset, participantId };
  } catch (thrown) {
    const { code, message } = toIndexerError(thrown);
    return { asked, state: 'not running here', because: `${because}; ${code}: ${message}` };
  } finally {
    await stored.close();
  }
}

async function fromDatabase(config: Config, because: string): Promise<object> {
  const { database } = config;
  const { url } = database;
  if (url === undefined) throw unavailable(config, because);
  const stored = open(database, url);
  try {
    const status = await readStoredStatus(stored);
    if (status === undefined) throw unavailable(config, `${because}, and nothing was ever indexed in this schema`);
    return { asked: inWords(database, url), state: 'not running here', because, ...status };
  } finally {
    await stored.close();
  }
}

function open({ schema, statementTimeoutMs }: Config['database'], url: string): Database {
  return openDatabase({ url, schema, statementTimeoutMs, applicationName: 'ledger-indexer status' });
}

function inWords({ schema }: Config['database'], url: string): string {
  return `database ${placeOf(url)}, schema "${schema}"`;
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : `${value as string | number | boolean}`;
}

function unavailable({ database, indexer }: Config, because: string): IndexerError {
  const nothing =
    database.url === undefined ? `; DATABASE_URL is not set, and no demo runs with the data in ${indexer.dataDir}` : '';
  return new IndexerError(`${because}${nothing}`, {
    code: 'STATUS_UNAVAILABLE',
    remedy:
      'start the indexer; or say which one is meant: DATABASE_URL as it has it, or --http-port to ask it whatever it is',
  });
}
