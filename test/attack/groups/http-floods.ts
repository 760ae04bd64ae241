/** Attacks with many concurrent connections and requests, and with clients that never read the responses. */
import { verdict, type Attempt, type Group, type Verdict } from '../attempt.ts';
import { requestQueryPage, bearer } from '../wire/ask.ts';
import { flood, floodRow, survivalVerdict, type FloodOptions } from '../wire/flood.ts';
import type { World } from '../world/world.ts';

const get = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n`;
const holdMs = 15_000;

/** Checks that every client gets responses again after the attempt. */
async function checkResponsive(world: World): Promise<Verdict> {
  const paths = ['/livez', '/status', '/metrics', '/', '/wait?offset=1&timeout=0', '/events', '/changes'];
  const statuses: string[] = [];
  for (const path of paths) {
    const { status } = await requestQueryPage(`${world.httpUrl}${path}`, {
      headers: bearer(world.tokens.all.token),
      most: 1,
      limitMs: 15_000,
    });
    statuses.push(`${path} ${String(status)}`);
  }
  return verdict(
    statuses.every((status) => status.endsWith(' 200')),
    `afterwards: ${statuses.join(', ')}`,
  );
}

const floods: readonly (readonly [string, string, FloodOptions])[] = [
  [
    'metrics-pipelined',
    '990 requests for /metrics on each of 16 connections, unread',
    { connections: 16, text: get('/metrics'), repeat: 990, read: false, holdMs },
  ],
  [
    'livez-pipelined',
    '1,400 requests for /livez on each of 1,000 connections',
    { connections: 1_000, text: 'GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', repeat: 1_400, holdMs: 8_000 },
  ],
  [
    'metrics-pipelined-and-read',
    '200 requests for /metrics on each of 100 connections',
    { connections: 100, text: get('/metrics'), repeat: 200, holdMs },
  ],
  [
    'status-pipelined',
    '500 requests for /status on each of 50 connections',
    { connections: 50, text: get('/status'), repeat: 500, holdMs },
  ],
  ['page-unread', 'the page on 400 connections, unread', { connections: 400, text: get('/'), read: false, holdMs }],
  [
    'metrics-unread',
    '/metrics on 1,000 connections, unread',
    { connections: 1_000, text: get('/metrics'), read: false, holdMs },
  ],
  [
    'updates-pipelined',
    '500 requests for /update on each of 20 connections',
    { connections: 20, text: get('/update?offset=5'), repeat: 500, holdMs },
  ],
  ['updates-at-once', '/update on 500 connections', { connections: 500, text: get('/update?offset={n}'), holdMs }],
  ['events-pages', '200 status pages, unread', { connections: 200, text: get('/events'), read: false, holdMs }],
  [
    'events-pipelined',
    '60 requests for /events on one connection, after one for /changes',
    { connections: 1, text: get('/changes') + get('/events').repeat(60), holdMs: 5_000 },
  ],
  [
    'changes-pipelined-without-a-match',
    '1,000 requests for /changes on one connection',
    { connections: 1, text: get('/changes?party=absent::1220'), repeat: 1_000, holdMs: 5_000 },
  ],
  [
    'wait-then-changes-pipelined',
    'requests for /changes behind one for /wait',
    { connections: 20, text: get('/wait?offset=999999999&timeout=3') + get('/changes').repeat(50), holdMs: 8_000 },
  ],
  [
    'waiting',
    '/wait on 1,500 connections',
    { connections: 1_500, text: get('/wait?offset=999999999&timeout=60'), holdMs },
  ],
  ['idle', '2,500 connections that send nothing', { connections: 2_500, holdMs }],
  [
    'half-requests',
    '1,500 connections with half a request each',
    { connections: 1_500, text: 'GET /livez HTTP/1.1\r\nHost: x\r\n', holdMs },
  ],
  [
    'headers-drop-by-drop',
    '300 connections with a header byte by byte',
    { connections: 300, text: 'GET /livez HTTP/1.1\r\nHost: x\r\n', drip: 'X-a: b\r\n', holdMs },
  ],
  [
    'not-http',
    '500 connections with bytes that are not HTTP',
    { connections: 500, text: '\u0016\u0003\u0001'.repeat(1_000), holdMs: 5_000 },
  ],
  [
    'questions-without-token',
    '500 queries from another machine without a token',
    {
      connections: 500,
      text: 'POST /query HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 10.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n{"statement":"select 1"}',
      holdMs: 8_000,
    },
  ],
  [
    'bodies-that-never-come',
    '300 queries whose body does not come',
    {
      connections: 300,
      text: 'POST /query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{',
      holdMs,
    },
  ],
  [
    'guessed-tokens',
    '1,500 guessed tokens',
    {
      connections: 1_500,
      text: `GET /changes HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 10.0.0.1\r\nAuthorization: Bearer lir_${'B'.repeat(38)}{n}\r\n\r\n`,
      holdMs,
    },
  ],
];

const newcomerAttempt: Attempt = {
  id: 'flood-newcomers',
  what: '400 connections that send nothing, while 300 others connect at once and send their request a moment later',
  expected: 'each of the 300 gets a response',
  run: async (world) => {
    const idleFlood = flood(world, { connections: 400, holdMs: 8_000 });
    const floodResult = await flood(world, { connections: 300, text: get('/livez'), afterMs: 500, holdMs: 4_000 });
    await idleFlood;
    const { answers: responseCount } = JSON.parse(floodResult) as { readonly answers: number };
    const { held: isHeld, seen: observation } = survivalVerdict(world, floodResult);
    return verdict(isHeld && responseCount === 300, `${String(responseCount)} answers; ${observation}`);
  },
};

export const httpFloods: Group = {
  name: 'http-floods',
  what: 'many connections and requests at once',
  quick: false,
  attempts: [
    ...floods.map(([id, description, spec]) => floodRow(`flood-${id}`, description, spec, checkResponsive)),
    newcomerAttempt,
  ],
};
