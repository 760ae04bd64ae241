/**
 * Connections that ask for nothing: nothing sent yet, half a request, or kept open after an answer. A few are kept; when
 * more come the oldest is cut off, so that whoever sends a whole request at once is answered, however many do not. An
 * answer that is not read holds its connection for seconds only.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** For what the buffers of the sockets do not take at once, milliseconds. */
const readWithinMs = 5_000;

/** Watches a server. @param most connections without a request that are kept */
export function limitIdleSockets(server: Server, most: number): void {
  // In the order in which they fell idle.
  const idle = new Set<Socket>();
  const add = (socket: Socket): void => {
    if (socket.destroyed) return;
    idle.delete(socket);
    idle.add(socket);
    const [oldest] = idle;
    if (idle.size > most && oldest !== undefined) {
      idle.delete(oldest);
      oldest.destroy();
    }
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

/** Cuts the connection of a client that does not read an answer which is complete; one still being written may last. */
export function cutUnread(socket: Socket, response: ServerResponse): void {
  if (!response.writableEnded || response.closed) return;
  // Requests sent at once are answered one after the other: the time of an answer begins with its turn.
  let hasTurn = response.socket !== null;
  const limit = setInterval(() => {
    if (hasTurn) socket.destroy();
    if (socket.destroyed) clearInterval(limit);
    hasTurn = response.socket !== null;
  }, readWithinMs).unref();
  response.once('close', () => clearInterval(limit));
}
