/**
 * The HTTP part of the interface. It finds the endpoint, the caller and the request, and turns results, refusals and
 * bugs into the participant's responses: compact JSON, status 200 or that of the refusal, and a JSON 404 for unknown
 * paths.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tokenOf } from '../identity/authorization.ts';
import type { Authenticate } from '../identity/authorization.ts';
import { anonymousCaller, require } from '../identity/caller.ts';
import type { Caller } from '../identity/caller.ts';
import { disabledIn } from '../api/endpoint.ts';
import type { Answer, Call, Endpoint } from '../api/endpoint.ts';
import { LedgerFailure, UndecodableRequest, redactedInternal, requireKeys, unauthenticated } from '../wire/failure.ts';
import { asObject, parseRequest, syntaxProblem } from '../wire/json.ts';
import { RequestTimeout, headerRefusal, requestTimeoutOf, runWithin } from '../wire/limits.ts';
import type { Limits } from '../wire/limits.ts';
import type { Participant } from '../api/participant.ts';
import { refusalIn } from '../contracts/release-fields.ts';
import type { Release } from '../wire/release.ts';
import { findRoute, routeNotFound } from './routes.ts';
import type { Route } from './routes.ts';

const json = 'application/json';
const plainText = 'text/plain; charset=UTF-8';

export interface HttpService {
  readonly participant: Participant;
  readonly authenticate: Authenticate;
  readonly routes: readonly Route<Endpoint>[];
}

class TooLarge extends Error {}

async function bytesOf(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
  }
  // Thrown only after the complete request has arrived, because a connection that is closed while the peer writes loses
  // the response.
  if (size > limit) throw new TooLarge();
  return Buffer.concat(chunks);
}

async function callerOf(
  request: IncomingMessage,
  endpoint: Endpoint,
  authenticate: Authenticate,
  release: Release,
): Promise<Caller> {
  if (endpoint.needs === 'none') return anonymousCaller;
  const caller = await authenticate(tokenOf(request, release));
  if (caller === undefined) throw unauthenticated();
  require(caller, [endpoint.needs ?? 'authenticated']);
  return caller;
}

async function sentOf(
  request: IncomingMessage,
  endpoint: Endpoint,
  limits: Limits,
): Promise<Pick<Call, 'body' | 'bytes'>> {
  const emptyRequest = { body: {}, bytes: Buffer.alloc(0) };
  const bodyKind = endpoint.takes ?? (endpoint.method === 'POST' || endpoint.method === 'PATCH' ? 'json' : 'nothing');
  if (bodyKind === 'nothing') return emptyRequest;
  const bytes = await bytesOf(request, limits.bodyBytes);
  if (bodyKind === 'bytes') {
    if (bytes.length === 0) throw new UndecodableRequest('body');
    return { ...emptyRequest, bytes };
  }
  const text = bytes.toString();
  const body = asObject(parseRequest(text, limits.nesting));
  if (body === undefined) throw new UndecodableRequest('body', syntaxProblem(text));
  requireKeys(body, endpoint.wants ?? []);
  return { ...emptyRequest, body };
}

function send(response: ServerResponse, status: number, serverResponse: Answer): void {
  const { type, content, headers } =
    typeof serverResponse === 'string'
      ? { type: json, content: serverResponse, headers: {} }
      : { headers: {}, ...serverResponse };
  response.writeHead(status, { ...headers, ...(type === '' ? {} : { 'content-type': type }) }).end(content);
}

function refuse(response: ServerResponse, error: unknown, release: Release): void {
  // The peer has disconnected, perhaps in the middle of its request. So no one reads the response, and this is not a
  // bug.
  if (response.destroyed) return;
  if (error instanceof UndecodableRequest) return send(response, 400, { type: plainText, content: error.message });
  if (error instanceof TooLarge) return send(response, 413, { type: plainText, content: 'Payload Too Large' });
  if (error instanceof RequestTimeout) return send(response, 503, { type: plainText, content: error.message });
  if (error instanceof LedgerFailure) {
    return send(response, error.status, JSON.stringify(refusalIn(release, error).body));
  }
  process.emitWarning(`a sandbox endpoint failed: ${String(error)}`);
  send(response, 500, JSON.stringify(redactedInternal().body));
}

/** The path of the request line, not resolved or decoded, and the query after it. */
function targetOf({ url = '/' }: IncomingMessage): { readonly pathname: string; readonly query: string } {
  // A request for a proxy may contain the complete address. Its host is ignored and the path is served here.
  const target = url.replace(/^https?:\/\/[^/?]*/i, '');
  const queryStart = target.indexOf('?');
  return queryStart < 0
    ? { pathname: target, query: '' }
    : { pathname: target.slice(0, queryStart), query: target.slice(queryStart + 1) };
}

/** Serves one HTTP request. Never rejects: refusals and bugs become responses. */
export async function serveHttp(
  request: IncomingMessage,
  response: ServerResponse,
  { participant, authenticate, routes }: HttpService,
): Promise<void> {
  const refusal = headerRefusal(request);
  if (refusal !== undefined) return send(response, refusal.status, { type: plainText, content: refusal.content });
  const { pathname, query } = targetOf(request);
  const method = request.method ?? 'GET';
  const match = findRoute(routes, method, pathname);
  if (match === undefined) {
    const requestTarget = query === '' ? pathname : `${pathname}?${query}`;
    send(response, 404, routeNotFound(method, `http://${request.headers.host ?? 'localhost'}${requestTarget}`));
    return;
  }
  try {
    const { endpoint, path } = match;
    const caller = await callerOf(request, endpoint, authenticate, participant.release);
    const disabled = disabledIn(participant.release, endpoint);
    if (disabled !== undefined) throw disabled;
    const timeoutMs = requestTimeoutOf(request, participant.release) ?? participant.limits.requestTimeoutMs;
    const requestContent = await sentOf(request, endpoint, participant.limits);
    const call = { participant, caller, query: new URLSearchParams(query), path, ...requestContent };
    send(response, 200, await runWithin(timeoutMs, () => endpoint.run(call)));
  } catch (error) {
    refuse(response, error, participant.release);
  }
}
