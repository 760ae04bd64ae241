/**
 * Which contracts a batch switches on and off. Activations that end within the same batch are closed here, so that at
 * most one deactivation per contract and synchronizer is left for the database.
 */
import type { Row } from './tables.ts';

export interface Deactivation {
  readonly contractId: string;
  readonly synchronizerPk: number;
  readonly offset: number;
}

interface Activation extends Deactivation {
  readonly templatePk: number;
  deactivatedOffset: number | null;
}

export class Lifetimes {
  readonly #activations: Activation[] = [];
  readonly #open = new Map<string, Activation>();
  readonly #deactivations = new Map<string, Deactivation>();

  activate(contractId: string, synchronizerPk: number, offset: number, templatePk: number): void {
    const activation: Activation = { contractId, synchronizerPk, offset, templatePk, deactivatedOffset: null };
    this.#activations.push(activation);
    this.#open.set(keyOf(contractId, synchronizerPk), activation);
  }

  /** The first one wins: a second deactivation of the same activation is of a contract we never saw active. */
  deactivate(contractId: string, synchronizerPk: number, offset: number): void {
    const key = keyOf(contractId, synchronizerPk);
    const activation = this.#open.get(key);
    if (activation !== undefined) {
      activation.deactivatedOffset = offset;
      this.#open.delete(key);
    } else if (!this.#deactivations.has(key)) {
      this.#deactivations.set(key, { contractId, synchronizerPk, offset });
    }
  }

  /** Rows of table `lifetimes`. */
  rows(): readonly Row[] {
    return this.#activations.map((a) => [a.contractId, a.synchronizerPk, a.offset, a.templatePk, a.deactivatedOffset]);
  }

  /** What ends activations that earlier batches stored. */
  deactivations(): readonly Deactivation[] {
    return [...this.#deactivations.values()];
  }
}

function keyOf(contractId: string, synchronizerPk: number): string {
  return `${String(synchronizerPk)}|${contractId}`;
}
