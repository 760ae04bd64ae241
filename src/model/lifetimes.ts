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
  /** By synchronizer, then by contract. */
  readonly #open = new Map<number, Map<string, Activation>>();
  readonly #ended = new Map<number, Map<string, Deactivation>>();

  activate(contractId: string, synchronizerPk: number, offset: number, templatePk: number): void {
    const activation: Activation = { contractId, synchronizerPk, offset, templatePk, deactivatedOffset: null };
    this.#activations.push(activation);
    on(this.#open, synchronizerPk).set(contractId, activation);
  }

  /** The first one wins: a second deactivation of the same activation is of a contract we never saw active. */
  deactivate(contractId: string, synchronizerPk: number, offset: number): void {
    const open = on(this.#open, synchronizerPk);
    const activation = open.get(contractId);
    if (activation !== undefined) {
      activation.deactivatedOffset = offset;
      open.delete(contractId);
      return;
    }
    const ended = on(this.#ended, synchronizerPk);
    if (!ended.has(contractId)) ended.set(contractId, { contractId, synchronizerPk, offset });
  }

  /** Rows of table `lifetimes`. */
  rows(): readonly Row[] {
    return this.#activations.map((a) => [a.contractId, a.synchronizerPk, a.offset, a.templatePk, a.deactivatedOffset]);
  }

  /** What ends activations that earlier batches stored. */
  deactivations(): readonly Deactivation[] {
    return [...this.#ended.values()].flatMap((ended) => [...ended.values()]);
  }
}

function on<T>(bySynchronizer: Map<number, Map<string, T>>, synchronizerPk: number): Map<string, T> {
  let contracts = bySynchronizer.get(synchronizerPk);
  if (contracts === undefined) bySynchronizer.set(synchronizerPk, (contracts = new Map()));
  return contracts;
}
