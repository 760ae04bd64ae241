/** Only requests with the headers of direct clients count as local. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { remoteCallerReason } from '../../src/observe/http/local-caller.ts';

let server: Server;
beforeAll(async () => {
  server = createServer((incomingRequest, response) => response.end(remoteCallerReason(incomingRequest) ?? ''));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => server.close());

/** Reasons why a request with these headers is not local; empty if it is local. */
function reason(headers: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    const clientRequest = request({ port, host: '127.0.0.1', agent: false, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.once('end', () => resolve(text));
    });
    clientRequest.once('error', reject).end();
  });
}

/** Names of headers that each client sends by default. */
const clients = {
  Chromium:
    'connection cache-control sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform dnt upgrade-insecure-requests user-agent accept ' +
    'sec-purpose purpose sec-fetch-site sec-fetch-mode sec-fetch-user sec-fetch-dest referer accept-encoding accept-language cookie',
  Firefox:
    'user-agent accept accept-language accept-encoding dnt sec-gpc connection referer cookie upgrade-insecure-requests sec-fetch-dest ' +
    'sec-fetch-mode sec-fetch-site priority te pragma cache-control if-none-match',
  'EventSource of a browser':
    'accept cache-control last-event-id origin referer user-agent accept-language sec-fetch-mode',
  curl: 'user-agent accept authorization',
  'curl --http2': 'user-agent accept connection http2-settings',
  'fetch of Node': 'connection accept accept-language sec-fetch-mode user-agent accept-encoding content-type',
  'an instrumented program': 'traceparent tracestate baggage user-agent accept',
  Prometheus: 'user-agent accept accept-encoding x-prometheus-scrape-timeout-seconds',
  'Go, Python': 'user-agent accept-encoding accept connection',
};

/** Names of headers that proxies, tunnels, platforms and gateways add. */
const proxies = [
  'forwarded via x-forwarded-for x-forwarded-host x-forwarded-proto x-forwarded-prefix x-forwarded x-real-ip x-original-url',
  'x-original-forwarded-for x-originating-ip x-rewrite-url x-envoy-external-address x-envoy-attempt-count x-request-id',
  'x-amzn-trace-id x-amzn-oidc-data x-amz-cf-id cloudfront-viewer-address true-client-ip cf-ray cf-connecting-ip cf-visitor cdn-loop',
  'cf-access-jwt-assertion x-varnish x-cache x-nginx-proxy x-kong-request-id x-consumer-id x-credential-identifier ngrok-trace-id',
  'ngrok-agent-ips tailscale-user-login tailscale-user-name x-goog-iap-jwt-assertion x-goog-authenticated-user-email',
  'x-cloud-trace-context x-ms-client-principal x-ms-client-principal-name x-arr-log-id x-azure-ref disguised-host was-default-hostname',
  'fly-client-ip fly-forwarded-port x-vercel-id x-nf-request-id x-railway-edge x-appengine-user-ip do-connecting-ip x-client-ip',
  'client-ip x-cluster-client-ip x-proxyuser-ip x-remote-addr x-remote-user remote-user x-auth-request-user x-webauth-user',
  'x-authentik-username x-token-subject ssl-client-cert x-ssl-client-verify x-client-cert l5d-dst-override x-b3-traceid x-scheme',
  'x-port x-host x-forwarded-client-cert wl-proxy-client-ip proxy-connection proxy-authorization surrogate-capability x-akamai-edgescape',
  'fastly-ff fastly-client-ip x-newly-invented something-unknown',
].flatMap((names) => names.split(' '));

const withUnderscores = ['x_forwarded_for', 'x_real_ip', 'remote_addr', 'tailscale_user_login', 'accept_language'];

describe('request over loopback', () => {
  it.each(Object.entries(clients))('is local with the headers of %s', async (_, names) => {
    const headers = Object.fromEntries(names.split(' ').map((name) => [name, 'x']));
    expect(await reason({ ...headers, connection: 'close' })).toBe('');
  });

  it.each([...proxies, ...withUnderscores])(
    'is not local with the header %s, and the reason names the header',
    async (name) => {
      expect(await reason({ [name]: 'somebody@example.com' })).toContain(
        `("${name}"): only requests from this machine are accepted`,
      );
    },
  );

  it('is classified regardless of the case of header names', async () => {
    expect(await reason({ 'Tailscale-User-Login': 'x' })).toContain('tailscale-user-login');
    expect(await reason({ 'USER-AGENT': 'x', 'Accept-Language': 'de' })).toBe('');
  });
});
