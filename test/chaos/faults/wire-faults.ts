/** Faults that are armed at the proxies of one indexer. Each fault receives every unit until it has happened. */
import { passVerdict, type Tap, type Verdict } from './wire-proxy.ts';
import type { Direction, Protocol, WireUnit } from './wire-units.ts';

/** Returns undefined if the fault does not apply to the unit. The fault calls `callback` when it has happened. */
export type WireFault = (unit: WireUnit, connection: number, callback: () => void) => Verdict | undefined;

interface PendingFault {
  readonly protocol: Protocol;
  readonly fault: WireFault;
  readonly happened: () => void;
}

export class WireFaults {
  #waiting: PendingFault[] = [];
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

  /** Applies one verdict to one unit of a direction, after `unitsToSkip` matching units have passed. */
  armAfter(
    protocol: Protocol,
    direction: Direction,
    unitsToSkip: number,
    verdict: (unit: WireUnit) => Verdict,
    matchesUnit: (unit: WireUnit, connection: number) => boolean = () => true,
  ): Promise<void> {
    let remainingUnits = unitsToSkip;
    return this.arm(protocol, (unit, connection, callback) => {
      if (unit.direction !== direction || !matchesUnit(unit, connection)) return undefined;
      remainingUnits -= 1;
      if (remainingUnits >= 0) return undefined;
      callback();
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

  #verdict(protocol: Protocol, unit: WireUnit, connection: number): Verdict {
    if (unit.type === 'startup' && unit.bytes.includes('ledger-indexer lock')) this.#lockConnections.add(connection);
    for (const pendingFault of this.#waiting) {
      if (pendingFault.protocol !== protocol) continue;
      const finish = (): void => {
        this.#waiting = this.#waiting.filter((candidate) => candidate !== pendingFault);
        pendingFault.happened();
      };
      const verdict = pendingFault.fault(unit, connection, finish);
      if (verdict !== undefined) return verdict;
    }
    return passVerdict;
  }
}
