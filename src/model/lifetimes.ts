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

/** Activations of a template within a batch, and how many of them ended within it as well. */
export interface TemplateCount {
  readonly templatePk: number;
  activated: number;
  deactivated: number;
}

interface Activation {
  readonly key: string;
  readonly synchronizerPk: number;
  readonly offset: number;
  readonly templatePk: number;
  deactivatedOffset: number | null;
}

export class Lifetimes {
  readonly #activations: Activation[] = [];
  readonly #open = new Map<string, Activation>();
  readonly #ended = new Map<string, { readonly synchronizerPk: number; readonly offset: number }>();

  activate(contractId: string, synchronizerPk: number, offset: number, templatePk: number): void {
    const key = keyOf(contractId, synchronizerPk);
    const activation: Activation = { key, synchronizerPk, offset, templatePk, deactivatedOffset: null };
    this.#activations.push(activation);
    this.#open.set(key, activation);
  }

  /** The first one wins: a second deactivation of the same activation is of a contract we never saw active. */
  deactivate(contractId: string, synchronizerPk: number, offset: number): void {
    const key = keyOf(contractId, synchronizerPk);
    const activation = this.#open.get(key);
    if (activation !== undefined) {
      activation.deactivatedOffset = offset;
      this.#open.delete(key);
    } else if (!this.#ended.has(key)) this.#ended.set(key, { synchronizerPk, offset });
  }

  /** Rows of table `lifetimes`. */
  rows(): readonly Row[] {
    return this.#activations.map((a) => [
      contractOf(a.key),
      a.synchronizerPk,
      a.offset,
      a.templatePk,
      a.deactivatedOffset,
    ]);
  }

  /** Contracts that were switched on. */
  contractIds(): readonly string[] {
    return this.#activations.map(({ key }) => contractOf(key));
  }

  /** The rows counted by template. */
  counts(): readonly TemplateCount[] {
    const counts = new Map<number, TemplateCount>();
    for (const { templatePk, deactivatedOffset } of this.#activations) {
      let count = counts.get(templatePk);
      if (count === undefined) counts.set(templatePk, (count = { templatePk, activated: 0, deactivated: 0 }));
      count.activated += 1;
      if (deactivatedOffset !== null) count.deactivated += 1;
    }
    return [...counts.values()];
  }

  /** What ends activations that earlier batches stored. */
  deactivations(): readonly Deactivation[] {
    return [...this.#ended].map(([key, ended]) => ({ contractId: contractOf(key), ...ended }));
  }
}

/**
 * One text for the pair. It also is a copy: the id is a part of its frame, which would be held in memory with it until
 * the batch is written.
 */
function keyOf(contractId: string, synchronizerPk: number): string {
  return `${String(synchronizerPk)} ${contractId}`;
}

function contractOf(key: string): string {
  return key.slice(key.indexOf(' ') + 1);
}
