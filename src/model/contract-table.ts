/**
 * Assigns small numbers to pairs of contract id and synchronizer. A map would need a text as key, which is created,
 * hashed and collected for every create and every archive. Here ids are copied into one block of memory that is reused.
 */
import { Utf8, utf8Of, type TextOrUtf8 } from './utf8.ts';

const initialSlots = 4_096;
const initialBytes = 256 * 1024;

export class ContractTable {
  #size = 0;
  /**
   * Hash table with open addressing. A slot contains the number of a contract plus 1; 0 if it is free. Never more than
   * half full.
   */
  #places = new Int32Array(initialSlots);
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
  of(contractId: TextOrUtf8, synchronizerPk: number): number {
    const id = utf8Of(contractId);
    const hash = hashOf(id);
    const last = this.#places.length - 1;
    for (let slot = hash & last; ; slot = (slot + 1) & last) {
      const candidate = (this.#places[slot] ?? 0) - 1;
      if (candidate < 0) return this.#add(slot, id, hash, synchronizerPk);
      const isSame = this.#hashes[candidate] === hash && this.#synchronizerPks[candidate] === synchronizerPk;
      if (isSame && this.#isSame(candidate, id)) return candidate;
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
    const storedStart = this.#start(contract);
    const length = end - start;
    if ((this.#ends[contract] ?? 0) - storedStart !== length) return false;
    for (let byteIndex = 0; byteIndex < length; byteIndex += 1)
      if (this.#bytes[storedStart + byteIndex] !== bytes[start + byteIndex]) return false;
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

  #reserve(neededBytes: number): void {
    if (neededBytes <= this.#bytes.length) return;
    const largerBuffer = Buffer.allocUnsafeSlow(Math.max(neededBytes, this.#bytes.length * 2));
    this.#bytes.copy(largerBuffer);
    this.#bytes = largerBuffer;
  }

  #grow(): void {
    const newSlots = new Int32Array(this.#places.length * 2);
    const last = newSlots.length - 1;
    for (let contract = 0; contract < this.#size; contract += 1) {
      let slot = (this.#hashes[contract] ?? 0) & last;
      while (newSlots[slot] !== 0) slot = (slot + 1) & last;
      newSlots[slot] = contract + 1;
    }
    this.#places = newSlots;
  }
}

/** Bytes hashed at each end of an id. Ids begin with a hash; ids in tests differ at the end. */
const hashedBytes = 24;

function hashOf({ bytes, start, end }: Utf8): number {
  let hash = end - start;
  const tailStart = Math.max(start, end - hashedBytes);
  for (let byteIndex = Math.min(start + hashedBytes, tailStart) - 1; byteIndex >= start; byteIndex -= 1)
    hash = mixHash(hash, bytes[byteIndex] ?? 0);
  for (let byteIndex = tailStart; byteIndex < end; byteIndex += 1) hash = mixHash(hash, bytes[byteIndex] ?? 0);
  return hash ^ (hash >>> 15);
}

function mixHash(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}
