/**
 * Limits informational responses (1xx). A server may send any number of them before the final response, and no parser
 * limits them. Each one costs CPU time, and restarts a limit on silence.
 */
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/** Maximum number of informational responses; servers send one or two (100, 103). */
const maxInformational = 8;

/** Error of a request whose server sends more than that. */
export class TooManyInformationalError extends Error {
  override readonly name = 'TooManyInformational';

  constructor() {
    super(`more than ${String(maxInformational)} informational responses (1xx), and no other`);
  }
}

/** Makes a request fail with {@link TooManyInformationalError} in time. Call it before the request is sent. */
export function limitInformational(request: ClientRequest): void {
  let count = 0;
  request.on('information', () => {
    count += 1;
    if (count !== maxInformational + 1) return;
    if (request.socket !== null) dropArrived(request.socket);
    request.destroy(new TooManyInformationalError());
  });
}

/**
 * A socket with the parser that Node attaches to it, and the parser's handler for each message. Node's types lack them.
 */
interface ParserHolder {
  readonly parser?: { onIncoming?: (message: unknown) => number } | null;
}

/** Return value after which the parser expects no more HTTP after a message, and stops parsing. */
const upgraded = 2;

/**
 * Makes Node drop further data of a connection that is about to be closed, without parsing it: one read may contain a
 * thousand messages.
 */
export function dropArrived(socket: Socket & ParserHolder): void {
  if (socket.parser) socket.parser.onIncoming = () => upgraded;
}
