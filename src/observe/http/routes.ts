/**
 * Routes of the server: one row per path, with its methods and access rules. A new endpoint needs its own file and a
 * row here.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CheckpointWaiters } from '../health/checkpoint-waiters.ts';
import type { StatusDocument } from '../health/health-tracker.ts';
import type { Verdict } from '../health/health.ts';
import type { StatusPage } from '../page/status-page.ts';
import { send, sendJson } from './answers.ts';
import type { ChangesAnswers } from './changes-endpoint.ts';
import { handleConsole, type ConsoleEndpoint } from './console-endpoint.ts';
import type { Exposition } from './exposition.ts';
import type { UnsentBytes } from './unsent.ts';
import { handleWait } from './wait-endpoint.ts';

export interface Call {
  readonly path: string;
  /** The part of the URL after the question mark. */
  readonly query: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the server accepts the host name of the request. */
  readonly known: boolean;
}

export interface Route {
  /** A path. If it ends with a slash, it includes all paths below it. */
  readonly path: string;
  /** Methods without a body; undefined if the endpoint checks methods and bodies. */
  readonly methods: readonly string[] | undefined;
  /**
   * Set if the endpoint covers all parties. If roles are limited to parties, callers on other machines then need a
   * token of an unlimited role.
   */
  readonly isOverview?: true;
  /**
   * Set if pages of configured origins may read the endpoint. It is not set for `/metrics`, which is for Prometheus,
   * and for `/query`, whose page comes from this server.
   */
  readonly isShared?: true;
  /** Set for a probe. Probes accept any host name, because load balancers use arbitrary host names. */
  readonly isProbe?: true;
  readonly answer: (call: Call) => Promise<void> | void;
}

/** Serves the paths of `/api`. */
export interface ApiHandler {
  answer(path: string, query: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/**
 * Sources of the responses. If the page, the console, the changes or the API are missing, there are no routes for them.
 */
export interface RouteHandlers {
  readonly status: () => StatusDocument;
  readonly verdict: () => Verdict;
  readonly waiters: CheckpointWaiters;
  readonly page?: StatusPage;
  readonly console?: ConsoleEndpoint | undefined;
  readonly changes?: ChangesAnswers | undefined;
  readonly api?: ApiHandler | undefined;
  readonly exposition: Exposition;
  readonly unsent: UnsentBytes;
}

const readMethods = ['GET', 'HEAD'];

/** All routes, in the order in which a 404 lists them. */
export function routesOf(handlers: RouteHandlers): readonly Route[] {
  const { page, console, changes, api } = handlers;
  return [
    ...(page === undefined ? [] : pageRoutes(page)),
    ...(console === undefined ? [] : consoleRoutes(console)),
    ...statusRoutes(handlers),
    ...(changes === undefined ? [] : [changesRoute(changes, handlers.unsent)]),
    ...(api === undefined ? [] : apiRoutes(api)),
  ];
}

/** Returns the route of a path; undefined if there is none. */
export function routeOf(routes: readonly Route[], path: string): Route | undefined {
  return routes.find(
    (route) => route.path === path || (route.path.endsWith('/') && route.path !== '/' && path.startsWith(route.path)),
  );
}

function pageRoutes(page: StatusPage): readonly Route[] {
  return [
    { path: '/', methods: readMethods, answer: ({ response }) => page.answerPage(response) },
    {
      path: '/events',
      methods: readMethods,
      isOverview: true,
      answer: ({ request, response }) => page.answerEvents(request, response),
    },
    {
      path: '/update',
      methods: readMethods,
      isOverview: true,
      answer: ({ query, response }) => page.answerUpdate(query, response),
    },
  ];
}

function consoleRoutes(console: ConsoleEndpoint): readonly Route[] {
  const handleConsoleCall: Route['answer'] = ({ path, request, response }) =>
    handleConsole(console, path, request, response);
  return [
    { path: '/query', methods: undefined, answer: handleConsoleCall },
    { path: '/query/', methods: undefined, answer: handleConsoleCall },
  ];
}

function statusRoutes({ status, verdict: readVerdict, waiters, exposition }: RouteHandlers): readonly Route[] {
  return [
    {
      path: '/metrics',
      methods: readMethods,
      answer: async ({ response }) => send(response, 200, exposition.contentType, await exposition.now()),
    },
    { path: '/livez', methods: readMethods, isProbe: true, answer: (call) => sendProbe(readVerdict(), 'live', call) },
    { path: '/readyz', methods: readMethods, isProbe: true, answer: (call) => sendProbe(readVerdict(), 'ready', call) },
    {
      path: '/status',
      methods: readMethods,
      isOverview: true,
      answer: ({ response }) => sendJson(response, 200, status()),
    },
    {
      path: '/wait',
      methods: readMethods,
      isShared: true,
      answer: async ({ query, response }) => {
        const closeController = new AbortController();
        response.once('close', () => closeController.abort());
        const { status: code, body } = await handleWait(waiters, query, closeController.signal);
        sendJson(response, code, body);
      },
    },
  ];
}

/** The route does not accept HEAD, because a stream has no end. */
function changesRoute(changes: ChangesAnswers, unsentBytes: UnsentBytes): Route {
  return {
    path: '/changes',
    methods: ['GET'],
    isShared: true,
    answer: ({ query, request, response }) => changes.answer(query, request, response, unsentBytes),
  };
}

/** Methods and bodies are checked by the endpoint, whose refusals are problem details. */
function apiRoutes(api: ApiHandler): readonly Route[] {
  const answer: Route['answer'] = ({ path, query, request, response }) => api.answer(path, query, request, response);
  return ['/api', '/api/'].map((path) => ({ path, methods: undefined, isShared: true, answer }));
}

/** A caller with an unknown host name gets the status without the reason. */
function sendProbe(
  { state, ready, live: isLive, reason, remedy }: Verdict,
  probe: 'ready' | 'live',
  { response, known: isKnownCaller }: Call,
): void {
  const isGood = probe === 'ready' ? ready : isLive;
  sendJson(
    response,
    isGood ? 200 : 503,
    isKnownCaller ? { state, ready, live: isLive, reason, remedy } : { ready, live: isLive },
  );
}
