/** Malformed or forbidden requests, sent one at a time. They vary methods, bytes, hosts, origins and proxy headers. */
import { heldVerdict, verdict, type Attempt, type Group } from '../attempt.ts';
import { requestQueryPage, queryLocally, forwardedHeaders } from '../wire/ask.ts';
import { exchange, head, statusOf, openRawConnection } from '../wire/raw.ts';
import { rawAttempt, requestRow } from '../wire/rows.ts';

const methods = ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE'].map((method) =>
  rawAttempt(`method-${method.toLowerCase()}`, `${method} /metrics`, [`${method} /metrics HTTP/1.1`], [405]),
);

const malformedAttempts = [
  rawAttempt('connect-tunnel', 'CONNECT to another host', ['CONNECT 169.254.169.254:80 HTTP/1.1'], [0, 400, 405]),
  rawAttempt('unknown-method', 'an invented method', ['HELLO / HTTP/1.1'], [0, 400, 405]),
  rawAttempt('unknown-version', 'an invented version of HTTP', ['GET /livez HTTP/9.9'], [0, 400, 505]),
  rawAttempt('control-bytes', 'bytes that are not HTTP', ['\u0000\u0001\u0016\u0003'], [0, 400]),
  rawAttempt('header-of-9000-bytes', 'a long header', ['GET /livez HTTP/1.1', `X: ${'x'.repeat(9_000)}`], [431]),
  rawAttempt('path-of-9000-bytes', 'a long path', [`GET /livez?${'x'.repeat(9_000)} HTTP/1.1`], [414, 431]),
  rawAttempt('two-host-headers', 'two hosts', ['GET /status HTTP/1.1', 'Host: 127.0.0.1', 'Host: evil.example'], [400]),
  rawAttempt(
    'smuggled-lengths',
    'two lengths',
    ['GET / HTTP/1.1', 'Content-Length: 0', 'Content-Length: 40'],
    [0, 400, 413],
  ),
  rawAttempt(
    'smuggled-chunks',
    'a length and chunks',
    ['POST /query HTTP/1.1', 'Content-Length: 4', 'Transfer-Encoding: chunked'],
    [0, 400, 413],
  ),
  rawAttempt('announced-body', 'a body of a gigabyte', ['GET /status HTTP/1.1', 'Content-Length: 1000000000'], [413]),
  rawAttempt(
    'split-header-line',
    'a line break within a header',
    ['GET /livez HTTP/1.1', 'X: a\nInjected: b\r'],
    [0, 400, 200],
  ),
  rawAttempt('folded-header', 'an obsolete folded header', ['GET /livez HTTP/1.1', 'X: a', ' b'], [0, 400, 200]),
  rawAttempt(
    'absolute-target',
    'the address of another host as the path',
    ['GET http://evil.example/status HTTP/1.1'],
    [400, 404, 421],
  ),
];

const paths = [
  '/../../etc/passwd',
  '/..%2f..%2fetc%2fpasswd',
  '//etc/passwd',
  '/query/../metrics/../../package.json',
  '/.ledger-indexer/running.json',
  '/%00',
  '/__proto__',
  '/constructor',
  '/toString',
].map((path, index) =>
  rawAttempt(`path-outside-${String(index + 1)}`, `GET ${path}`, [`GET ${path} HTTP/1.1`], [400, 404, 405]),
);

const rebinding = [
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '127.0.0.1.nip.io',
  'evil.example:80',
].flatMap((host) =>
  ['/status', '/update?offset=1', '/changes', '/metrics'].map((path) =>
    rawAttempt(
      `rebound-name-${host.replaceAll(/[.:]/g, '-')}${path.replaceAll(/\W+/g, '-')}`,
      `a page of ${host} whose name resolves to this machine reads ${path}`,
      [`GET ${path} HTTP/1.1`, `Host: ${host}`],
      [421],
    ),
  ),
);

