/**
 * Which contracts a batch switches on and off. Activations that end within the same batch are closed here, so that at
 * most one end per contract and synchronizer is left for the database.
 */
import type { Row } from './tables.ts';

/** An archive or an unassign. */
export interface End {
  readonly offset: number;
  /** Node of the archive; null for an unassign. */
  readonly nodeId: number | null;
  readonly by: 'archive' | 'reassignment';
  /** Effective time of the archive, record time of the unassign, ISO-8601; null where it is not known. */
  readonly at: string | null;
}

export interface Deactivation {
  readonly contractId: string;
  readonly synchronizerPk: number;
  readonly end: End;
}

/** Activations of a template within a batch, and how many of them ended within it as well. */
export interface TemplateCount {
  readonly templatePk: number;
  activated: number;
  deactivated: number;
}

/** An activation: the row of table `contracts` it belongs to, and what is kept of it beside. */
export interface Activated {
  readonly contractId: string;
  readonly offset: number;
  readonly nodeId: number;
  readonly templatePk: number;
  readonly synchronizerPk: number;
  readonly partiesPk: number;
}

interface Activation extends Omit<Activated, 'contractId'> {
  readonly key: string;
  end: End | undefined;
}

/** "char" of an end in table `ended`. */
export const endedBy = { archive: 'a', reassignment: 'r' } as const;

export class Lifetimes {
  readonly #activations: Activation[] = [];
  #repeated = false;
  readonly #open = new Map<string, Activation>();
  readonly #ended = new Map<string, { readonly synchronizerPk: number; readonly end: End }>();

  /** Whether a contract was switched on twice at one offset, which no sound update does. */
  get repeated(): boolean {
    return this.#repeated;
  }

  activate({ contractId, offset, nodeId, templatePk, synchronizerPk, partiesPk }: Activated): void {
    const key = keyOf(contractId, synchronizerPk);
    if (this.#open.get(key)?.offset === offset) this.#repeated = true;
    // Named one by one: a spread takes several times as long.
    const activation: Activation = { key, offset, nodeId, templatePk, synchronizerPk, partiesPk, end: undefined };
    this.#activations.push(activation);
    this.#open.set(key, activation);
  }

  /** The first one wins: a second deactivation of the same activation is of a contract we never saw active. */
  deactivate(contractId: string, synchronizerPk: number, end: End): void {
    const key = keyOf(contractId, synchronizerPk);
    const activation = this.#open.get(key);
    if (activation !== undefined) {
      activation.end = end;
      this.#open.delete(key);
    } else if (!this.#ended.has(key)) this.#ended.set(key, { synchronizerPk, end });
  }

  /** Rows of table `live`. */
  live(): readonly Row[] {
    return this.#activations
      .filter(({ end }) => end === undefined)
      .map((a) => [a.offset, a.nodeId, a.templatePk, a.synchronizerPk, a.partiesPk, contractOf(a.key)]);
  }

  /** Rows of table `ended`. */
  ended(): readonly Row[] {
    const rows: Row[] = [];
    for (const { key, offset, nodeId, templatePk, synchronizerPk, partiesPk, end } of this.#activations) {
      if (end === undefined) continue;
      const lifetime = lifetimeClass(offset, end.offset);
      const place = [offset, end.offset, nodeId, templatePk, synchronizerPk, partiesPk, lifetime];
      rows.push([...place, endedBy[end.by], contractOf(key), end.at, end.nodeId]);
    }
    return rows;
  }

  /** Contracts that were switched on. */
  contractIds(): readonly string[] {
    return this.#activations.map(({ key }) => contractOf(key));
  }

  /** The rows counted by template. */
  counts(): readonly TemplateCount[] {
    const counts = new Map<number, TemplateCount>();
    for (const { templatePk, end } of this.#activations) {
      let count = counts.get(templatePk);
      if (count === undefined) counts.set(templatePk, (count = { templatePk, activated: 0, deactivated: 0 }));
      count.activated += 1;
      if (end !== undefined) count.deactivated += 1;
    }
    return [...counts.values()];
  }

  /** What ends activations that earlier batches stored. */
  deactivations(): readonly Deactivation[] {
    return [...this.#ended].map(([key, ended]) => ({ contractId: contractOf(key), ...ended }));
  }
}

/** Row of table `ended` for a create that never was active for the reader. */
export function witnessedRow({ offset, nodeId, templatePk, synchronizerPk, partiesPk, contractId }: Activated): Row {
  return [offset, offset, nodeId, templatePk, synchronizerPk, partiesPk, -1, 'w', contractId, null, null];
}

/** The power of two in the length of a lifetime, as function lifetime_class of the storage gives it. */
export function lifetimeClass(activatedOffset: number, endedOffset: number): number {
  const length = endedOffset - activatedOffset + 1;
  return length < 2 ** 32 ? 31 - Math.clz32(length) : 63 - Math.clz32(Math.floor(length / 2 ** 32));
}

/**
 * One text for the pair, that is a copy: the id is a part of its frame, which would be held in memory with it until the
 * batch is written. Looking at a character makes the engine write the joined text down, which until then refers to its parts.
 */
function keyOf(contractId: string, synchronizerPk: number): string {
  const key = `${String(synchronizerPk)} ${contractId}`;
  key.charCodeAt(0);
  return key;
}

function contractOf(key: string): string {
  return key.slice(key.indexOf(' ') + 1);
}
