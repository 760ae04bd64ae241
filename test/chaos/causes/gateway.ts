/**
 * A proxy between an indexer and a server. It forwards bytes, and can fail in the same ways as ports, networks, proxies
 * and gateways. It interprets only the first bytes of an HTTP request, to which it can respond itself.
 */
import { once } from 'node:events';
import { connect, createServer as createPlainServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** If set, only requests whose first line contains this text get the response. */
  readonly to?: string;
}

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export class Gateway implements AsyncDisposable {
  /** Port of the server on 127.0.0.1; may be changed. */
  target: number;
  /** Response to every new request in place of the server; open connections are forwarded until `cut`. */
  answer: Answer | undefined;
  /** Whether the gateway accepts connections and bytes but forwards nothing. */
  #hangs = false;
  readonly port: number;
  readonly #certificate: Certificate | undefined;
  #server: Server;
  readonly #pairs = new Map<Socket, Socket>();

  private constructor(target: number, server: Server, certificate: Certificate | undefined) {
    this.target = target;
    this.#certificate = certificate;
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.#serve(server);
  }

  /** @param certificate for TLS; without it, connections are not encrypted */
  static async before(target: number, certificate?: Certificate): Promise<Gateway> {
    return new Gateway(target, await listenOnPort(0, certificate), certificate);
  }

  /** Ends every connection without a message. */
  cut(): void {
    for (const [clientSocket, upstream] of this.#pairs) {
      clientSocket.destroy();
      upstream.destroy();
    }
    this.#pairs.clear();
  }

  /** Closes the port and every connection. */
  async close(): Promise<void> {
    const whenClosed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await whenClosed;
  }

  /** Opens the port again. @param certificate replaces the previous certificate; null: without TLS */
  async open(certificate: Certificate | null | undefined = this.#certificate): Promise<void> {
    this.#server = await listenOnPort(this.port, certificate ?? undefined);
    this.#serve(this.#server);
  }

  /** Keeps connections open, but forwards nothing in either direction. */
  hang(): void {
    this.#hangs = true;
    for (const [clientSocket, upstream] of this.#pairs) {
      clientSocket.unpipe(upstream);
      upstream.unpipe(clientSocket);
    }
  }

  /** Ends the hanging connections, and forwards new ones. */
  resume(): void {
    this.#hangs = false;
    this.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.close();
  }

  #serve(server: Server): void {
    server.on('connection', ignoreErrors);
    server.on(
      this.#certificate !== undefined && 'setSecureContext' in server ? 'secureConnection' : 'connection',
      (clientSocket) => this.#take(clientSocket as Socket),
    );
  }

  #take(clientSocket: Socket): void {
    ignoreErrors(clientSocket);
    const upstream = connect(this.target, '127.0.0.1');
    ignoreErrors(upstream);
    this.#pairs.set(clientSocket, upstream);
    clientSocket.on('close', () => {
      upstream.destroy();
      this.#pairs.delete(clientSocket);
    });
    upstream.on('close', () => clientSocket.destroy());
    if (this.#hangs) return;
    clientSocket.once('data', (first: Buffer) => {
      const override = this.answer;
      const line = first.toString('latin1', 0, Math.max(0, first.indexOf('\r\n')));
      if (override !== undefined && line.includes(override.to ?? '')) {
        clientSocket.end(textOf(override));
        return;
      }
      upstream.write(first);
      clientSocket.pipe(upstream);
      upstream.pipe(clientSocket);
    });
  }
}

function ignoreErrors(socket: { on(event: 'error', listener: () => void): unknown }): void {
  socket.on('error', () => undefined);
}

async function listenOnPort(port: number, certificate: Certificate | undefined): Promise<Server> {
  const server = certificate === undefined ? createPlainServer() : createTlsServer({ ...certificate });
  server.on('tlsClientError', () => undefined);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function textOf({ status, type, body }: Answer): string {
  const head = [
    `HTTP/1.1 ${String(status)} Answered`,
    `content-type: ${type}`,
    `content-length: ${String(Buffer.byteLength(body))}`,
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
