/**
 * Limits on connections of misbehaving clients. A client is disconnected if it sends no request, if it sends another
 * request before it has received the response, or if it does not read the response. A client that sends a complete
 * request and reads the response is served, even if many other clients misbehave.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { dropArrived } from '../../http/informational.ts';
import { sendError } from './answers.ts';

/** Time limit for reading a complete response that exceeds the socket buffers, milliseconds. */
const requestReadTimeoutMs = 5_000;

export interface IdleLimit {
  /** Maximum number of connections without a request that are kept indefinitely. */
  readonly most: number;
  /**
   * Time for which additional connections are kept, milliseconds. A client that has just connected is probably about to
   * send its request.
   */
  readonly graceMs: number;
  /** Maximum number of connections within the grace period. */
  readonly mostInGrace: number;
}

/**
 * Watches a server for idle connections. A connection is idle if the client has sent nothing or only a part of a
 * request, or if it stays open after a response. A few idle connections are kept. If there are more, the oldest are
 * closed when their grace period is over.
 */
export function limitIdleSockets(server: Server, { most: maxIdle, graceMs, mostInGrace: maxInGrace }: IdleLimit): void {
  // Idle sockets with the time at which each became idle, in that order.
  const idleSockets = new Map<Socket, number>();
  let checkTimer: NodeJS.Timeout | undefined;
  const closeExcess = (): void => {
    for (const [oldest, since] of idleSockets) {
      if (idleSockets.size <= maxIdle) return;
      const remainingMs = since + graceMs - performance.now();
      if (remainingMs > 0 && idleSockets.size <= maxInGrace) {
        checkTimer ??= setTimeout(() => {
          checkTimer = undefined;
          closeExcess();
        }, remainingMs).unref();
        return;
      }
      idleSockets.delete(oldest);
      oldest.destroy();
    }
  };
  const add = (socket: Socket): void => {
    if (socket.destroyed) return;
    idleSockets.delete(socket);
    idleSockets.set(socket, performance.now());
    closeExcess();
  };
  server.on('connection', (socket) => {
    socket.once('close', () => idleSockets.delete(socket));
    add(socket);
  });
  server.on('request', ({ socket }, response) => {
    idleSockets.delete(socket);
    response.once('close', () => add(socket));
  });
}

/**
 * Detects pipelined requests. Node emits all requests that arrive together. They would be handled concurrently, and
 * their responses would be buffered to keep the order, so a few kilobytes of requests could cause gigabytes of
 * responses. No legitimate client sends a second request before it has received the response to the first. A client
 * that does so is disconnected.
 */
export class SingleRequestGuard {
  readonly #answering = new WeakSet<Socket>();

  /** Registers a request. @returns false if the connection was closed, so that the request gets no response */
  begin(socket: Socket, response: ServerResponse): boolean {
    if (this.#answering.has(socket)) closeSocket(socket);
    if (socket.destroyed) return false;
    this.#answering.add(socket);
    response.once('close', () => this.#answering.delete(socket));
    return true;
  }
}

/**
 * Closes the connection and makes Node drop the other requests that have arrived on it. One read may contain a thousand
 * requests. Node would keep all of them, each with a response, until the event loop closes the connection. A few
 * hundred connections would fill the heap.
 */
function closeSocket(socket: Socket): void {
  dropArrived(socket);
  socket.destroy();
}

/**
 * Refuses a request whose `Expect` is not `100-continue`. Without a listener, Node responds to it and bypasses the
 * request handler, so a client could send any number of such requests at once.
 */
export function rejectExpectations(server: Server, requestGuard: SingleRequestGuard): void {
  server.on('checkExpectation', ({ socket }, response) => {
    if (requestGuard.begin(socket, response))
      sendError(response, 417, 'the only supported expectation is 100-continue');
  });
}

/**
 * Closes the connection of a client that does not read a complete response. A response that is still being written is
 * not affected.
 */
export function closeIfUnread(response: ServerResponse): void {
  const { socket } = response;
  if (!response.writableEnded || response.closed) return;
  const limit = setTimeout(() => socket?.destroy(), requestReadTimeoutMs).unref();
  response.once('close', () => clearTimeout(limit));
}
