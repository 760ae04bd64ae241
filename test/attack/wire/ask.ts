/** Requests of a program on this machine, or of one behind a proxy that holds a token. */
import { request } from 'node:http';
import type { World } from '../world/world.ts';

export interface Answer {
  /** 0: the connection ended without a response. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Stop reading an endless response after so many characters. */
  readonly most?: number;
  readonly limitMs?: number;
}

const usualLimitMs = 60_000;

/** One request on a connection of its own. Never rejects. */
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

/** Headers that only a proxy adds: the caller is on another machine. */
export const elsewhere = { 'x-forwarded-for': '203.0.113.7' };

/** Headers of a holder of a token on another machine. */
export function bearer(token: string): Readonly<Record<string, string>> {
  return { ...elsewhere, authorization: `Bearer ${token}` };
}

/** A statement on the query page, as a program of this machine. */
export function askHere(world: World, statement: string, path = '/query'): Promise<Answer> {
  const headers = { origin: world.httpUrl, 'content-type': 'application/json' };
  return ask(`${world.httpUrl}${path}`, { method: 'POST', headers, body: JSON.stringify({ statement }) });
}

/** A statement on the query page with a token. */
export function askWith(world: World, token: string, statement: string, path = '/query'): Promise<Answer> {
  const headers = { ...bearer(token), 'content-type': 'application/json' };
  return ask(`${world.httpUrl}${path}`, { method: 'POST', headers, body: JSON.stringify({ statement }) });
}
