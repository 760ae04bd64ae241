/**
 * A connection to Postgres through a TCP proxy with real sockets, which can freeze traffic without closing connections.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Road extends AsyncDisposable {
  /** URL of the same database through this proxy. */
  readonly url: string;
  /** Stops forwarding on existing connections, in both directions. New connections are only served unless `closed`. */
  freeze(closed?: boolean): void;
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

export async function openRoad(url: string): Promise<Road> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let shut = false;
  let trap: Trap | undefined;
  const freeze = (closed = true): void => {
    shut = closed;
    for (const socket of sockets) socket.removeAllListeners('data').pause();
  };
  const pass = (data: Buffer, far: Socket): void => {
    if (trap === undefined || !data.includes(trap.text)) {
      far.write(data);
      return;
    }
    const { share, sprung } = trap;
    trap = undefined;
    far.write(data.subarray(0, Math.floor(data.length * share)));
    freeze();
    sprung();
  };
  const server = createServer((near) => {
    sockets.add(near);
    near.on('error', () => undefined);
    if (shut) return;
    const far = connect(Number(target.port), target.hostname);
    sockets.add(far);
    far.on('error', () => undefined);
    near.on('data', (data) => pass(data, far));
    far.on('data', (data) => near.write(data));
    // While traffic is frozen, the end of a connection is not forwarded either, as with a half-open connection.
    for (const [one, other] of [[near, far] as const, [far, near] as const]) {
      one.on('close', () => {
        if (!shut) other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const through = new URL(url);
  through.host = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return {
    url: through.href,
    freeze,
    freezeAt: (text, share) =>
      new Promise((resolve) => {
        trap = { text, share, sprung: resolve };
      }),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
