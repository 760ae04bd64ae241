/**
 * A TCP proxy between the indexer and one server that recognizes where each message begins and ends. For each message,
 * a callback decides whether to forward it, delay it, drop it, or end the connection before or within it.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { resetNow } from '../../../packages/ledger-sandbox/src/faults/connection.ts';
import { splitters, type Direction, type Protocol, type WireUnit } from './wire-units.ts';

/** The decision about one unit. */
export type Verdict =
  | { readonly act: 'pass' }
  /** Ends both sides with FIN (`cut`) or RST (`reset`), after `keepBytes` bytes of the unit. */
  | { readonly act: 'cut' | 'reset'; readonly keepBytes: number }
  /** Forwards nothing more in this direction for `ms`; then the connection continues or is reset. */
  | { readonly act: 'freeze'; readonly ms: number; readonly end: 'thaw' | 'reset' }
  | { readonly act: 'drop' };

export const passVerdict: Verdict = { act: 'pass' };

/** Called for every unit. Each proxy numbers its connections from 0. */
export type Tap = (unit: WireUnit, connection: number) => Verdict;

interface Pair {
  readonly inner: Socket;
  readonly outer: Socket;
}

export class WireProxy implements AsyncDisposable {
  readonly port: number;
  /** May be replaced while the proxy runs; by default, everything is forwarded. */
  tap: Tap = () => passVerdict;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #connections = 0;
  #refusing = false;

  private constructor(server: Server, protocol: Protocol, target: { readonly host: string; readonly port: number }) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (clientSocket) => {
      this.#accept(clientSocket, protocol, target);
    });
  }

  /** @param target server to which the proxy connects */
  static async start(protocol: Protocol, target: { readonly host: string; readonly port: number }): Promise<WireProxy> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return new WireProxy(server, protocol, target);
  }

  /** The same URL, with the address of this proxy. */
  before(url: string): string {
    const proxyUrl = new URL(url);
    proxyUrl.hostname = '127.0.0.1';
    proxyUrl.port = String(this.port);
    return proxyUrl.href.replace(/\/$/, '');
  }

  /** Ends every connection with RST. */
  resetAll(): void {
    for (const pair of this.#pairs) reset(pair);
  }

  /** Ends every connection and refuses new ones, as if the process behind this proxy had died. */
  sever(): void {
    this.#refusing = true;
    this.resetAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.sever();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(
    clientSocket: Socket,
    protocol: Protocol,
    { host, port }: { readonly host: string; readonly port: number },
  ): void {
    clientSocket.on('error', () => undefined);
    if (this.#refusing) {
      resetNow(clientSocket);
      return;
    }
    const connection = this.#connections;
    this.#connections += 1;
    const upstreamSocket = connect({ host, port, noDelay: true });
    upstreamSocket.on('error', () => undefined);
    const pair: Pair = { inner: clientSocket, outer: upstreamSocket };
    this.#pairs.add(pair);
    const { up: upSplitter, down: downSplitter } = splitters(protocol);
    this.#pipe(pair, 'up', upSplitter, connection);
    this.#pipe(pair, 'down', downSplitter, connection);
    clientSocket.on('close', () => {
      upstreamSocket.destroy();
      this.#pairs.delete(pair);
    });
    upstreamSocket.on('close', () => clientSocket.destroy());
  }

  #pipe(pair: Pair, direction: Direction, split: (chunk: Buffer) => WireUnit[], connection: number): void {
    const [source, sink] = direction === 'up' ? [pair.inner, pair.outer] : [pair.outer, pair.inner];
    const pendingUnits: WireUnit[] = [];
    let isFrozen = false;
    let isEnding = false;
    const flush = (): void => {
      // Units that are forwarded together are written together, with one system call instead of one per message.
      sink.cork();
      const isOpen = flushUnits();
      sink.uncork();
      if (isOpen && isEnding) sink.end();
    };
    /** False while a frozen unit is waiting, or after the connection has ended. */
    const flushUnits = (): boolean => {
      for (let unit = pendingUnits.shift(); unit !== undefined; unit = pendingUnits.shift()) {
        const verdict = this.tap(unit, connection);
        if (verdict.act === 'freeze') {
          pendingUnits.unshift(unit);
          isFrozen = true;
          setTimeout(resumeFlow, verdict.ms, verdict.end);
          return false;
        }
        if (verdict.act === 'pass') sink.write(unit.bytes);
        else if (verdict.act !== 'drop') {
          sink.uncork();
          end(verdict, unit, sink, pair);
          return false;
        }
      }
      return true;
    };
    const resumeFlow = (end: 'thaw' | 'reset'): void => {
      isFrozen = false;
      if (end === 'reset') {
        reset(pair);
        return;
      }
      const first = pendingUnits.shift();
      if (first !== undefined) sink.write(first.bytes);
      flush();
    };
    source.on('data', (chunk: Buffer) => {
      pendingUnits.push(...split(chunk));
      if (!isFrozen) flush();
    });
    source.on('end', () => {
      isEnding = true;
      if (!isFrozen) flush();
    });
  }
}

type CloseVerdict = Extract<Verdict, { readonly act: 'cut' | 'reset' }>;

/** Ends the connection within a unit. Earlier units have been sent. */
function end({ act, keepBytes }: CloseVerdict, unit: WireUnit, sink: Socket, pair: Pair): void {
  const keptBytes = unit.bytes.subarray(0, keepBytes);
  if (act === 'cut') {
    sink.end(keptBytes);
    (sink === pair.inner ? pair.outer : pair.inner).destroy();
  } else if (keptBytes.length === 0) reset(pair);
  else sink.write(keptBytes, () => reset(pair));
}

function reset({ inner: clientSocket, outer: upstreamSocket }: Pair): void {
  resetNow(clientSocket);
  resetNow(upstreamSocket);
}
