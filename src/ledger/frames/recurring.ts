/**
 * Cache of recurring values of a stream (names of templates, lists of parties), keyed by their bytes. A value is
 * created only the first time. The same bytes give the same object, as long as it is remembered.
 */

/** Multiplier of the hash; odd, so that no bit of a hash is lost. */
const factor = 0x9e3779b1;
const initialSlots = 512;
const initialBytes = 32 * 1024;

export class RecurringTexts<T> {
  readonly #make: (text: string) => T;
  readonly #mostBytes: number;
  /**
   * Hash table with open addressing: a value is in the slot of its hash, or in the next free one. A slot contains the
   * number of the value; 0 if it is empty.
   */
  #places = new Int32Array(initialSlots);
  /** Values are numbered from 1. The bytes of a value extend from its start to the start of the next one. */
  #values: (T | undefined)[] = [undefined];
  #hashes: number[] = [0];
  #starts: number[] = [0, 0];
  /** The bytes of all values, contiguous, so that they are near each other when they are compared. */
  #bytes = Buffer.allocUnsafeSlow(initialBytes);
  #view = viewOf(this.#bytes);

  /**
   * @param build creates the value from its text
   * @param maxBytes maximum size of the remembered texts; beyond it, all are forgotten
   */
  constructor(build: (text: string) => T, maxBytes: number) {
    this.#make = build;
    this.#mostBytes = maxBytes;
  }

  /**
   * The value for the bytes between two positions of `bytes`, of which `view` is a view.
   * @throws any error of `make`
   */
  at(bytes: Buffer, view: DataView, start: number, end: number): T {
    const hash = hashOf(bytes, view, start, end);
    const last = this.#places.length - 1;
    for (let slot = hash & last; ; slot = (slot + 1) & last) {
      const number = this.#places[slot] ?? 0;
      if (number === 0) return this.#remember(hash, bytes, start, end);
      if (this.#hashes[number] !== hash || !this.#isSame(number, bytes, view, start, end)) continue;
      const value = this.#values[number];
      if (value !== undefined) return value;
    }
  }

  #isSame(number: number, bytes: Buffer, view: DataView, start: number, end: number): boolean {
    const entryStart = this.#starts[number] ?? 0;
    const length = end - start;
    if ((this.#starts[number + 1] ?? 0) - entryStart !== length) return false;
    let position = 0;
    for (; position + 4 <= length; position += 4) {
      if (this.#view.getInt32(entryStart + position, true) !== view.getInt32(start + position, true)) return false;
    }
    for (; position < length; position += 1)
      if (this.#bytes[entryStart + position] !== bytes[start + position]) return false;
    return true;
  }

  #remember(hash: number, bytes: Buffer, start: number, end: number): T {
    const value = this.#make(bytes.toString('utf8', start, end));
    const usedBytes = this.#starts.at(-1) ?? 0;
    if (usedBytes + end - start > this.#mostBytes) {
      this.#forget();
      return value;
    }
    this.#reserve(usedBytes + end - start);
    this.#starts.push(usedBytes + bytes.copy(this.#bytes, usedBytes, start, end));
    this.#hashes.push(hash);
    if (this.#values.push(value) * 2 > this.#places.length) this.#spread(this.#places.length * 2);
    else this.#place(this.#values.length - 1);
    return value;
  }

  #forget(): void {
    this.#values = [undefined];
    this.#hashes = [0];
    this.#starts = [0, 0];
    this.#places = new Int32Array(initialSlots);
  }

  #reserve(neededBytes: number): void {
    if (neededBytes <= this.#bytes.length) return;
    const largerBuffer = Buffer.allocUnsafeSlow(Math.max(neededBytes, this.#bytes.length * 2));
    this.#bytes.copy(largerBuffer);
    this.#bytes = largerBuffer;
    this.#view = viewOf(largerBuffer);
  }

  #spread(slotCount: number): void {
    this.#places = new Int32Array(slotCount);
    for (let number = 1; number < this.#values.length; number += 1) this.#place(number);
  }

  #place(number: number): void {
    const last = this.#places.length - 1;
    let slot = (this.#hashes[number] ?? 0) & last;
    while (this.#places[slot] !== 0) slot = (slot + 1) & last;
    this.#places[slot] = number;
  }
}

/** A view that reads numbers of any width from a buffer. */
export function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Hashes eight bytes at a time, in two halves that can be computed in parallel. */
function hashOf(bytes: Buffer, view: DataView, start: number, end: number): number {
  let hash = end - start;
  let other = 0;
  let position = start;
  for (; position + 8 <= end; position += 8) {
    hash = mixHash(hash, view.getInt32(position, true));
    other = mixHash(other, view.getInt32(position + 4, true));
  }
  for (; position < end; position += 1) hash = mixHash(hash, bytes[position] ?? 0);
  hash = mixHash(hash, other);
  return hash ^ (hash >>> 15);
}

function mixHash(hash: number, more: number): number {
  return Math.imul(((hash << 5) | (hash >>> 27)) ^ more, factor);
}