/** Headers that load balancers, content delivery networks and platforms add to a forwarded request. */
const proxyHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-real-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'client-ip',
  'x-azure-clientip',
  'x-azure-socketip',
  'fastly-client-ip',
  'fly-client-ip',
  'x-originating-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-proxyuser-ip',
  'x-amzn-trace-id',
  'x-appengine-user-ip',
  'cdn-loop',
  'x-envoy-external-address',
  'x-cluster-client-ip',
  'x-vercel-forwarded-for',
  'do-connecting-ip',
  'x-nf-client-connection-ip',
  'x-varnish',
  'tailscale-user-login',
  'x-goog-iap-jwt-assertion',
  'x-ms-client-principal',
  'x-nginx-proxy',
  'x-kong-request-id',
  'ngrok-trace-id',
  'x-request-id',
  'remote-user',
  'x_forwarded_for',
  'an-unknown-header',
];

const proxyAttempts: readonly Attempt[] = proxyHeaders.map((name) => ({
  id: `proxied-by-${name}`,
  what: `a proxy on this machine forwards a query with the header ${name}`,
  expected: 'status 403, because the caller is on another machine',
  run: async ({ httpUrl }) => {
    const headers = { origin: httpUrl, 'content-type': 'application/json', [name]: '203.0.113.7' };
    const { status, body } = await requestQueryPage(`${httpUrl}/query`, {
      method: 'POST',
      headers,
      body: '{"statement":"select 1"}',
    });
    return verdict(status === 403, `status ${String(status)}: ${body}`);
  },
}));

const queryBody = '{"statement":"select count(*) from explore.contracts"}';

function crossOrigin(
  id: string,
  description: string,
  change: (url: string) => Readonly<Record<string, string>>,
): Attempt {
  return requestRow({
    id: `query-${id}`,
    what: description,
    path: '/query',
    options: ({ httpUrl }) => {
      const headers = { origin: httpUrl, 'content-type': 'application/json', ...change(httpUrl) };
      return { method: 'POST', headers, body: queryBody };
    },
    statuses: [403, 421],
  });
}

const origins = [
  crossOrigin('of-another-origin', 'a request from a page of another origin', () => ({
    origin: 'https://evil.example',
  })),
  crossOrigin('of-null-origin', 'a request from a page in a sandboxed frame', () => ({ origin: 'null' })),
  crossOrigin('of-named-origin', 'a request from a page that may read /changes', () => ({
    origin: 'https://app.example',
  })),
  crossOrigin('by-form', 'a request from a form of another page', () => ({ 'content-type': 'text/plain' })),
  crossOrigin('cross-site', 'a browser reports that the page is of another site', () => ({
    'sec-fetch-site': 'cross-site',
  })),
  crossOrigin('same-site', 'a request from a page of another port', () => ({ 'sec-fetch-site': 'same-site' })),
  crossOrigin('by-address-on-network', 'by an address that is not of loopback', () => ({ host: '10.0.0.5' })),
  crossOrigin('with-charset', 'a content type that only begins like JSON', () => ({
    'content-type': 'application/json-seq',
  })),
  {
    id: 'cors-for-an-unnamed-origin',
    what: 'a page of an origin that is not named reads /changes',
    expected: 'no header that allows it',
    run: async ({ httpUrl }) => {
      const headers = { origin: 'https://evil.example' };
      const { headers: responseHeaders, status } = await requestQueryPage(`${httpUrl}/changes`, { headers, most: 1 });
      const allowedOrigin = String(responseHeaders['access-control-allow-origin']);
      return verdict(
        responseHeaders['access-control-allow-origin'] === undefined,
        `status ${String(status)}, allowed: ${allowedOrigin}`,
      );
    },
  },
  {
    id: 'cors-with-credentials',
    what: 'the named origin requests that cookies are allowed',
    expected: 'the origin alone is allowed, without credentials and never *',
    run: async ({ httpUrl }) => {
      const headers = { origin: 'https://app.example', 'access-control-request-method': 'GET' };
      const { headers: responseHeaders } = await requestQueryPage(`${httpUrl}/changes`, { method: 'OPTIONS', headers });
      const [origin, credentials] = ['origin', 'credentials'].map(
        (name) => responseHeaders[`access-control-allow-${name}`],
      );
      return verdict(origin === 'https://app.example' && credentials === undefined, JSON.stringify(responseHeaders));
    },
  },
] satisfies readonly Attempt[];

