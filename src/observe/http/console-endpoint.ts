/** `/query`: the page by GET, questions by POST, below it what belongs to the page. Only for this machine. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsolePage } from '../page/console-page.ts';
import { refuse, send } from './answers.ts';
import { notFromHere, notOfOurPage } from './local-caller.ts';

/** Of a body, bytes. */
const longestBody = 64 * 1024;

/** Whether a path is one of the page's. */
export function isConsolePath(path: string): boolean {
  return path === '/query' || path.startsWith('/query/');
}

/** Answers a request for such a path. When the client leaves before the answer, what it asked is stopped. */
export async function answerConsole(
  console: ConsolePage,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // No page of another origin may so much as show it.
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  const reason = notFromHere(request);
  if (reason !== undefined) return refuse(response, 403, reason);
  if (path === '/query' && (request.method === 'GET' || request.method === 'HEAD')) {
    return console.answerPage(response);
  }
  if (request.method !== 'POST') {
    response.setHeader('allow', path === '/query' ? 'GET, HEAD, POST' : 'POST');
    return refuse(response, 405, 'questions are asked with POST');
  }
  const stranger = notOfOurPage(request);
  if (stranger !== undefined) return refuse(response, 403, stranger);
  const body = await bodyOf(request);
  if (body === undefined) return refuse(response, 413, `a question has at most ${String(longestBody)} bytes`);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.destroyed) return;
  const answer = await console.answer(path, body, gone.signal);
  if (!response.destroyed) send(response, answer.status, answer.type, answer.body);
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
