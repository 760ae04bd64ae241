/**
 * `/api`: read-only access to what is stored. A route is a description in `src/store/api`; this module checks callers
 * and parameters, waits for offsets, and sends answers and problems.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiAnswer, ApiArguments, ApiKey, ApiRoute, ReadApi } from '../../model/push/read-api.ts';
import { FairQueue } from '../changes/turns.ts';
import type { CheckpointWaiters } from '../health/checkpoint-waiters.ts';
import { send } from '../http/answers.ts';
import { ClientSlots } from '../http/client-slots.ts';
import { localReader, type Reader } from '../http/readers.ts';
import { matchRoute, type MatchedRoute } from './api-routes.ts';
import { Cursors } from './cursors.ts';
import { openApiDocument } from './openapi.ts';
import { checkParameters } from './parameters.ts';
import { problem, problemOf, type Problem } from './problems.ts';

/** A completed request, for metrics. */
export interface ApiRequestFacts {
  /** Name of a route, or `other`. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

export interface ApiEndpoint {
  readonly routes: readonly ApiRoute[];
  readonly read: ReadApi;
  readonly waiters: Pick<CheckpointWaiters, 'wait'>;
  readonly readerOf: (request: IncomingMessage) => Promise<Reader>;
  /** Reads that run at once. */
  readonly atOnce: number;
  readonly version: string;
  readonly onAnswer: (facts: ApiRequestFacts) => void;
}

/** Maximum number of pending requests: of one token, and of all callers. */
const pendingLimits = { ofToken: 100, ofAll: 1_000 };

type AdmittedReader = Extract<Reader, { role: unknown }>;

const documentPath = '/api/openapi.json';

export class ApiAnswers {
  readonly #endpoint: ApiEndpoint;
  readonly #cursors = new Cursors();
  readonly #slots = new ClientSlots();
  readonly #queue: FairQueue;
  readonly #document: string;

  constructor(endpoint: ApiEndpoint) {
    this.#endpoint = endpoint;
    this.#queue = new FairQueue(endpoint.atOnce);
    this.#document = `${JSON.stringify(openApiDocument(endpoint.routes, endpoint.version))}\n`;
  }

