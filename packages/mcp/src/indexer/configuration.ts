/** Options from the environment. Secrets come from files: neither variables nor arguments contain a token. */
import { configurationError } from './mcp-error.ts';
import { isPlaintextRemote } from './loopback.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface IndexerOptions {
  /** Base address of the indexer, without a slash at the end. */
  readonly baseUrl: string;
  /** Maximum size of one answer to an agent, bytes. */
  readonly maxAnswerBytes: number;
}

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  /** Names in `Host` that are accepted in addition to loopback names. */
  readonly allowedHosts: readonly string[];
  /** Web origins that may send requests. */
  readonly allowedOrigins: readonly string[];
}

/** @throws McpError CONFIGURATION_INVALID */
export function readIndexerOptions(env: Environment): IndexerOptions {
  return {
    baseUrl: readBaseUrl(env),
    maxAnswerBytes: readNumber(env, 'MCP_MAX_ANSWER_BYTES', { fallback: 50_000, min: 2_000, max: 4_000_000 }),
  };
}

/** Path of the token file of the stdio server. @throws McpError CONFIGURATION_INVALID */
export function readTokenPath(env: Environment): string {
  const path = env['INDEXER_TOKEN_FILE'] ?? '';
  if (path !== '') return path;
  throw configurationError(
    'INDEXER_TOKEN_FILE is not set',
    'create a token with `ledger-indexer reader-token create --role ROLE`, write it to a file, and set INDEXER_TOKEN_FILE to its path',
  );
}

/** @throws McpError CONFIGURATION_INVALID */
export function readHttpOptions(env: Environment): HttpOptions {
  // A token of the server would give its rights to every caller.
  if ((env['INDEXER_TOKEN_FILE'] ?? '') !== '') {
    throw configurationError(
      'INDEXER_TOKEN_FILE is set, but over HTTP each caller sends its own token',
      'unset INDEXER_TOKEN_FILE, and set the header Authorization in each client',
    );
  }
  return {
    host: env['MCP_HTTP_HOST'] ?? '127.0.0.1',
    port: readNumber(env, 'MCP_HTTP_PORT', { fallback: 7590, min: 0, max: 65_535 }),
    allowedHosts: readList(env, 'MCP_ALLOWED_HOSTS', /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/, 'host names without ports'),
    allowedOrigins: readList(
      env,
      'MCP_ALLOWED_ORIGINS',
      /^https?:\/\/[a-z0-9.-]+(:\d{1,5})?$/,
      'origins without a path',
    ),
  };
}

function readBaseUrl(env: Environment): string {
  const text = env['INDEXER_URL'] ?? 'http://127.0.0.1:7580';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isUsable =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (!isUsable) {
    // The text is not printed, because it may contain a password.
    throw configurationError(
      'INDEXER_URL is not an http or https address without user, query and fragment',
      'set INDEXER_URL to the address of the indexer, such as https://indexer.example',
    );
  }
  if (isPlaintextRemote(url) && env['INDEXER_INSECURE'] !== 'true') {
    throw configurationError(
      `INDEXER_URL would send the token over plain http to ${url.hostname}`,
      'use an https address; for tests only, set INDEXER_INSECURE=true',
    );
  }
  return url.href.replace(/\/+$/, '');
}

interface NumberRange {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

function readNumber(env: Environment, name: string, { fallback, min, max }: NumberRange): number {
  const text = env[name] ?? '';
  if (text === '') return fallback;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const expected = `an integer between ${String(min)} and ${String(max)}`;
  throw configurationError(`${name} is not ${expected}`, `set ${name} to ${expected}, or unset it`);
}

function readList(env: Environment, name: string, pattern: RegExp, expected: string): readonly string[] {
  const items = (env[name] ?? '')
    .split(',')
    .map((item) => item.trim().toLowerCase())
    .filter((item) => item !== '');
  if (items.every((item) => pattern.test(item))) return items;
  throw configurationError(`${name} is not a list of ${expected}`, `set ${name} to ${expected}, separated by commas`);
}
