/**
 * A real HTTP and WebSocket server whose behavior a test sets. It accepts every handshake with the fixed subprotocol,
 * as participants do, and records handshakes and connections.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws';

export interface FakeLedger {
  readonly url: string;
  readonly handshakes: readonly IncomingMessage[];
  readonly connections: readonly Socket[];
  stop(): Promise<void>;
}

export interface FakeLedgerBehaviour {
  readonly http?: RequestListener;
  /** Rejects the upgrade with this HTTP response. */
  readonly refuse?: { readonly status: string; readonly type: string; readonly body: string };
  readonly socket?: (socket: WebSocket, firstFrame: string) => void;
  readonly options?: ServerOptions;
}

export async function startFakeLedger(behavior: FakeLedgerBehaviour): Promise<FakeLedger> {
  const handshakes: IncomingMessage[] = [];
  const connections: Socket[] = [];
  const server = createServer(behavior.http ?? ((_request, response) => response.writeHead(404).end()));
  server.on('connection', (socket) => connections.push(socket));
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: () => 'daml.ws.auth',
    ...behavior.options,
  });
  server.on('upgrade', (request, raw, head) => {
    handshakes.push(request);
    const { refuse } = behavior;
    if (refuse !== undefined) {
      raw.end(
        `HTTP/1.1 ${refuse.status}\r\ncontent-type: ${refuse.type}\r\ncontent-length: ${Buffer.byteLength(refuse.body)}\r\nconnection: close\r\n\r\n${refuse.body}`,
      );
      return;
    }
    sockets.handleUpgrade(request, raw, head, (socket) => {
      socket.on('error', () => undefined);
      socket.once('message', (data) => behavior.socket?.(socket, (data as Buffer).toString('utf8')));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    handshakes,
    connections,
    stop: async () => {
      for (const socket of connections) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
