/** Requests to the indexer: local ones, and ones through a proxy with a token. */
import { request } from 'node:http';
import type { World } from '../world/world.ts';

export interface Answer {
  /** Status code; 0 if the connection ended without a response. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Number of characters after which the client stops reading an endless response. */
  readonly most?: number;
  readonly limitMs?: number;
}

const usualLimitMs = 60_000;

/** Sends one request on its own connection. Never rejects. */
export function requestQueryPage(url: string, options: RequestOptions = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, most: maxBytes = Infinity, limitMs = usualLimitMs } = options;
  return new Promise((resolve) => {
    let [status, text] = [0, ''];
    let responseHeaders: Answer['headers'] = {};
    const end = (): void => resolve({ status, headers: responseHeaders, body: text });
    const clientRequest = request(url, { method, headers, agent: false }, (response) => {
      status = response.statusCode ?? 0;
      responseHeaders = response.headers;
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (text.length >= maxBytes) clientRequest.destroy();
      });
      response.once('error', () => undefined).once('close', end);
    });
    const limit = setTimeout(() => clientRequest.destroy(), limitMs);
    clientRequest.once('error', end).once('close', () => {
      clearTimeout(limit);
      end();
    });
    clientRequest.end(body);
  });
}

/** Headers that only a proxy adds, so that the request does not count as local. */
export const forwardedHeaders = { 'x-forwarded-for': '203.0.113.7' };

/** Headers of a request with a token through a proxy. */
export function bearer(token: string): Readonly<Record<string, string>> {
  return { ...forwardedHeaders, authorization: `Bearer ${token}` };
}

/** Sends a statement to the query page as a local request. */
export function queryLocally(world: World, statement: string, path = '/query'): Promise<Answer> {
  const headers = { origin: world.httpUrl, 'content-type': 'application/json' };
  return requestQueryPage(`${world.httpUrl}${path}`, { method: 'POST', headers, body: JSON.stringify({ statement }) });
}

/** Sends a statement to the query page with a token. */
export function queryWithToken(world: World, token: string, statement: string, path = '/query'): Promise<Answer> {
  const headers = { ...bearer(token), 'content-type': 'application/json' };
  return requestQueryPage(`${world.httpUrl}${path}`, { method: 'POST', headers, body: JSON.stringify({ statement }) });
}
