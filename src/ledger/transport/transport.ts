/**
 * HTTP client for one participant. Every call ends within its timeout. Every failure is an IndexerError, as is any
 * status but 200. Redirects are not followed, because the token would be sent with them. The token is read again for
 * every call.
 */
import { setMaxListeners } from 'node:events';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { IndexerError } from '../../errors/indexer-error.ts';
import { readChunks, readBody, send, type SentRequest, withRequestTimeout } from '../../http/exchange.ts';
import { httpEndpoint, withQuery, type Query } from './endpoint-url.ts';
import { jsonArrayElements } from './json-array.ts';
import { errorFromNetwork } from '../errors/ledger-error.ts';
import { ledgerError } from '../errors/make-ledger-error.ts';
import { errorFromRefusal } from './refusal.ts';
import type { TlsMaterial } from './tls.ts';
import { assertTokenConfidential, type TokenSource } from '../access/token.ts';

const defaultMaxAnswerBytes = 256 * 1024 * 1024;
/** Maximum size of an error response that is read; more does not explain anything. */
const maxRefusalBytes = 1024 * 1024;

export interface TransportOptions {
  /** Base URL, http or https, possibly with a path prefix. */
  readonly url: string;
  readonly tokenSource: TokenSource;
  /** Certificates; https only. */
  readonly tls?: TlsMaterial | undefined;
  /** Allows the token over plain http to another machine. */
  readonly insecure: boolean;
  /**
   * Time limit from the first byte sent to the last byte received. For a list, the limit applies to the first byte, and
   * again between bytes.
   */
  readonly requestTimeoutMs: number;
  /** Size limit of a response that is held in memory, and of an element of a list; default 256 MiB. */
  readonly maxAnswerBytes?: number | undefined;
  /** Aborts running calls. */
  readonly signal?: AbortSignal | undefined;
  /** Called after every call whose response was read completely. Must not throw. */
  readonly onRequest?: ((request: RequestFacts) => void) | undefined;
}

/** A call that has ended, successfully or not. */
export interface RequestFacts {
  /** Path without the query. */
  readonly path: string;
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  /** Time from sending the request to the last byte of the response. */
  readonly seconds: number;
}

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** An object is sent as JSON, bytes as they are (application/octet-stream). */
export type RequestBody = object | Uint8Array;

export interface BytesAnswer {
  readonly bytes: Buffer;
  /** Header names are in lower case. */
  readonly headers: IncomingHttpHeaders;
}

export interface Transport {
  /** Resolves to the parsed JSON. @throws IndexerError LEDGER_NOT_A_LEDGER if the response is not JSON */
  request(method: Method, path: string, body?: RequestBody, query?: Query): Promise<unknown>;
  requestText(method: Method, path: string, body?: RequestBody, query?: Query): Promise<string>;
  requestBytes(method: Method, path: string, body?: RequestBody, query?: Query): Promise<BytesAnswer>;
  /**
   * The JSON text of each element of an array response. The socket is read only as fast as elements are taken. The
   * request is sent when the first element is requested. Leaving the loop early closes the connection.
   */
  requestElements(method: Method, path: string, body?: RequestBody, query?: Query): AsyncIterable<string>;
}

interface Call {
  readonly method: Method;
  readonly path: string;
  readonly body: RequestBody | undefined;
  readonly query: Query | undefined;
  readonly accept: 'application/json' | '*/*';
}

interface HttpAnswer extends BytesAnswer {
  readonly status: number;
  /** The token that the request was sent with. */
  readonly token: string | undefined;
}

function maxResponseBytesOf({ maxAnswerBytes: maxResponseBytes = defaultMaxAnswerBytes }: TransportOptions): number {
  return maxResponseBytes;
}

function encodeBody(body: RequestBody | undefined): { readonly type?: string; readonly payload?: Buffer } {
  if (body === undefined) return {};
  if (!(body instanceof Uint8Array)) return { type: 'application/json', payload: Buffer.from(JSON.stringify(body)) };
  return { type: 'application/octet-stream', payload: Buffer.from(body.buffer, body.byteOffset, body.length) };
}

/** A running request, with its token. */
interface AuthorizedRequest extends SentRequest {
  readonly token: string | undefined;
}

/** Sends the request. @throws IndexerError when the token cannot be read or may not be sent */
async function sendWithToken(options: TransportOptions, call: Call): Promise<AuthorizedRequest> {
  const url = httpEndpoint(options.url, withQuery(call.path, call.query));
  const token = await options.tokenSource.read();
  assertTokenConfidential(options.url, token, options.insecure);
  const { type, payload } = encodeBody(call.body);
  const headers = {
    accept: call.accept,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(type === undefined ? {} : { 'content-type': type }),
  };
  const { tls, signal } = options;
  return { ...send(url, { method: call.method, headers, payload, tls, signal }), token };
}

