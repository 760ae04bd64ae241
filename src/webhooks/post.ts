/**
 * One delivery over HTTP, limited in time and in the size of the response. No redirect is followed, and no proxy is
 * used.
 */
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { send, type SentRequest } from '../http/exchange.ts';
import { TooManyInformationalError } from '../http/informational.ts';
import { addressRefused, createLookup, urlRefusalReason, type NetworkReach, type Resolve } from './reach.ts';

/**
 * `refused`: the receiver does not accept this event. `away`: the receiver is unreachable or requests a delay, which
 * does not concern the event. `gone`: the receiver wants no more events.
 */
export type DeliveryResult = (
  | { readonly kind: 'delivered' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused' | 'away'; readonly problem: string; readonly retryAfterMs: number | undefined }
) & {
  /** Set if the response was not HTTP, or was longer than what is read of a response. */
  readonly isCut?: true;
};

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface PosterOptions {
  readonly reach: NetworkReach;
  /** Maximum number of connections to one receiver. */
  readonly connections: number;
  /** Time limit from the beginning of the request to the end of the response, milliseconds. */
  readonly timeoutMs: number;
  /** Resolves a host name to addresses; default: the system's resolver. */
  readonly resolve?: Resolve;
}

/**
 * Maximum number of bytes that are read of a response, so that the connection can be reused. The content is ignored.
 */
const maxResponseBytes = 64 * 1024;
/** The same limit including headers and framing. */
const maxSocketBytes = 2 * maxResponseBytes;
/**
 * Maximum number of chunks. Each chunk is an event of its own, and chunks of one byte cost far more than their bytes.
 */
const maxChunks = 64;
/** Statuses that concern the receiver and not the event. */
const unavailableStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const longestRetryAfterMs = 60 * 60_000;

/** Connections of one webhook. */
export class WebhookSender {
  readonly #options: PosterOptions;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;
  /** Sockets that are connected; with https, to a peer whose identity is verified. */
  readonly #ready = new WeakSet<Socket>();

  constructor(options: PosterOptions) {
    const { reach: networkReach, connections: maxSockets, resolve } = options;
    this.#options = options;
    const pool = { keepAlive: true, maxSockets };
    this.#http = new HttpAgent({ ...pool, lookup: createLookup(networkReach, { onlyHere: true, resolve }) });
    this.#https = new HttpsAgent({ ...pool, lookup: createLookup(networkReach, { onlyHere: false, resolve }) });
  }

  /** Sends one event. Never rejects. */
  post({ url, headers, body }: WebhookRequest): Promise<DeliveryResult> {
    const reason = urlRefusalReason(url, this.#options.reach);
    if (reason !== undefined) return Promise.resolve(unavailableResult(`its address is refused: ${reason}`));
    return new Promise((resolve) => {
      const isSecure = url.startsWith('https:');
      const agent = isSecure ? this.#https : this.#http;
      const sentRequest = send(new URL(url), { method: 'POST', headers, payload: body, agent });
      const isConnected = this.#watched(sentRequest.request, isSecure ? 'secureConnect' : 'connect');
      resolveDelivery(sentRequest, { timeoutMs: this.#options.timeoutMs, isConnected, resolve });
    });
  }

  /**
   * Observes the connection of a request.
   * @returns a function that returns whether the request had a connection; with https, one to a peer whose identity was
   *   verified
   */
  #watched(clientRequest: ClientRequest, event: 'connect' | 'secureConnect'): () => boolean {
    let isConnected = false;
    clientRequest.once('socket', (socket) => {
      isConnected = this.#ready.has(socket);
      if (isConnected) return;
      socket.once(event, () => {
        this.#ready.add(socket);
        isConnected = true;
      });
    });
    return () => isConnected;
  }

  /** Aborts running requests. */
  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

interface PendingDelivery {
  readonly timeoutMs: number;
  readonly isConnected: () => boolean;
  readonly resolve: (deliveryResult: DeliveryResult) => void;
}

function resolveDelivery({ request }: SentRequest, { timeoutMs, isConnected, resolve }: PendingDelivery): void {
  /** Set once the status arrived: it is the result, whatever happens to the remaining response. */
  let responseResult: DeliveryResult | undefined;
  const finishWith = (deliveryResult: DeliveryResult): void => {
    clearTimeout(timer);
    resolve(responseResult ?? deliveryResult);
  };
  // A timer of our own, because it has to cover the time from the first packet to the last.
  const timer = setTimeout(() => {
    finishWith(noResponseResult(isConnected(), `no response within ${String(timeoutMs)} ms`));
    request.destroy();
  }, timeoutMs);
  request.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === addressRefused) return finishWith(unavailableResult(`its address is refused: ${error.message}`));
    const failureResult = noResponseResult(isConnected(), `no response: ${reasonOf(error)}`);
    finishWith(isNoHttp(error) ? { ...failureResult, isCut: true } : failureResult);
  });
  // Attached in the same tick, because bytes after the response may cause an error in the next one.
  request.on('response', (message: IncomingMessage) => {
    const statusResult = resultOfResponse(message);
    responseResult = statusResult;
    drain(message, (isComplete) => {
      if (!isComplete && !message.destroyed) responseResult = { ...statusResult, isCut: true };
      finishWith(statusResult);
      if (!isComplete) request.destroy();
    });
  });
}

/** Whether the server sent endless informational responses, or bytes that the parser rejects as HTTP. */
function isNoHttp(error: NodeJS.ErrnoException): boolean {
  return error instanceof TooManyInformationalError || error.code?.startsWith('HPE_') === true;
}

function reasonOf(error: NodeJS.ErrnoException): string {
  return error instanceof TooManyInformationalError ? error.message : (error.code ?? 'the connection failed');
}

/** Reads the remaining response, so that the connection can be reused. */
function drain(response: IncomingMessage, onDrained: (isComplete: boolean) => void): void {
  let [bytes, parts] = [0, 0];
  const { socket } = response;
  const before = socket.bytesRead;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    parts += 1;
    if (bytes > maxResponseBytes || parts > maxChunks || socket.bytesRead - before > maxSocketBytes) onDrained(false);
  });
  response.once('end', () => onDrained(true));
  response.once('error', () => onDrained(false));
}

/**
 * A receiver that cannot be connected to is `away`. One that received the event and did not respond may have failed
 * because of it.
 */
function noResponseResult(isConnected: boolean, problem: string): DeliveryResult {
  return isConnected ? { kind: 'refused', problem, retryAfterMs: undefined } : unavailableResult(problem);
}

function unavailableResult(problem: string, retryAfterMs?: number): DeliveryResult {
  return { kind: 'away', problem, retryAfterMs };
}

function resultOfResponse({ statusCode: status = 0, headers }: IncomingMessage): DeliveryResult {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'gone' };
  const isRedirect = status >= 300 && status < 400;
  const problem = `status ${String(status)}${isRedirect ? ', and redirects are not followed' : ''}`;
  const retryAfterMs = retryAfter(headers['retry-after'], Date.now());
  return { kind: unavailableStatuses.has(status) ? 'away' : 'refused', problem, retryAfterMs };
}

/**
 * The delay in seconds, or until an HTTP date, as milliseconds from now; an hour at most. Source: RFC 9110 section
 * 10.2.3.
 */
export function retryAfter(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? 1000 * Number(text) : Date.parse(text) - nowMs;
  return Number.isFinite(ms) ? Math.min(longestRetryAfterMs, Math.max(0, ms)) : undefined;
}
