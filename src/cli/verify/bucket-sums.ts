/**
 * An order-independent fingerprint of a set in constant memory: for each bucket, the sum of the digests of its entries
 * as four 64-bit numbers. Equal sums mean equal sets, unless collisions were constructed on purpose.
 */
import { createHash, hash } from 'node:crypto';
import { lineOf, visibleFields, type ComparableRow } from '../../model/compared-rows.ts';
import type { BucketSum } from '../../store/verify/stored-active.ts';

const bucketCount = 4096;

/** Number of a contract's bucket: the first twelve bits of the SHA-256 of its id. */
export function bucketOf(contractId: string): number {
  return Number.parseInt(hash('sha256', contractId, 'hex').slice(0, 3), 16);
}

/** SHA-256 of the line of a row, in hexadecimal. */
export function digestOf(row: ComparableRow, redacted: boolean): string {
  return hash('sha256', lineOf(row, redacted), 'hex');
}

/** Digests of the fields of a row, with 16 hexadecimal digits each; empty for absent fields. */
export function fieldDigests(row: ComparableRow, redacted: boolean): readonly string[] {
  return visibleFields(row, redacted).map((text) => (text === null ? '' : hash('sha256', text, 'hex').slice(0, 16)));
}

export class BucketSums {
  readonly #counts = new Uint32Array(bucketCount);
  readonly #sums = new BigUint64Array(bucketCount * 4);

  /** Adds an entry to the bucket of its contract. */
  add(contractId: string, row: ComparableRow, redacted: boolean): void {
    const bucket = bucketOf(contractId);
    const digest = createHash('sha256').update(lineOf(row, redacted)).digest();
    this.#counts[bucket] = this.count(bucket) + 1;
    for (let index = 0; index < 4; index += 1) {
      const position = bucket * 4 + index;
      // The typed array keeps only the lower 64 bits of the sum.
      this.#sums[position] = (this.#sums[position] ?? 0n) + digest.readBigUInt64BE(index * 8);
    }
  }

  count(bucket: number): number {
    return this.#counts[bucket] ?? 0;
  }

  /** Numbers of the buckets that differ from the stored ones, in ascending order. */
  unequal(storedSums: readonly BucketSum[]): readonly number[] {
    const sumsByBucket = new Map(storedSums.map((sum) => [sum.bucket, sum]));
    return Array.from({ length: bucketCount }, (_, bucket) => bucket).filter((bucket) => {
      const other = sumsByBucket.get(bucket);
      if (this.count(bucket) !== (other?.count ?? 0)) return true;
      return [0, 1, 2, 3].some((index) => this.#sums[bucket * 4 + index] !== (other?.sums[index] ?? 0n));
    });
  }
}
