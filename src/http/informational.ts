/**
 * A server may send any number of informational responses (1xx) before the final one, and no parser limits them. Each
 * costs CPU time, and looks like life to a limit on silence.
 */
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/** Servers send one or two: 100, 103. */
const mostInformational = 8;

/** Error of a request whose server sends more of them. */
export class TooManyInformational extends Error {
  override readonly name = 'TooManyInformational';

  constructor() {
    super(`more than ${String(mostInformational)} informational responses (1xx), and no other`);
  }
}

/** Makes a request fail with {@link TooManyInformational} in time. To be called before it is sent. */
export function limitInformational(request: ClientRequest): void {
  let count = 0;
  request.on('information', () => {
    count += 1;
    if (count !== mostInformational + 1) return;
    if (request.socket !== null) dropArrived(request.socket);
    request.destroy(new TooManyInformational());
  });
}

/** The parser that Node keeps with a socket, and its handler of each message. Node's types lack them. */
interface Parsed {
  readonly parser?: { onIncoming?: (message: unknown) => number } | null;
}

/** Return value after which the parser expects no more HTTP after a message: it stops reading. */
const upgraded = 2;

/**
 * Makes Node drop, unparsed, further data of a connection that is about to be closed: one read contains a thousand
 * messages.
 */
export function dropArrived(socket: Socket & Parsed): void {
  if (socket.parser) socket.parser.onIncoming = () => upgraded;
}
