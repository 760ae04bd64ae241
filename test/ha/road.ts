/**
 * A connection to Postgres through a TCP proxy with real sockets, which can freeze traffic without closing connections.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface ConnectionRoute extends AsyncDisposable {
  /** URL of the same database through this proxy. */
  readonly url: string;
  /** Stops forwarding on existing connections, in both directions. Unless `isClosed`, serves new connections. */
  freeze(isClosed?: boolean): void;
  /**
   * Freezes all traffic at the next message to the server that contains `text`. The first `share` of the bytes that
   * were sent together with it is still forwarded. Resolves when traffic is frozen.
   */
  freezeAt(text: string, share: number): Promise<void>;
}

interface Trap {
  readonly text: string;
  readonly share: number;
  readonly sprung: () => void;
}

export async function openRoute(url: string): Promise<ConnectionRoute> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isShut = false;
  let freezeTrap: Trap | undefined;
  const freezeRoute = (isClosed = true): void => {
    isShut = isClosed;
    for (const socket of sockets) socket.removeAllListeners('data').pause();
  };
  const passData = (data: Buffer, destination: Socket): void => {
    if (freezeTrap === undefined || !data.includes(freezeTrap.text)) {
      destination.write(data);
      return;
    }
    const { share, sprung: onSprung } = freezeTrap;
    freezeTrap = undefined;
    destination.write(data.subarray(0, Math.floor(data.length * share)));
    freezeRoute();
    onSprung();
  };
  const server = createServer((clientSocket) => {
    sockets.add(clientSocket);
    clientSocket.on('error', () => undefined);
    if (isShut) return;
    const destination = connect(Number(target.port), target.hostname);
    sockets.add(destination);
    destination.on('error', () => undefined);
    clientSocket.on('data', (data) => passData(data, destination));
    destination.on('data', (data) => clientSocket.write(data));
    // While traffic is frozen, the end of a connection is not forwarded either, as with a half-open connection.
    for (const [sourceSocket, targetSocket] of [
      [clientSocket, destination] as const,
      [destination, clientSocket] as const,
    ]) {
      sourceSocket.on('close', () => {
        if (!isShut) targetSocket.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const proxyUrl = new URL(url);
  proxyUrl.host = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return {
    url: proxyUrl.href,
    freeze: freezeRoute,
    freezeAt: (text, share) =>
      new Promise((resolve) => {
        freezeTrap = { text, share, sprung: resolve };
      }),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