function requestTimeoutError(options: TransportOptions, call: Call): IndexerError {
  const { host } = new URL(options.url);
  const message = `${call.method} ${call.path} did not respond within ${options.requestTimeoutMs} ms`;
  return ledgerError('LEDGER_UNREACHABLE', message, { facts: { host } });
}

function withinRequestTimeout<T>(
  options: TransportOptions,
  call: Call,
  request: ClientRequest,
  work: Promise<T>,
): Promise<T> {
  return withRequestTimeout(request, options.requestTimeoutMs, work, () => requestTimeoutError(options, call));
}

function readResponseBody(options: TransportOptions, chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const maxBytes = maxResponseBytesOf(options);
  return readBody(chunks, maxBytes, () =>
    ledgerError('LEDGER_FRAME_TOO_LARGE', `a response of the ledger is larger than ${maxBytes} bytes`),
  );
}

async function readRefusal(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  await readChunks(parts, chunks, maxRefusalBytes);
  return Buffer.concat(parts);
}

async function fetchAnswer(options: TransportOptions, call: Call): Promise<HttpAnswer> {
  const sentRequest = await sendWithToken(options, call);
  const startedAtMs = performance.now();
  let status: number | undefined;
  const receive = async (): Promise<HttpAnswer> => {
    const response = await sentRequest.response;
    status = response.statusCode ?? 0;
    const chunks = response as AsyncIterable<Buffer>;
    const bytes = status === 200 ? await readResponseBody(options, chunks) : await readRefusal(chunks);
    return { status, headers: response.headers, bytes, token: sentRequest.token };
  };
  try {
    return await withinRequestTimeout(options, call, sentRequest.request, receive());
  } finally {
    options.onRequest?.({ path: call.path, status, seconds: (performance.now() - startedAtMs) / 1000 });
  }
}

/**
 * The chunks of a response; fails when the next one takes too long. The time that the caller takes between two chunks
 * does not count.
 */
async function* chunksOf(options: TransportOptions, call: Call, response: IncomingMessage): AsyncGenerator<Buffer> {
  const wait = (): NodeJS.Timeout =>
    setTimeout(() => {
      response.destroy(requestTimeoutError(options, call));
    }, options.requestTimeoutMs);
  let timer = wait();
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      yield chunk;
      timer = wait();
    }
  } finally {
    clearTimeout(timer);
  }
}

function errorOfResponse({ bytes, status, headers, token }: HttpAnswer): IndexerError {
  const text = bytes.toString('utf8');
  return errorFromRefusal({ status, headers, body: parsed(text) ?? text }, token);
}

async function* elementsOf(options: TransportOptions, call: Call): AsyncGenerator<string, void, undefined> {
  const sentRequest = await sendWithToken(options, call).catch((thrown: unknown) => {
    throw toLedgerError(thrown, options);
  });
  try {
    const response = await withinRequestTimeout(options, call, sentRequest.request, sentRequest.response);
    const chunks = chunksOf(options, call, response);
    const status = response.statusCode ?? 0;
    if (status !== 200) {
      const { headers } = response;
      throw errorOfResponse({ bytes: await readRefusal(chunks), status, headers, token: sentRequest.token });
    }
    yield* jsonArrayElements(chunks, maxResponseBytesOf(options));
  } catch (thrown) {
    throw toLedgerError(thrown, options);
  }
}

function toLedgerError(thrown: unknown, options: TransportOptions): IndexerError {
  return thrown instanceof IndexerError ? thrown : errorFromNetwork(thrown, options.url);
}

/** The value of a JSON text, which some gateways begin with a byte order mark; undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/u, ''));
  } catch {
    return undefined;
  }
}

/** Creates the HTTP client. It holds no connection of its own. */
export function createTransport(options: TransportOptions): Transport {
  // Every running call listens to this signal, and many calls may run at the same time.
  if (options.signal !== undefined) setMaxListeners(0, options.signal);
  const fetchSuccessful = async (call: Call): Promise<BytesAnswer> => {
    const answer = await fetchAnswer(options, call).catch((thrown: unknown) => {
      throw toLedgerError(thrown, options);
    });
    if (answer.status !== 200) throw errorOfResponse(answer);
    return answer;
  };
  return {
    async request(method, path, body, query) {
      const answer = await fetchSuccessful({ method, path, body, query, accept: 'application/json' });
      const value = parsed(answer.bytes.toString('utf8'));
      if (value !== undefined) return value;
      throw ledgerError('LEDGER_NOT_A_LEDGER', `expected JSON from ${path}, found other content`);
    },
    async requestText(method, path, body, query) {
      return (await fetchSuccessful({ method, path, body, query, accept: '*/*' })).bytes.toString('utf8');
    },
    async requestBytes(method, path, body, query) {
      const { bytes, headers } = await fetchSuccessful({ method, path, body, query, accept: '*/*' });
      return { bytes, headers };
    },
    requestElements: (method, path, body, query) =>
      elementsOf(options, { method, path, body, query, accept: 'application/json' }),
  };
}
