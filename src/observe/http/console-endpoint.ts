/**
 * `/query`: GET returns the page, and POST runs its queries. Paths below `/query` are resources of the page. The page
 * contains no data and is public. Queries are accepted only from this machine or with a reader token.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleCaller, ConsolePage } from '../page/console-page.ts';
import { loginPasswordOf } from '../../reader-token.ts';
import { sendError, sendCallerError, send } from './answers.ts';
import type { TokenCallers } from './token-callers.ts';
import { remoteCallerReason, notOfOurPage } from './local-caller.ts';

/** Maximum size of a request body, bytes. */
const longestBody = 64 * 1024;

export interface ConsoleEndpoint {
  readonly page: ConsolePage;
  readonly callers: TokenCallers;
}

/** Responds to a request for one of these paths. If the client disconnects first, its query is cancelled. */
export async function handleConsole(
  { page, callers }: ConsoleEndpoint,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Pages of other origins must not embed or load it.
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  if (path === '/query' && (request.method === 'GET' || request.method === 'HEAD')) {
    return page.answerPage(response);
  }
  if (request.method !== 'POST') {
    response.setHeader('allow', path === '/query' ? 'GET, HEAD, POST' : 'POST');
    return sendError(response, 405, 'queries are sent with POST');
  }
  const caller = await callerOf(callers, request);
  if ('status' in caller) return sendCallerError(response, caller.status, caller.error);
  const body = await bodyOf(request);
  if (body === undefined) return sendError(response, 413, `a query may have at most ${String(longestBody)} bytes`);
  const closeController = new AbortController();
  response.once('close', () => closeController.abort());
  if (response.destroyed) return;
  const consoleAnswer = await page.answer(path, body, closeController.signal, caller.caller);
  if (!response.destroyed) send(response, consoleAnswer.status, consoleAnswer.type, consoleAnswer.body);
}

/** `caller` is undefined for requests from this machine without a token. */
type CallerCheck = { readonly caller: ConsoleCaller | undefined } | { readonly status: number; readonly error: string };

/** No other page can make a browser send the token of this page, so the origin need not be checked. */
async function callerOf(callers: TokenCallers, request: IncomingMessage): Promise<CallerCheck> {
  const tokenCheck = await callers.check(request);
  if (tokenCheck === undefined) {
    const reason = remoteCallerReason(request);
    if (reason !== undefined) return { status: 403, error: `${reason}; from other machines, send ${callers.kinds}` };
    const foreignPageReason = notOfOurPage(request);
    return foreignPageReason === undefined ? { caller: undefined } : { status: 403, error: foreignPageReason };
  }
  if ('status' in tokenCheck) return tokenCheck;
  if (request.headers['content-type'] !== 'application/json') {
    return { status: 403, error: 'send the query as JSON, with content-type application/json' };
  }
  if ('node' in tokenCheck) return { caller: { user: tokenCheck.node.user, rights: tokenCheck.node.rights } };
  const { id, role, login } = tokenCheck.token;
  return { caller: { name: login, password: loginPasswordOf(tokenCheck.secret), token: id, role } };
}

/**
 * Reads the complete body. Resolves to undefined if the body is too long or was aborted. The rest of the body is then
 * not read.
 */
function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= longestBody) chunks.push(chunk);
      else {
        request.pause();
        resolve(undefined);
      }
    });
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.once('error', () => resolve(undefined));
    request.once('close', () => resolve(undefined));
  });
}
