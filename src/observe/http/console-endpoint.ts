/**
 * `/query`: the page by GET, questions by POST, below it what belongs to the page. The page itself holds nothing, and is
 * for everybody; questions are answered to this machine, and to who shows a token.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsolePage, TokenLogin } from '../page/console-page.ts';
import { loginPasswordOf } from '../../reader-token.ts';
import { refuse, refuseAsker, send } from './answers.ts';
import type { ReaderTokens } from './reader-tokens.ts';
import { notFromHere, notOfOurPage } from './local-caller.ts';

/** Of a body, bytes. */
const longestBody = 64 * 1024;

export interface ConsoleEndpoint {
  readonly page: ConsolePage;
  readonly tokens: ReaderTokens;
}

/** Answers a request for such a path. When the client leaves before the answer, what it asked is stopped. */
export async function answerConsole(
  { page, tokens }: ConsoleEndpoint,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // No page of another origin may so much as show it.
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  if (path === '/query' && (request.method === 'GET' || request.method === 'HEAD')) {
    return page.answerPage(response);
  }
  if (request.method !== 'POST') {
    response.setHeader('allow', path === '/query' ? 'GET, HEAD, POST' : 'POST');
    return refuse(response, 405, 'questions are asked with POST');
  }
  const asker = await askerOf(tokens, request);
  if ('status' in asker) return refuseAsker(response, asker.status, asker.error);
  const body = await bodyOf(request);
  if (body === undefined) return refuse(response, 413, `a question has at most ${String(longestBody)} bytes`);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.destroyed) return;
  const answer = await page.answer(path, body, gone.signal, asker.login);
  if (!response.destroyed) send(response, answer.status, answer.type, answer.body);
}

type Asker = { readonly login: TokenLogin | undefined } | { readonly status: number; readonly error: string };

/** A browser sends a token of the page by no other page's doing, so its origin need not be looked at. */
async function askerOf(tokens: ReaderTokens, request: IncomingMessage): Promise<Asker> {
  const shown = await tokens.check(request);
  if (shown === undefined) {
    const reason = notFromHere(request);
    if (reason !== undefined) return { status: 403, error: `${reason}; from other machines, send a token` };
    const stranger = notOfOurPage(request);
    return stranger === undefined ? { login: undefined } : { status: 403, error: stranger };
  }
  if ('status' in shown) return shown;
  if (request.headers['content-type'] !== 'application/json') {
    return { status: 403, error: 'a question is JSON: content-type application/json' };
  }
  const { id, role, login } = shown.token;
  return { login: { name: login, password: loginPasswordOf(shown.secret), token: id, role } };
}

/** All of it; undefined when it is too long, or did not come to its end. The rest is not read then. */
function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let length = 0;
    request.on('data', (piece: Buffer) => {
      length += piece.length;
      if (length <= longestBody) pieces.push(piece);
      else {
        request.pause();
        resolve(undefined);
      }
    });
    request.once('end', () => resolve(Buffer.concat(pieces).toString('utf8')));
    request.once('error', () => resolve(undefined));
    request.once('close', () => resolve(undefined));
  });
}
