/** Faults that are armed at the proxies of one indexer. Each fault receives every unit until it has happened. */
import { pass, type Tap, type Verdict } from './wire-proxy.ts';
import type { Direction, Protocol, Unit } from './wire-units.ts';

/** Returns undefined if the fault does not apply to the unit. The fault calls `done` when it has happened. */
export type WireFault = (unit: Unit, connection: number, done: () => void) => Verdict | undefined;

interface Waiting {
  readonly protocol: Protocol;
  readonly fault: WireFault;
  readonly happened: () => void;
}

export class WireFaults {
  #waiting: Waiting[] = [];
  readonly #lockConnections = new Set<number>();
  readonly taps: { readonly postgres: Tap; readonly ledger: Tap } = {
    postgres: (unit, connection) => this.#verdict('postgres', unit, connection),
    ledger: (unit, connection) => this.#verdict('ledger', unit, connection),
  };

  /** Resolves when the fault has happened. */
  arm(protocol: Protocol, fault: WireFault): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ protocol, fault, happened: resolve });
    });
  }

  /** Applies one verdict to one unit of a direction, after `after` matching units have passed. */
  armAfter(
    protocol: Protocol,
    direction: Direction,
    after: number,
    verdict: (unit: Unit) => Verdict,
    concerns: (unit: Unit, connection: number) => boolean = () => true,
  ): Promise<void> {
    let left = after;
    return this.arm(protocol, (unit, connection, done) => {
      if (unit.direction !== direction || !concerns(unit, connection)) return undefined;
      left -= 1;
      if (left >= 0) return undefined;
      done();
      return verdict(unit);
    });
  }

  /** Whether the connection holds the writer lock. */
  isLock(connection: number): boolean {
    return this.#lockConnections.has(connection);
  }

  /** Cancels the faults that have not happened. */
  disarm(): void {
    this.#waiting = [];
  }

  /** Called after a restart of the indexer: its connections are counted from 0 again. */
  reborn(): void {
    this.#lockConnections.clear();
  }

  #verdict(protocol: Protocol, unit: Unit, connection: number): Verdict {
    if (unit.type === 'startup' && unit.bytes.includes('ledger-indexer lock')) this.#lockConnections.add(connection);
    for (const waiting of this.#waiting) {
      if (waiting.protocol !== protocol) continue;
      const done = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        waiting.happened();
      };
      const verdict = waiting.fault(unit, connection, done);
      if (verdict !== undefined) return verdict;
    }
    return pass;
  }
}
