/**
 * Seeded random numbers: the same seed results in the same numbers, ids and choices on every machine and in every run.
 * Not for cryptography. Ids have the lengths and prefixes of real ones, so that storage sizes are realistic.
 */
import { createHash } from 'node:crypto';

/** Position in the sequence of numbers, as stored in a snapshot. */
export type SavedRandom = readonly [a: number, b: number, c: number, counter: number];

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;
  readonly #contract = Buffer.alloc(69);
  readonly #update = Buffer.alloc(34);
  readonly #word = Buffer.alloc(24);

  /** @param seed any integer */
  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 0x1_0000_0000) >>> 0;
    this.#c = 0x9e37_79b9;
    Buffer.from('ca111220', 'hex').copy(this.#contract, 33);
    this.#update.writeUInt16BE(0x1220, 0);
    for (let i = 0; i < 15; i += 1) this.uint32();
  }

  save(): SavedRandom {
    return [this.#a, this.#b, this.#c, this.#counter];
  }

  load(saved: SavedRandom): void {
    [this.#a, this.#b, this.#c, this.#counter] = saved;
  }

  /** The next 32 random bits (sfc32). */
  uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** A number in [0, 1). */
  float(): number {
    return this.uint32() / 0x1_0000_0000;
  }

  /** An integer in [min, max], both inclusive. */
  between(min: number, max: number): number {
    return min + Math.floor(this.float() * (max - min + 1));
  }

  /** True with the given probability (0..1). */
  chance(probability: number): boolean {
    return this.float() < probability;
  }

  /** An index below `length` from a power law: low indexes are drawn far more often. */
  zipf(length: number): number {
    return Math.min(length - 1, Math.floor(length ** this.float()) - 1);
  }

  /** A contract id: `00…ca111220…`, 138 hex digits. */
  contractId(): string {
    this.#fill(this.#contract, 1, 32);
    this.#fill(this.#contract, 37, 32);
    return this.#contract.toString('hex');
  }

  /** An update id: `1220` and 64 hex digits. */
  updateId(): string {
    this.#fill(this.#update, 2, 32);
    return this.#update.toString('hex');
  }

  /** Lower-case hex of the given number of bytes (a multiple of 4, at most 24). */
  hex(bytes: number): string {
    this.#fill(this.#word, 0, bytes);
    return this.#word.toString('hex', 0, bytes);
  }

  #fill(target: Buffer, from: number, bytes: number): void {
    for (let position = from; position < from + bytes; position += 4) target.writeUInt32BE(this.uint32(), position);
  }
}

/** A stable hash of a text, 64 hex digits: for package ids and party fingerprints. */
export function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A party id `hint::1220…` that depends only on the hint and the namespace. */
export function partyId(hint: string, namespace: string): string {
  return `${hint}::1220${fingerprint(namespace)}`;
}
