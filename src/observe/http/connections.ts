/**
 * Bounds on what connections cost that do not behave as clients do. Who asks for nothing, asks before it has its answer, or does not take
 * it, is cut off; whoever sends a whole request and reads the answer is served, however many others do not.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { dropArrived } from '../../http/informational.ts';
import { refuse } from './answers.ts';

/** For what the buffers of the sockets do not take at once, milliseconds. */
const readWithinMs = 5_000;

export interface IdleLimit {
  /** Connections without a request that are kept for as long as they like. */
  readonly most: number;
  /** How long others are kept as well, milliseconds: a client that has just connected is about to send its request. */
  readonly graceMs: number;
  /** However many came within the grace, no more than this are kept. */
  readonly mostInGrace: number;
}

/**
 * Watches a server for connections that ask for nothing: nothing sent yet, half a request, or kept open after an answer. A few are kept;
 * when there are more, the oldest are cut off as soon as their grace is over.
 */
export function limitIdleSockets(server: Server, { most, graceMs, mostInGrace }: IdleLimit): void {
  // When each fell idle, in that order.
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
 * Whether a request is the only one of its connection. Node hands over all requests that arrive together, which would be answered at the
 * same time and held until their turn: a few kilobytes of requests could cost gigabytes of answers. No client of ours sends a second
 * request before it has the answer to the first, so that one who does is cut off.
 */
export class OneAtATime {
  readonly #answering = new WeakSet<Socket>();

  /** False: the connection is closed, so the request gets no answer. */
  begin(socket: Socket, response: ServerResponse): boolean {
    if (this.#answering.has(socket)) cut(socket);
    if (socket.destroyed) return false;
    this.#answering.add(socket);
    response.once('close', () => this.#answering.delete(socket));
    return true;
  }
}

/**
 * Closes the connection and has Node drop the other requests that have arrived on it: one read holds a thousand. Node would keep all of them,
 * with an answer for each, until the event loop has come round for the connection to close, and some hundred connections would fill the heap.
 */
function cut(socket: Socket): void {
  dropArrived(socket);
  socket.destroy();
}

/**
 * Refuses a request whose `Expect` is not `100-continue`. Without a listener Node answers it itself and hands it to no handler of requests, so
 * that a connection could send any number of them at once.
 */
export function refuseExpectations(server: Server, oneAtATime: OneAtATime): void {
  server.on('checkExpectation', ({ socket }, response) => {
    if (oneAtATime.begin(socket, response)) refuse(response, 417, 'no expectation but 100-continue is met here');
  });
}

/** Cuts the connection of a client that does not read an answer which is complete; one still being written may last. */
export function cutUnread(response: ServerResponse): void {
  const { socket } = response;
  if (!response.writableEnded || response.closed) return;
  const limit = setTimeout(() => socket?.destroy(), readWithinMs).unref();
  response.once('close', () => clearTimeout(limit));
}
