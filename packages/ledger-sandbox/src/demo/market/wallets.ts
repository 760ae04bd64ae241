/** The holdings of every party that are not locked, tracked from the transactions of the ledger. */
import { parseNumeric } from '../../wire/values.ts';
import type { CreatedEvent } from '../../wire/wire.ts';
import { nameOf } from '../templates/funds.ts';
import { instrumentOf } from '../templates/instruments.ts';
import type { Instrument } from '../templates/instruments.ts';

interface OwnedHoldings {
  readonly wallet: Set<string>;
  readonly units: bigint;
}

/** Wallets as stored in a snapshot. */
export interface SavedWallets {
  readonly wallets: Map<string, Set<string>>;
  readonly held: Map<string, OwnedHoldings>;
}

export class Wallets {
  #wallets = new Map<string, Set<string>>();
  #held = new Map<string, OwnedHoldings>();

  save(): SavedWallets {
    return { wallets: this.#wallets, held: this.#held };
  }

  load({ wallets, held }: SavedWallets): void {
    this.#wallets = wallets;
    this.#held = held;
  }

  /** Adds a holding that became active; ignores other contracts. */
  add(createdEvent: CreatedEvent): void {
    const instrument = instrumentOf(nameOf(createdEvent), createdEvent.createArgument);
    if (instrument === undefined) return;
    const { owner, amount, lock } = instrument.read(createdEvent.createArgument);
    if (lock !== null) return;
    const wallet = this.#of(owner, instrument);
    wallet.add(createdEvent.contractId);
    this.#held.set(createdEvent.contractId, { wallet, units: parseNumeric(amount) ?? 0n });
  }

  /** Removes a contract that has ended. */
  remove(contractId: string): void {
    this.#held.get(contractId)?.wallet.delete(contractId);
    this.#held.delete(contractId);
  }

  /** Contract ids of the holdings of an owner, the oldest first. */
  of(owner: string, instrument: Instrument): readonly string[] {
    return [...this.#of(owner, instrument)];
  }

  count(owner: string, instrument: Instrument): number {
    return this.#of(owner, instrument).size;
  }

  /** The sum of holdings in units of 10^-10. */
  sum(holdings: readonly string[]): bigint {
    return holdings.reduce((total, holding) => total + (this.#held.get(holding)?.units ?? 0n), 0n);
  }

  /**
   * The oldest holdings that together reach the amount, as few as possible; undefined if all of them are not enough.
   */
  covering(owner: string, instrument: Instrument, units: bigint): readonly string[] | undefined {
    const selectedIds: string[] = [];
    let sum = 0n;
    for (const holding of this.#of(owner, instrument)) {
      if (sum >= units) break;
      selectedIds.push(holding);
      sum += this.#held.get(holding)?.units ?? 0n;
    }
    return sum >= units && selectedIds.length > 0 ? selectedIds : undefined;
  }

  #of(owner: string, instrument: Instrument): Set<string> {
    const key = `${instrument.id} ${owner}`;
    const wallet = this.#wallets.get(key) ?? new Set<string>();
    this.#wallets.set(key, wallet);
    return wallet;
  }
}
