/**
 * A server may send any number of informational responses (1xx) before the one that counts, and no parser limits them. Each
 * costs CPU time, and looks like life to a limit on silence.
 */
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/** Servers send one or two: 100, 103. */
const mostInformational = 8;

/** What a request ends with whose server sends more of them. */
class TooManyInformational extends Error {
  override readonly name = 'TooManyInformational';

  constructor() {
    super(`more than ${String(mostInformational)} informational responses (1xx), and no other`);
  }
}

/** Has a request fail with TooManyInformational in time. To be called before it is sent. */
export function limitInformational(request: ClientRequest): void {
  let count = 0;
  request.on('information', () => {
    count += 1;
    if (count !== mostInformational + 1) return;
    if (request.socket !== null) dropArrived(request.socket);
    request.destroy(new TooManyInformational());
  });
}

/** The parser that Node keeps with a socket, and what it does with each message. Its types do not have them. */
interface Parsed {
  readonly parser?: { onIncoming?: (message: unknown) => number } | null;
}

/** What a parser gets as answer to a message behind which there is no HTTP any more: it reads no further. */
const upgraded = 2;

/** Has Node drop, unparsed, what else has arrived on a connection which is about to be closed: one read holds a thousand messages. */
function dropArrived(socket: Socket & Parsed): void {
  if (socket.parser) socket.parser.onIncoming = () => upgraded;
}
