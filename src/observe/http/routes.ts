/** What the server answers: one row for each path, with who may ask for it and how. A new endpoint is its file and a row here. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CheckpointWaiters } from '../health/checkpoint-waiters.ts';
import type { StatusDocument } from '../health/health-tracker.ts';
import type { Verdict } from '../health/health.ts';
import type { StatusPage } from '../page/status-page.ts';
import { send, sendJson } from './answers.ts';
import type { ChangesAnswers } from './changes-endpoint.ts';
import { answerConsole, type ConsoleEndpoint } from './console-endpoint.ts';
import type { Exposition } from './exposition.ts';
import type { Unsent } from './unsent.ts';
import { answerWait } from './wait-endpoint.ts';

export interface Call {
  readonly path: string;
  /** Behind the question mark. */
  readonly query: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the server was asked by a name that is its own. */
  readonly known: boolean;
}

export interface Route {
  /** With a slash at its end: all paths below it. */
  readonly path: string;
  /** Without a body; undefined where the endpoint looks at methods and bodies itself. */
  readonly methods: readonly string[] | undefined;
  /** It shows all parties: where roles are limited to some, from elsewhere a token of one that is not has to be shown. */
  readonly isOverview?: true;
  /** Pages of other origins that are named may read it. Not `/metrics`, which Prometheus reads, and not `/query`, whose page is ours. */
  readonly isShared?: true;
  /** Load balancers ask for it by any name. */
  readonly isProbe?: true;
  readonly answer: (call: Call) => Promise<void> | void;
}

/** What the rows answer from; without page, console or changes there are no rows of them. */
export interface Answers {
  readonly status: () => StatusDocument;
  readonly verdict: () => Verdict;
  readonly waiters: CheckpointWaiters;
  readonly page?: StatusPage;
  readonly console?: ConsoleEndpoint | undefined;
  readonly changes?: ChangesAnswers | undefined;
  readonly exposition: Exposition;
  readonly unsent: Unsent;
}

const read = ['GET', 'HEAD'];

/** In the order in which they are listed to who asks for a path that is none. */
export function routesOf(answers: Answers): readonly Route[] {
  const { page, console, changes } = answers;
  return [
    ...(page === undefined ? [] : pageRoutes(page)),
    ...(console === undefined ? [] : consoleRoutes(console)),
    ...plainRoutes(answers),
    ...(changes === undefined ? [] : [changesRoute(changes, answers.unsent)]),
  ];
}

/** The row of a path; undefined when there is none. */
export function routeOf(routes: readonly Route[], path: string): Route | undefined {
  return routes.find(
    (route) => route.path === path || (route.path.endsWith('/') && route.path !== '/' && path.startsWith(route.path)),
  );
}

function pageRoutes(page: StatusPage): readonly Route[] {
  return [
    { path: '/', methods: read, answer: ({ response }) => page.answerPage(response) },
    {
      path: '/events',
      methods: read,
      isOverview: true,
      answer: ({ request, response }) => page.answerEvents(request, response),
    },
    {
      path: '/update',
      methods: read,
      isOverview: true,
      answer: ({ query, response }) => page.answerUpdate(query, response),
    },
  ];
}

function consoleRoutes(console: ConsoleEndpoint): readonly Route[] {
  const answer: Route['answer'] = ({ path, request, response }) => answerConsole(console, path, request, response);
  return [
    { path: '/query', methods: undefined, answer },
    { path: '/query/', methods: undefined, answer },
  ];
}

function plainRoutes({ status, verdict, waiters, exposition }: Answers): readonly Route[] {
  return [
    {
      path: '/metrics',
      methods: read,
      answer: async ({ response }) => send(response, 200, exposition.contentType, await exposition.now()),
    },
    { path: '/livez', methods: read, isProbe: true, answer: (call) => answerProbe(verdict(), 'live', call) },
    { path: '/readyz', methods: read, isProbe: true, answer: (call) => answerProbe(verdict(), 'ready', call) },
    { path: '/status', methods: read, isOverview: true, answer: ({ response }) => sendJson(response, 200, status()) },
    {
      path: '/wait',
      methods: read,
      isShared: true,
      answer: async ({ query, response }) => {
        const gone = new AbortController();
        response.once('close', () => gone.abort());
        const { status: code, body } = await answerWait(waiters, query, gone.signal);
        sendJson(response, code, body);
      },
    },
  ];
}

/** A stream has no end that a HEAD could be answered at. */
function changesRoute(changes: ChangesAnswers, unsent: Unsent): Route {
  return {
    path: '/changes',
    methods: ['GET'],
    isShared: true,
    answer: ({ query, request, response }) => changes.answer(query, request, response, unsent),
  };
}

/** Who asks by a name that is not ours learns whether it lives and is ready, not why. */
function answerProbe(
  { state, ready, live, reason, remedy }: Verdict,
  question: 'ready' | 'live',
  { response, known }: Call,
): void {
  const good = question === 'ready' ? ready : live;
  sendJson(response, good ? 200 : 503, known ? { state, ready, live, reason, remedy } : { ready, live });
}
