/**
 * A TCP proxy between the indexer and one server that recognizes where each message begins and ends. For each message,
 * a callback decides whether to forward it, delay it, drop it, or end the connection before or within it.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { resetNow } from '../../../packages/ledger-sandbox/src/faults/connection.ts';
import { splitters, type Direction, type Protocol, type Unit } from './wire-units.ts';

/** The decision about one unit. */
export type Verdict =
  | { readonly act: 'pass' }
  /** Ends both sides with FIN (`cut`) or RST (`reset`), after `keepBytes` bytes of the unit. */
  | { readonly act: 'cut' | 'reset'; readonly keepBytes: number }
  /** Forwards nothing more in this direction for `ms`; then the connection continues or is reset. */
  | { readonly act: 'freeze'; readonly ms: number; readonly end: 'thaw' | 'reset' }
  | { readonly act: 'drop' };

export const pass: Verdict = { act: 'pass' };

/** Called for every unit. Each proxy numbers its connections from 0. */
export type Tap = (unit: Unit, connection: number) => Verdict;

interface Pair {
  readonly inner: Socket;
  readonly outer: Socket;
}

export class WireProxy implements AsyncDisposable {
  readonly port: number;
  /** May be replaced while the proxy runs; by default, everything is forwarded. */
  tap: Tap = () => pass;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #connections = 0;
  #refusing = false;

  private constructor(server: Server, protocol: Protocol, target: { readonly host: string; readonly port: number }) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (inner) => {
      this.#accept(inner, protocol, target);
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
    const through = new URL(url);
    through.hostname = '127.0.0.1';
    through.port = String(this.port);
    return through.href.replace(/\/$/, '');
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

  #accept(inner: Socket, protocol: Protocol, { host, port }: { readonly host: string; readonly port: number }): void {
    inner.on('error', () => undefined);
    if (this.#refusing) {
      resetNow(inner);
      return;
    }
    const connection = this.#connections;
    this.#connections += 1;
    const outer = connect({ host, port, noDelay: true });
    outer.on('error', () => undefined);
    const pair: Pair = { inner, outer };
    this.#pairs.add(pair);
    const { up, down } = splitters(protocol);
    this.#pipe(pair, 'up', up, connection);
    this.#pipe(pair, 'down', down, connection);
    inner.on('close', () => {
      outer.destroy();
      this.#pairs.delete(pair);
    });
    outer.on('close', () => inner.destroy());
  }

  #pipe(pair: Pair, direction: Direction, split: (chunk: Buffer) => Unit[], connection: number): void {
    const [source, sink] = direction === 'up' ? [pair.inner, pair.outer] : [pair.outer, pair.inner];
    const waiting: Unit[] = [];
    let frozen = false;
    let ending = false;
    const flush = (): void => {
      // Units that are forwarded together are written together, with one system call instead of one per message.
      sink.cork();
      const open = passOn();
      sink.uncork();
      if (open && ending) sink.end();
    };
    /** False while a frozen unit is waiting, or after the connection has ended. */
    const passOn = (): boolean => {
      for (let unit = waiting.shift(); unit !== undefined; unit = waiting.shift()) {
        const verdict = this.tap(unit, connection);
        if (verdict.act === 'freeze') {
          waiting.unshift(unit);
          frozen = true;
          setTimeout(thaw, verdict.ms, verdict.end);
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
    const thaw = (end: 'thaw' | 'reset'): void => {
      frozen = false;
      if (end === 'reset') {
        reset(pair);
        return;
      }
      const first = waiting.shift();
      if (first !== undefined) sink.write(first.bytes);
      flush();
    };
    source.on('data', (chunk: Buffer) => {
      waiting.push(...split(chunk));
      if (!frozen) flush();
    });
    source.on('end', () => {
      ending = true;
      if (!frozen) flush();
    });
  }
}

type Ending = Extract<Verdict, { readonly act: 'cut' | 'reset' }>;

/** Ends the connection within a unit. Earlier units have been sent. */
function end({ act, keepBytes }: Ending, unit: Unit, sink: Socket, pair: Pair): void {
  const kept = unit.bytes.subarray(0, keepBytes);
  if (act === 'cut') {
    sink.end(kept);
    (sink === pair.inner ? pair.outer : pair.inner).destroy();
  } else if (kept.length === 0) reset(pair);
  else sink.write(kept, () => reset(pair));
}

function reset({ inner, outer }: Pair): void {
  resetNow(inner);
  resetNow(outer);
}
