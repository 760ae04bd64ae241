/**
 * Limit on informational responses (1xx). A server may send any number of them before the final one, and no parser limits them. Each
 * costs CPU time and resets a timeout for silence.
 */
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/** Servers send one or two: 100, 103. */
const mostInformational = 8;

/** Error of a request whose server sends more of them. */
class TooManyInformational extends Error {
  override readonly name = 'TooManyInformational';

  constructor() {
    super(`more than ${String(mostInformational)} informational responses (1xx), and no other`);
  }
}

/** Makes a request fail with TooManyInformational in time. To be called before it is sent. */
export function limitInformational(request: ClientRequest): void {
  let count = 0;
  request.on('information', () => {
    count += 1;
    if (count !== mostInformational + 1) return;
    if (request.socket !== null) dropArrived(request.socket);
    request.destroy(new TooManyInformational());
  });
}

/** The parser that Node keeps with a socket, and its callback for messages. Node's types do not have them. */
interface Parsed {
  readonly parser?: { onIncoming?: (message: unknown) => number } | null;
}

/** Return value that makes the parser stop, as for a connection that is no longer HTTP. */
const upgraded = 2;

/** Makes Node drop, unparsed, further data on a connection that is about to be closed: one read may hold a thousand messages. */
function dropArrived(socket: Socket & Parsed): void {
  if (socket.parser) socket.parser.onIncoming = () => upgraded;
}
