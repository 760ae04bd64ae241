/**
 * One delivery over HTTP, limited in time and in the size of the response. No redirect is followed, and no proxy is
 * used.
 */
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { send, type Sent } from '../http/exchange.ts';
import { TooManyInformational } from '../http/informational.ts';
import { addressRefused, lookupWithin, refusedUrl, type Reach, type Resolve } from './reach.ts';

/**
 * `refused`: the receiver does not accept this event. `away`: the receiver is unreachable or requests a delay, which
 * does not concern the event. `gone`: the receiver wants no more events.
 */
export type Answer = (
  | { readonly kind: 'delivered' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused' | 'away'; readonly problem: string; readonly retryAfterMs: number | undefined }
) & {
  /** Set if the response was not HTTP, or was longer than what is read of a response. */
  readonly isCut?: true;
};

export interface Posted {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface PosterOptions {
  readonly reach: Reach;
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
const mostAnswerBytes = 64 * 1024;
/** The same limit including headers and framing. */
const mostSocketBytes = 2 * mostAnswerBytes;
/**
 * Maximum number of chunks. Each chunk is an event of its own, and chunks of one byte cost far more than their bytes.
 */
const mostParts = 64;
/** Statuses that concern the receiver and not the event. */
const awayStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const longestRetryAfterMs = 60 * 60_000;

/** Connections of one webhook. */
export class Poster {
  readonly #options: PosterOptions;
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;
  /** Sockets that are connected; with https, to a peer whose identity is verified. */
  readonly #ready = new WeakSet<Socket>();

  constructor(options: PosterOptions) {
    const { reach, connections: maxSockets, resolve } = options;
    this.#options = options;
    const pool = { keepAlive: true, maxSockets };
    this.#http = new HttpAgent({ ...pool, lookup: lookupWithin(reach, { onlyHere: true, resolve }) });
    this.#https = new HttpsAgent({ ...pool, lookup: lookupWithin(reach, { onlyHere: false, resolve }) });
  }

  /** Sends one event. Never rejects. */
  post({ url, headers, body }: Posted): Promise<Answer> {
    const reason = refusedUrl(url, this.#options.reach);
    if (reason !== undefined) return Promise.resolve(away(`its address is refused: ${reason}`));
    return new Promise((resolve) => {
      const isSecure = url.startsWith('https:');
      const agent = isSecure ? this.#https : this.#http;
      const sent = send(new URL(url), { method: 'POST', headers, payload: body, agent });
      const isConnected = this.#watched(sent.request, isSecure ? 'secureConnect' : 'connect');
      settle(sent, { timeoutMs: this.#options.timeoutMs, isConnected, resolve });
    });
  }

  /**
   * Observes the connection of a request.
   * @returns a function that returns whether the request had a connection; with https, one to a peer whose identity was
   *   verified
   */
  #watched(sent: ClientRequest, event: 'connect' | 'secureConnect'): () => boolean {
    let isConnected = false;
    sent.once('socket', (socket) => {
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

interface Settling {
  readonly timeoutMs: number;
  readonly isConnected: () => boolean;
  readonly resolve: (answer: Answer) => void;
}

function settle({ request }: Sent, { timeoutMs, isConnected, resolve }: Settling): void {
  /** Set once the status arrived: it is the result, whatever happens to the remaining response. */
  let statusAnswer: Answer | undefined;
  const finish = (answer: Answer): void => {
    clearTimeout(timer);
    resolve(statusAnswer ?? answer);
  };
  // A timer of our own, because it has to cover the time from the first packet to the last.
  const timer = setTimeout(() => {
    finish(unanswered(isConnected(), `no response within ${String(timeoutMs)} ms`));
    request.destroy();
  }, timeoutMs);
  request.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === addressRefused) return finish(away(`its address is refused: ${error.message}`));
    const answer = unanswered(isConnected(), `no response: ${reasonOf(error)}`);
    finish(isNoHttp(error) ? { ...answer, isCut: true } : answer);
  });
  // Attached in the same tick, because bytes after the response may cause an error in the next one.
  request.on('response', (message: IncomingMessage) => {
    const answer = answerOf(message);
    statusAnswer = answer;
    drain(message, (isComplete) => {
      if (!isComplete && !message.destroyed) statusAnswer = { ...answer, isCut: true };
      finish(answer);
      if (!isComplete) request.destroy();
    });
  });
}

/** Whether the server sent endless informational responses, or bytes that the parser rejects as HTTP. */
function isNoHttp(error: NodeJS.ErrnoException): boolean {
  return error instanceof TooManyInformational || error.code?.startsWith('HPE_') === true;
}

function reasonOf(error: NodeJS.ErrnoException): string {
  return error instanceof TooManyInformational ? error.message : (error.code ?? 'the connection failed');
}

/** Reads the remaining response, so that the connection can be reused. */
function drain(response: IncomingMessage, done: (isComplete: boolean) => void): void {
  let [bytes, parts] = [0, 0];
  const { socket } = response;
  const before = socket.bytesRead;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    parts += 1;
    if (bytes > mostAnswerBytes || parts > mostParts || socket.bytesRead - before > mostSocketBytes) done(false);
  });
  response.once('end', () => done(true));
  response.once('error', () => done(false));
}

/**
 * A receiver that cannot be connected to is `away`. One that received the event and did not respond may have failed
 * because of it.
 */
function unanswered(isConnected: boolean, problem: string): Answer {
  return isConnected ? { kind: 'refused', problem, retryAfterMs: undefined } : away(problem);
}

function away(problem: string, retryAfterMs?: number): Answer {
  return { kind: 'away', problem, retryAfterMs };
}

function answerOf({ statusCode: status = 0, headers }: IncomingMessage): Answer {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'gone' };
  const isRedirect = status >= 300 && status < 400;
  const problem = `status ${String(status)}${isRedirect ? ', and redirects are not followed' : ''}`;
  const retryAfterMs = retryAfter(headers['retry-after'], Date.now());
  return { kind: awayStatuses.has(status) ? 'away' : 'refused', problem, retryAfterMs };
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
