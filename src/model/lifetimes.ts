/**
 * Which contracts a batch switches on and off. Activations that end within the same batch are closed here, so that at
 * most one end per contract and synchronizer is left for the database.
 */
import type { Microseconds } from './binary-timestamp.ts';
import type { Row } from './tables.ts';
import { copiesOf, utf8Of, type Text, type Utf8 } from './utf8.ts';

/** An archive or an unassign. */
export interface End {
  readonly offset: number;
  /** Node of the archive; null for an unassign. */
  readonly nodeId: number | null;
  readonly by: 'archive' | 'reassignment';
  /** Effective time of the archive, record time of the unassign; null where it is not known. */
  readonly at: Microseconds | null;
}

export interface Deactivation {
  readonly contractId: Text;
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
  readonly contractId: Text;
  readonly offset: number;
  readonly nodeId: number;
  readonly templatePk: number;
  readonly synchronizerPk: number;
  readonly partiesPk: number;
}

interface Activation {
  readonly state: ContractState;
  readonly offset: number;
  readonly nodeId: number;
  readonly templatePk: number;
  readonly partiesPk: number;
  end: End | undefined;
}

/** What the batch has said of a contract on a synchronizer so far. */
interface ContractState {
  readonly hash: number;
  readonly contractId: Utf8;
  readonly synchronizerPk: number;
  /** The activation that has not ended. */
  open: Activation | undefined;
  /** The first end of what no update of the batch has begun. */
  ended: End | undefined;
}

/** "char" of an end in table `ended`. */
export const endedBy = { archive: 'a', reassignment: 'r' } as const;

/** Ids that lie in frames are read there: they have to be kept until all is taken. */
export class Lifetimes {
  readonly #activations: Activation[] = [];
  readonly #states = new ContractStates();
  #repeated = false;

  /** Whether a contract was switched on twice at one offset, which no sound update does. */
  get repeated(): boolean {
    return this.#repeated;
  }

  activate({ contractId, offset, nodeId, templatePk, synchronizerPk, partiesPk }: Activated): void {
    const state = this.#states.of(contractId, synchronizerPk);
    if (state.open?.offset === offset) this.#repeated = true;
    // Named one by one: a spread takes several times as long.
    const activation: Activation = { state, offset, nodeId, templatePk, partiesPk, end: undefined };
    this.#activations.push(activation);
    state.open = activation;
  }

  /** The first one wins: a second deactivation of the same activation is of a contract we never saw active. */
  deactivate(contractId: Text, synchronizerPk: number, end: End): void {
    const state = this.#states.of(contractId, synchronizerPk);
    if (state.open === undefined) {
      state.ended ??= end;
      return;
    }
    state.open.end = end;
    state.open = undefined;
  }

  /** Rows of table `live`. */
  live(): readonly Row[] {
    const rows: Row[] = [];
    for (const { state, offset, nodeId, templatePk, partiesPk, end } of this.#activations) {
      if (end === undefined) {
        rows.push([offset, nodeId, templatePk, state.synchronizerPk, partiesPk, state.contractId]);
      }
    }
    return rows;
  }

  /** Rows of table `ended`. */
  ended(): readonly Row[] {
    const rows: Row[] = [];
    for (const { state, offset, nodeId, templatePk, partiesPk, end } of this.#activations) {
      if (end === undefined) continue;
      const lifetime = lifetimeClass(offset, end.offset);
      const place = [offset, end.offset, nodeId, templatePk, state.synchronizerPk, partiesPk, lifetime];
      rows.push([...place, endedBy[end.by], state.contractId, end.at, end.nodeId]);
    }
    return rows;
  }

  /** Contracts that were switched on. */
  contractIds(): readonly string[] {
    return this.#activations.map(({ state }) => state.contractId.toString());
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

  /** What ends activations that earlier batches stored, with copies of the ids. */
  deactivations(): readonly Deactivation[] {
    const ending = this.#states.all.filter(({ ended }) => ended !== undefined);
    const copies = copiesOf(ending.map(({ contractId }) => contractId));
    return ending.flatMap(({ synchronizerPk, ended }, index) => {
      const contractId = copies[index];
      return contractId === undefined || ended === undefined ? [] : [{ contractId, synchronizerPk, end: ended }];
    });
  }
}

const initialPlaces = 512;

/**
 * The states of contracts by id and synchronizer. A map would want a text of its own as key: made, hashed and collected for
 * every create and every archive.
 */
class ContractStates {
  readonly all: ContractState[] = [];
  /** Open addressing: where a state is in `all`, plus 1; 0 is free. Never more than half full. */
  #places = new Int32Array(initialPlaces);

  /** What is known of a contract; made when nothing is. */
  of(contractId: Text, synchronizerPk: number): ContractState {
    const id = utf8Of(contractId);
    const hash = hashOf(id);
    const last = this.#places.length - 1;
    for (let place = hash & last; ; place = (place + 1) & last) {
      const found = this.all[(this.#places[place] ?? 0) - 1];
      if (found === undefined) return this.#add(place, { hash, contractId: id, synchronizerPk });
      const same = found.hash === hash && found.synchronizerPk === synchronizerPk;
      if (same && isSame(found.contractId, id)) return found;
    }
  }

  #add(
    place: number,
    { hash, contractId, synchronizerPk }: Pick<ContractState, 'hash' | 'contractId' | 'synchronizerPk'>,
  ) {
    const state: ContractState = { hash, contractId, synchronizerPk, open: undefined, ended: undefined };
    this.#places[place] = this.all.push(state);
    if (this.all.length * 2 > this.#places.length) this.#grow();
    return state;
  }

  #grow(): void {
    const places = new Int32Array(this.#places.length * 2);
    const last = places.length - 1;
    this.all.forEach(({ hash }, index) => {
      let place = hash & last;
      while (places[place] !== 0) place = (place + 1) & last;
      places[place] = index + 1;
    });
    this.#places = places;
  }
}

/** So many bytes of each end tell ids apart: they begin with a hash, and end with what distinguishes those of tests. */
const hashedBytes = 24;

function hashOf({ bytes, start, end }: Utf8): number {
  let hash = end - start;
  const begin = Math.max(start, end - hashedBytes);
  for (let at = Math.min(start + hashedBytes, begin) - 1; at >= start; at -= 1) hash = mixed(hash, bytes[at] ?? 0);
  for (let at = begin; at < end; at += 1) hash = mixed(hash, bytes[at] ?? 0);
  return hash ^ (hash >>> 15);
}

function mixed(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}

function isSame(one: Utf8, other: Utf8): boolean {
  const length = one.end - one.start;
  if (other.end - other.start !== length) return false;
  for (let at = 0; at < length; at += 1) if (one.bytes[one.start + at] !== other.bytes[other.start + at]) return false;
  return true;
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