const overview = ['/status', '/update?offset=1', '/events', '/changes?after=0'].map((path) =>
  requestRow({
    id: `without-token-from-elsewhere${path.replaceAll(/\W+/g, '-')}`,
    what: `${path} from another machine without a token, while roles are limited to parties`,
    path: ({ hidden: hiddenUpdate }) => path.replace('=1', `=${String(hiddenUpdate.offset)}`),
    options: { headers: forwardedHeaders, most: 1 },
    statuses: [401, 403],
    without: ({ hidden: hiddenUpdate }) => [hiddenUpdate.updateId, hiddenUpdate.contractId],
  }),
);

const bodies: readonly Attempt[] = [
  {
    id: 'question-of-a-megabyte',
    what: 'a query that is longer than 64 KiB',
    expected: 'status 413',
    run: async (world) => {
      const { status } = await queryLocally(world, `select '${'x'.repeat(1_000_000)}'`);
      return verdict(status === 413 || status === 0, `status ${String(status)}`);
    },
  },
  ...[
    '',
    '[]',
    'null',
    '{"statement":1}',
    '{"statement":["select 1"]}',
    '{"__proto__":{"statement":"select 1"}}',
    '{',
  ].map((body, index): Attempt => ({
    id: `malformed-question-${String(index + 1)}`,
    what: `a query whose body is ${body === '' ? 'empty' : body}`,
    expected: 'status 400',
    run: async ({ httpUrl }) => {
      const headers = { origin: httpUrl, 'content-type': 'application/json' };
      const { status } = await requestQueryPage(`${httpUrl}/query`, { method: 'POST', headers, body });
      return verdict(status === 400, `status ${String(status)}`);
    },
  })),
];

const parameters = [
  'offset=-1',
  'offset=1e309',
  'offset=9223372036854775808',
  "offset=1'or'1",
  'offset=',
  'offset[]=1',
  'offset=%00',
].flatMap((query, index) =>
  ['/update', '/wait'].map((path) =>
    requestRow({
      id: `odd-parameter-${String(index + 1)}-of${path.replace('/', '-')}`,
      what: `${path}?${query}`,
      path: `${path}?${query}&timeout=0`,
      statuses: [400, 404, 504],
    }),
  ),
);

const slowAttempts: readonly Attempt[] = [
  {
    id: 'half-a-request',
    what: 'a header that never ends, on 50 connections',
    expected: 'each is closed within seconds, and /livez responds meanwhile',
    run: async ({ port, httpUrl }) => {
      const rawConnections = Array.from({ length: 50 }, () =>
        openRawConnection(port, 'GET /livez HTTP/1.1\r\nHost: x\r\n'),
      );
      const { status } = await requestQueryPage(`${httpUrl}/livez`);
      await Promise.all(rawConnections.map(({ closed: whenClosed }) => whenClosed));
      return verdict(status === 200, `all were closed; /livez: ${String(status)}`);
    },
  },
  {
    id: 'head-of-changes',
    what: 'HEAD /changes, which would hold a place for nothing',
    expected: 'status 405',
    run: async ({ port }) => {
      const status = statusOf(await exchange(port, head('HEAD /changes HTTP/1.1')));
      return status === 405 ? heldVerdict('status 405') : verdict(false, `status ${String(status)}`);
    },
  },
];

export const httpRequests: Group = {
  name: 'http-requests',
  what: 'requests that a client should not make',
  quick: true,
  attempts: [
    ...[methods, malformedAttempts, paths, rebinding, proxyAttempts].flat(),
    ...[origins, overview, bodies, parameters, slowAttempts].flat(),
  ],
};
