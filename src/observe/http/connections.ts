/**
 * Limits on connections of misbehaving clients. A client is disconnected if it sends no request, sends another one
 * before it has its response, or does not read the response. A client that sends a complete request and reads the
 * response is served, however many others misbehave.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { dropArrived } from '../../http/informational.ts';
import { refuse } from './answers.ts';

/** Time limit for reading a complete response that exceeds the socket buffers, milliseconds. */
const readWithinMs = 5_000;

export interface IdleLimit {
  /** Maximum number of connections without a request that are kept indefinitely. */
  readonly most: number;
  /**
   * Time for which more connections are kept, milliseconds: a client that has just connected is about to send its
   * request.
   */
  readonly graceMs: number;
  /** Maximum number of connections within the grace period. */
  readonly mostInGrace: number;
}

/**
 * Watches a server for idle connections: nothing sent yet, half a request, or kept open after a response. A few are
 * kept. Beyond that, the oldest are closed as soon as their grace period is over.
 */
export function limitIdleSockets(server: Server, { most, graceMs, mostInGrace }: IdleLimit): void {
  // Idle sockets with the time at which each became idle, in that order.
  const idle = new Map<Socket, number>();
  let looking: NodeJS.Timeout | undefined;
  const look = (): void => {
    for (const [oldest, since] of idle) {
      if (idle.size <= most) return;
      const left = since + graceMs - performance.now();
      if (left > 0 && idle.size <= mostInGrace) {
        looking ??= setTimeout(() => {
          looking = undefined;
          look();
        }, left).unref();
        return;
      }
      idle.delete(oldest);
      oldest.destroy();
    }
  };
  const add = (socket: Socket): void => {
    if (socket.destroyed) return;
    idle.delete(socket);
    idle.set(socket, performance.now());
    look();
  };
  server.on('connection', (socket) => {
    socket.once('close', () => idle.delete(socket));
    add(socket);
  });
  server.on('request', ({ socket }, response) => {
    idle.delete(socket);
    response.once('close', () => add(socket));
  });
}

/**
 * Detects pipelined requests. Node emits all requests that arrive together. They would be handled concurrently and
 * their responses held in order, so a few kilobytes of requests could cost gigabytes of responses. No legitimate client
 * sends a second request before it has the response to the first, so a client that does is disconnected.
 */
export class OneAtATime {
  readonly #answering = new WeakSet<Socket>();

  /** Registers a request. @returns false if the connection was closed, so that the request gets no response */
  begin(socket: Socket, response: ServerResponse): boolean {
    if (this.#answering.has(socket)) cut(socket);
    if (socket.destroyed) return false;
    this.#answering.add(socket);
    response.once('close', () => this.#answering.delete(socket));
    return true;
  }
}

/**
 * Closes the connection and makes Node drop the other requests that have arrived on it, because one read may contain a
 * thousand. Node would keep them all, with a response for each, until the event loop closes the connection. A few
 * hundred connections would fill the heap.
 */
function cut(socket: Socket): void {
  dropArrived(socket);
  socket.destroy();
}

/**
 * Refuses a request whose `Expect` is not `100-continue`. Without a listener, Node responds to it and bypasses the
 * request handler, so a connection could send any number of them at once.
 */
export function refuseExpectations(server: Server, oneAtATime: OneAtATime): void {
  server.on('checkExpectation', ({ socket }, response) => {
    if (oneAtATime.begin(socket, response)) refuse(response, 417, 'the only supported expectation is 100-continue');
  });
}

/**
 * Closes the connection of a client that does not read a complete response. A response that is still being written is
 * not affected.
 */
export function cutUnread(response: ServerResponse): void {
  const { socket } = response;
  if (!response.writableEnded || response.closed) return;
  const limit = setTimeout(() => socket?.destroy(), readWithinMs).unref();
  response.once('close', () => clearTimeout(limit));
}
