/**
 * The plain HTTP calls of the JSON Ledger API that the indexer needs. Every call ends within its timeout, every
 * failure is an IndexerError, redirects are not followed (the token would travel with them), and an offset that is
 * not a safe integer never leaves this file.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { IndexerError } from '../errors.ts';
import { httpEndpoint } from './endpoint-url.ts';
import { errorFromBody, errorFromNetwork } from './ledger-error.ts';
import { ledgerError } from './ledger-error-codes.ts';
import type { UpdateFormat } from './request-format.ts';
import { assertTokenMayTravel, type TokenSource } from './token.ts';

const maxAnswerBytes = 256 * 1024 * 1024;

export interface LedgerClientOptions {
  /** Base URL, http or https, possibly with a path prefix. */
  readonly url: string;
  readonly tokenSource: TokenSource;
  /** PEM of the issuer to trust instead of the system's; https only. */
  readonly ca?: string | undefined;
  /** Allow the token over plain http to another machine. */
  readonly insecure: boolean;
  /** From the first byte sent to the last byte received. */
  readonly requestTimeoutMs: number;
  /** Aborts running calls. */
  readonly signal?: AbortSignal | undefined;
}

export interface ConnectedSynchronizer {
  readonly synchronizerAlias: string;
  readonly synchronizerId: string;
  readonly permission: string;
}

export interface LedgerClient {
  /** The release of the participant, e.g. `3.5.10`. */
  version(): Promise<string>;
  /** Offset of the last update; 0 on an empty ledger. */
  ledgerEnd(): Promise<number>;
  /** Offset up to which the participant is pruned, inclusive; 0 if never. */
  latestPrunedOffsets(): Promise<number>;
  participantId(): Promise<string>;
  connectedSynchronizers(): Promise<readonly ConnectedSynchronizer[]>;
  /** The parsed `{"update":…}`; undefined when there is none at the offset or the format does not show it. */
  updateByOffset(offset: number, updateFormat: UpdateFormat): Promise<unknown>;
  /** The JSON text of any endpoint; throws IndexerError unless it answers 200. */
  requestText(method: 'GET' | 'POST', path: string, body?: object): Promise<string>;
  /** The same, parsed. */
  request(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) {
      throw ledgerError('LEDGER_FRAME_TOO_LARGE', `an answer of the ledger is larger than ${maxAnswerBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') };
}

function send(
  options: LedgerClientOptions,
  method: string,
  url: URL,
  token: string | undefined,
  body?: object,
): Promise<Answer> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(payload === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
  };
  return new Promise<Answer>((resolve, reject) => {
    const secure = url.protocol === 'https:';
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method,
      headers,
      ...(secure && options.ca !== undefined ? { ca: options.ca } : {}),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const timer = setTimeout(() => {
      const message = `${method} ${url.pathname} did not answer within ${options.requestTimeoutMs} ms`;
      // Rejected here, because destroying a request whose answer has begun reports a mere "aborted".
      reject(ledgerError('LEDGER_UNREACHABLE', message, { facts: { host: url.host } }));
      request.destroy();
    }, options.requestTimeoutMs);
    request.on('error', reject);
    request.on('response', (response) => {
      readAnswer(response).then(resolve, reject);
    });
    request.on('close', () => {
      clearTimeout(timer);
    });
    request.end(payload);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function field(answer: unknown, name: string): unknown {
  return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>)[name] : undefined;
}

function offsetField(answer: unknown, name: string, path: string): number {
  const value = field(answer, name);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  const found = typeof value === 'number' ? 'a number outside 0..2^53-1' : typeof value;
  throw ledgerError('LEDGER_UNDECODABLE', `expected an offset in '${name}' of ${path}, found ${found}`);
}

function textField(answer: unknown, name: string, path: string): string {
  const value = field(answer, name);
  if (typeof value === 'string') return value;
  throw ledgerError('LEDGER_NOT_A_LEDGER', `expected a text in '${name}' of ${path}, found ${typeof value}`);
}

function synchronizersIn(answer: unknown): readonly ConnectedSynchronizer[] {
  const list = field(answer, 'connectedSynchronizers');
  const text = (entry: unknown, name: string): string => {
    const value = field(entry, name);
    return typeof value === 'string' ? value : '';
  };
  return (Array.isArray(list) ? list : []).map((entry: unknown) => ({
    synchronizerAlias: text(entry, 'synchronizerAlias'),
    synchronizerId: text(entry, 'synchronizerId'),
    permission: text(entry, 'permission'),
  }));
}

/** A client for one participant. Holds no connection of its own; the token is read again for every call. */
export function createLedgerClient(options: LedgerClientOptions): LedgerClient {
  const requestText: LedgerClient['requestText'] = async (method, path, body) => {
    const url = httpEndpoint(options.url, path);
    const token = await options.tokenSource.read();
    assertTokenMayTravel(options.url, token, options.insecure);
    const answer = await send(options, method, url, token, body).catch((thrown: unknown) => {
      throw thrown instanceof IndexerError ? thrown : errorFromNetwork(thrown, options.url);
    });
    if (answer.status !== 200) throw errorFromBody(parsed(answer.text) ?? answer.text, answer.status);
    return answer.text;
  };
  const request: LedgerClient['request'] = async (method, path, body) => {
    const answer = parsed(await requestText(method, path, body));
    if (answer !== undefined) return answer;
    throw ledgerError('LEDGER_NOT_A_LEDGER', `expected JSON from ${path}, found something else`);
  };
  const offsetAt = async (path: string, name: string): Promise<number> =>
    offsetField(await request('GET', path), name, path);
  const textAt = async (path: string, name: string): Promise<string> =>
    textField(await request('GET', path), name, path);
  return {
    requestText,
    request,
    version: () => textAt('/v2/version', 'version'),
    ledgerEnd: () => offsetAt('/v2/state/ledger-end', 'offset'),
    latestPrunedOffsets: () => offsetAt('/v2/state/latest-pruned-offsets', 'participantPrunedUpToInclusive'),
    participantId: () => textAt('/v2/parties/participant-id', 'participantId'),
    connectedSynchronizers: async () => synchronizersIn(await request('GET', '/v2/state/connected-synchronizers')),
    updateByOffset: async (offset, updateFormat) => {
      try {
        return await request('POST', '/v2/updates/update-by-offset', { offset, updateFormat });
      } catch (thrown) {
        if (thrown instanceof IndexerError && thrown.facts['ledgerCode'] === 'UPDATE_NOT_FOUND') return undefined;
        throw thrown;
      }
    },
  };
}