  /** Never rejects. */
  async answer(path: string, query: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const beganAt = performance.now();
    const matched = matchRoute(this.#endpoint.routes, path);
    const closeController = new AbortController();
    response.once('close', () => closeController.abort());
    const answer = await this.#answerTo(matched, { path, query }, request, closeController.signal).catch(problemOf);
    // The client has left.
    if (response.destroyed) return;
    const status = typeof answer === 'string' ? 200 : answer.status;
    sendAnswer(response, answer);
    this.#endpoint.onAnswer({
      route: matched?.route.name ?? 'other',
      status,
      seconds: (performance.now() - beganAt) / 1000,
    });
  }

  /** Resolves to the text of the answer. */
  async #answerTo(
    matched: MatchedRoute | undefined,
    { path, query }: { readonly path: string; readonly query: string },
    request: IncomingMessage,
    stop: AbortSignal,
  ): Promise<string | Problem> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return problem('METHOD_NOT_ALLOWED', 'send GET or HEAD');
    }
    if (hasBody(request)) return problem('BODY_NOT_ALLOWED', 'send the parameters in the query string');
    // The description has no data.
    if (path === documentPath) return this.#document;
    const reader = await this.#endpoint.readerOf(request);
    if ('refused' in reader) return refusalProblem(reader);
    if (matched === undefined) return unknownRoute(this.#endpoint.routes);
    const args = checkParameters(matched.route, matched.inPath, new URLSearchParams(query));
    if (isProblem(args)) return args;
    const release = this.#takeSlot(reader);
    if (release === undefined) return problem('BUSY', 'wait for the answers of earlier requests');
    try {
      return await this.#read(matched.route, args, reader, stop);
    } finally {
      release();
    }
  }

  /** Callers on this machine count as one, and have only the common limit. */
  #takeSlot({ reader }: AdmittedReader): (() => void) | undefined {
    const isFull =
      this.#slots.all >= pendingLimits.ofAll ||
      (reader !== localReader && this.#slots.of(reader) >= pendingLimits.ofToken);
    return isFull ? undefined : this.#slots.take(reader);
  }

  async #read(
    route: ApiRoute,
    args: ApiArguments,
    { role, rights, reader }: AdmittedReader,
    stop: AbortSignal,
  ): Promise<string | Problem> {
    const { cursor } = args;
    const scope = { caller: reader, route: route.name, arguments: args };
    const after = typeof cursor === 'string' ? this.#cursors.read(cursor, scope) : undefined;
    if (cursor !== undefined && after === undefined) return cursorProblem;
    const missed = await this.#waitFor(args, stop);
    if (missed !== undefined) return missed;
    const answer = await this.#queue.take(reader, async () => {
      // The client left while the request was waiting for its turn.
      stop.throwIfAborted();
      return this.#endpoint.read({ route: route.name, arguments: args, after, reader: { role, rights } });
    });
    return answerText(answer, (key) => this.#cursors.write(key, scope));
  }

  async #waitFor({ at_least_offset: offset, timeout }: ApiArguments, stop: AbortSignal): Promise<Problem | undefined> {
    if (typeof offset !== 'number') return undefined;
    const seconds = Number(timeout);
    const outcome = await this.#endpoint.waiters.wait(offset, seconds * 1000, stop);
    if (outcome === 'reached') return undefined;
    if (outcome !== 'timeout') return problem('UNAVAILABLE', 'the indexer cannot wait for the offset now: try again');
    return problem(
      'OFFSET_NOT_REACHED',
      `the checkpoint did not reach ${String(offset)} within ${String(seconds)} s: wait longer, or check /readyz`,
    );
  }
}

const cursorProblem = problem(
  'CURSOR_INVALID',
  'the cursor is of another caller, of other parameters, or of a process that has ended: begin again without it',
);

function refusalProblem({ refused, reason }: Extract<Reader, { refused: unknown }>): Problem {
  if (refused === 401) return problem('UNAUTHENTICATED', reason);
  return problem(refused === 403 ? 'FORBIDDEN' : 'UNAVAILABLE', reason);
}

function unknownRoute(routes: readonly ApiRoute[]): Problem {
  return problem('ROUTE_UNKNOWN', `${documentPath} describes all paths`, { paths: routes.map(({ path }) => path) });
}

function isProblem(checked: ApiArguments | Problem): checked is Problem {
  return typeof checked['status'] === 'number' && 'title' in checked;
}

function answerText({ offset, stateAt, rows, next, fields }: ApiAnswer, cursorOf: (key: ApiKey) => string): string {
  const [at, checkpoint] = [stateAt ?? offset, offset].map((value) => JSON.stringify(value));
  const parts = [`"offset":${at ?? 'null'}`, `"checkpoint":${checkpoint ?? 'null'}`];
  for (const [name, text] of Object.entries(fields ?? {})) parts.push(`${JSON.stringify(name)}:${text}`);
  if (rows !== undefined) {
    parts.push(`"rows":[${rows.join(',')}]`, `"next":${next === undefined ? 'null' : JSON.stringify(cursorOf(next))}`);
  }
  return `{${parts.join(',')}}\n`;
}

function sendAnswer(response: ServerResponse, answer: string | Problem): void {
  if (typeof answer === 'string') return send(response, 200, 'application/json; charset=utf-8', answer);
  const { status } = answer;
  if (status === 401) response.setHeader('www-authenticate', 'Bearer realm="ledger-indexer"');
  if (status === 405) response.setHeader('allow', 'GET, HEAD');
  // No further data of such a client is read.
  if ([401, 403, 405].includes(status) || answer.code === 'BODY_NOT_ALLOWED') response.setHeader('connection', 'close');
  send(response, status, 'application/problem+json', `${JSON.stringify(answer)}\n`);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}
