/**
 * Assigns small numbers to pairs of contract id and synchronizer. A map would need a text as key, which is created,
 * hashed and collected for every create and every archive. Here ids are copied into one block of memory that is reused.
 */
import { Utf8, utf8Of, type Text } from './utf8.ts';

const initialPlaces = 4_096;
const initialBytes = 256 * 1024;

export class ContractTable {
  #size = 0;
  /**
   * Hash table with open addressing. A slot contains the number of a contract plus 1; 0 if it is free. Never more than
   * half full.
   */
  #places = new Int32Array(initialPlaces);
  /** Indexed by contract number. An id begins where the previous one ends. */
  readonly #hashes: number[] = [];
  readonly #synchronizerPks: number[] = [];
  readonly #ends: number[] = [];
  #bytes = Buffer.allocUnsafeSlow(initialBytes);

  /** Number of contracts. Their numbers begin with 0. */
  get size(): number {
    return this.#size;
  }

  clear(): void {
    if (this.#size > 0) this.#places.fill(0);
    this.#size = 0;
  }

  /** The number of a contract on a synchronizer, which may be a new one. */
  of(contractId: Text, synchronizerPk: number): number {
    const id = utf8Of(contractId);
    const hash = hashOf(id);
    const last = this.#places.length - 1;
    for (let slot = hash & last; ; slot = (slot + 1) & last) {
      const found = (this.#places[slot] ?? 0) - 1;
      if (found < 0) return this.#add(slot, id, hash, synchronizerPk);
      const same = this.#hashes[found] === hash && this.#synchronizerPks[found] === synchronizerPk;
      if (same && this.#isSame(found, id)) return found;
    }
  }

  synchronizerPk(contract: number): number {
    return this.#synchronizerPks[contract] ?? 0;
  }

  /** The id of a contract, valid until the next `clear`. */
  id(contract: number): Utf8 {
    return new Utf8(this.#bytes, this.#start(contract), this.#ends[contract] ?? 0);
  }

  #start(contract: number): number {
    return contract === 0 ? 0 : (this.#ends[contract - 1] ?? 0);
  }

  #isSame(contract: number, { bytes, start, end }: Utf8): boolean {
    const own = this.#start(contract);
    const length = end - start;
    if ((this.#ends[contract] ?? 0) - own !== length) return false;
    for (let at = 0; at < length; at += 1) if (this.#bytes[own + at] !== bytes[start + at]) return false;
    return true;
  }

  #add(slot: number, { bytes, start, end }: Utf8, hash: number, synchronizerPk: number): number {
    const contract = this.#size;
    const from = this.#start(contract);
    this.#reserve(from + end - start);
    bytes.copy(this.#bytes, from, start, end);
    this.#ends[contract] = from + end - start;
    this.#hashes[contract] = hash;
    this.#synchronizerPks[contract] = synchronizerPk;
    this.#size = contract + 1;
    this.#places[slot] = this.#size;
    if (this.#size * 2 > this.#places.length) this.#grow();
    return contract;
  }

  #reserve(needed: number): void {
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }

  #grow(): void {
    const places = new Int32Array(this.#places.length * 2);
    const last = places.length - 1;
    for (let contract = 0; contract < this.#size; contract += 1) {
      let slot = (this.#hashes[contract] ?? 0) & last;
      while (places[slot] !== 0) slot = (slot + 1) & last;
      places[slot] = contract + 1;
    }
    this.#places = places;
  }
}

/** Bytes hashed at each end of an id. Ids begin with a hash; ids in tests differ at the end. */
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
