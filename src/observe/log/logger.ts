/**
 * The logger. It writes JSON lines for machines and short lines for a terminal. Only allowed fields of errors are
 * written, and every line is scrubbed. Writing is synchronous, so that the last line before an exit is not lost.
 */
import { type Logger, pino } from 'pino';
import { IndexerError } from '../../errors/indexer-error.ts';
import { escapeSteering } from '../../errors/visible-text.ts';
import { scrub } from '../figures/scrub.ts';

export type { Logger } from 'pino';

/** Destination of log lines, such as `process.stdout`. */
export interface LogStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export interface LoggerOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `auto`: pretty if the stream is a terminal. */
  readonly format: 'auto' | 'pretty' | 'json';
  readonly stream: LogStream;
}

export interface Logging {
  readonly logger: Logger;
  /**
   * Draws a line that is replaced in place, or removes it (undefined). The function itself is undefined if the stream
   * is not a terminal.
   */
  readonly progress: ((text: string | undefined) => void) | undefined;
}

/** Creates the root logger and, on a terminal, the progress line below it. */
export function createLogger(options: LoggerOptions): Logging {
  const { stream } = options;
  const pretty = options.format === 'pretty' || (options.format === 'auto' && stream.isTTY === true);
  const onTerminal = pretty && stream.isTTY === true;
  let progressLine: string | undefined;
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: {
        logMethod(args, method) {
          const [first, message, ...rest] = args;
          if (typeof first === 'string') method.apply(this, args);
          else method.apply(this, [...safeMessage(first, message), ...rest]);
        },
      },
      serializers: { err: serializeError, error: serializeError },
    },
    {
      write: (line: string) => {
        const clean = scrub(line);
        const text = pretty ? formatLine(clean, stream.isTTY === true) : clean;
        stream.write(progressLine === undefined ? text : `${clearLine}${text}${progressLine}`);
      },
    },
  );
  const progress = (text: string | undefined): void => {
    if (text === progressLine) return;
    progressLine = text === undefined ? undefined : scrub(text);
    stream.write(`${clearLine}${progressLine ?? ''}`);
  };
  return { logger, progress: onTerminal ? progress : undefined };
}

const clearLine = '\r\u001B[2K';

/**
 * Loggable fields of a failure. Messages are included only for our own errors, because messages of drivers quote
 * statements and rows.
 */
export function serializeError(thrown: unknown): Record<string, unknown> {
  const sqlstate = sqlstateOf(thrown);
  if (!(thrown instanceof IndexerError)) {
    return { name: thrown instanceof Error ? thrown.name : typeof thrown, ...sqlstate };
  }
  const { name, code, retry, remedy, message } = thrown;
  return { name, code, retry, remedy, message, ...sqlstate };
}

/** If no message is passed, pino uses the message of the error. That would bypass the list of allowed fields. */
function safeMessage(first: unknown, message: unknown): [fields: unknown, message: string] {
  const fields = first instanceof Error ? { err: first } : first;
  if (typeof message === 'string') return [fields, message];
  return [fields, first instanceof IndexerError ? first.message : 'no message'];
}

function sqlstateOf(thrown: unknown): { sqlstate?: string } {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth += 1) {
    if (error instanceof IndexerError && typeof error.facts['sqlstate'] === 'string') {
      return { sqlstate: error.facts['sqlstate'] };
    }
    if ('code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code)) {
      return { sqlstate: error.code };
    }
  }
  return {};
}

const colours: Readonly<Record<string, string>> = { warn: '33', error: '31', fatal: '31', debug: '90', trace: '90' };

/**
 * Formats a JSON log line for people. The order is time, level, message, a failure as a sentence, and the remaining
 * fields as `name=value`. A line that is not a JSON object is not changed.
 */
function formatLine(line: string, coloured: boolean): string {
  const record = parseRecord(line);
  if (record === undefined) return `${escapeSteering(line.replace(/\n$/, ''))}\n`;
  const { level: levelNumber, time, msg, err, ...otherFields } = record;
  const failure = formatFailure(err);
  const fields = failure === undefined && err !== undefined ? { ...otherFields, err } : otherFields;
  const colorize = (code: string | undefined, text: string): string =>
    coloured && code !== undefined ? `\u001B[${code}m${text}\u001B[0m` : text;
  const name = typeof levelNumber === 'string' ? levelNumber : 'info';
  const clock = typeof time === 'string' ? escapeSteering(time.slice(11, 19)) : '';
  const rest = Object.entries(fields).map(
    ([key, value]) => colorize('90', `${escapeSteering(key)}=`) + escapeSteering(formatValue(value)),
  );
  const parts = [colorize('90', clock), colorize(colours[name] ?? '32', escapeSteering(name).toUpperCase().padEnd(5))];
  if (typeof msg === 'string') parts.push(escapeSteering(failure === undefined ? msg : `${msg}: ${failure}`));
  return `${[...parts, ...rest].join('  ')}\n`;
}

/** A serialized error with a code, as one sentence; undefined for other values. */
function formatFailure(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('code' in value) || !('message' in value)) return undefined;
  const { code, message } = value;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  const remedy = 'remedy' in value && typeof value.remedy === 'string' ? `; what to do: ${value.remedy}` : '';
  return `${code}: ${message}${remedy}`;
}

function parseRecord(line: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}

function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
