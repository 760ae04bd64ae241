/**
 * Connections that ask for nothing: nothing sent yet, half a request, or kept open after an answer. A few are kept; when
 * more come the oldest is cut off, so that whoever sends a whole request at once is answered, however many do not.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

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
