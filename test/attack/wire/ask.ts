/** Requests to the indexer: local ones, and ones through a proxy with a token. */
import { request } from 'node:http';
import type { World } from '../world/world.ts';

export interface Answer {
  /** Status code; 0 if the connection ended without a response. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Number of characters after which the client stops reading an endless response. */
  readonly most?: number;
  readonly limitMs?: number;
}

const usualLimitMs = 60_000;

/** Sends one request on its own connection. Never rejects. */
export function ask(url: string, options: AskOptions = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, most = Infinity, limitMs = usualLimitMs } = options;
  return new Promise((resolve) => {
    let [status, text] = [0, ''];
    let seen: Answer['headers'] = {};
    const end = (): void => resolve({ status, headers: seen, body: text });
    const sent = request(url, { method, headers, agent: false }, (response) => {
      status = response.statusCode ?? 0;
      seen = response.headers;
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (text.length >= most) sent.destroy();
      });
      response.once('error', () => undefined).once('close', end);
    });
    const limit = setTimeout(() => sent.destroy(), limitMs);
    sent.once('error', end).once('close', () => {
      clearTimeout(limit);
      end();
    });
    sent.end(body);
  });
}

/** Headers that only a proxy adds, so that the request does not count as local. */
export const elsewhere = { 'x-forwarded-for': '203.0.113.7' };

/** Headers of a request with a token through a proxy. */
export function bearer(token: string): Readonly<Record<string, string>> {
  return { ...elsewhere, authorization: `Bearer ${token}` };
}

/** Sends a statement to the query page as a local request. */
export function askHere(world: World, statement: string, path = '/query'): Promise<Answer> {
  const headers = { origin: world.httpUrl, 'content-type': 'application/json' };
  return ask(`${world.httpUrl}${path}`, { method: 'POST', headers, body: JSON.stringify({ statement }) });
}

/** Sends a statement to the query page with a token. */
export function askWith(world: World, token: string, statement: string, path = '/query'): Promise<Answer> {
  const headers = { ...bearer(token), 'content-type': 'application/json' };
  return ask(`${world.httpUrl}${path}`, { method: 'POST', headers, body: JSON.stringify({ statement }) });
}
