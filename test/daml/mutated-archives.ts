/** Archives of packages with changed bytes, and the attempt to read one. */
import * as fc from 'fast-check';
import { expect } from 'vitest';
import { readPackageArchive } from '../../src/daml/package-archive.ts';
import type { PackageModel } from '../../src/daml/package-model.ts';
import { IndexerError } from '../../src/errors/indexer-error.ts';

/** Limit of CPU time, in milliseconds. */
export const longestMs = 1000;

/** Reads an archive. Returns the model, or the reason why it is rejected. */
export function attempt(bytes: Uint8Array): string | PackageModel {
  const cpuBefore = process.cpuUsage();
  try {
    const model = readPackageArchive(bytes);
    JSON.stringify(model);
    return model;
  } catch (error) {
    if (!(error instanceof IndexerError) || error.code !== 'PACKAGE_UNREADABLE') throw error;
    return error.message;
  } finally {
    expect(process.cpuUsage(cpuBefore).user / 1_000).toBeLessThan(longestMs);
  }
}

/** Changes, truncates or doubles the bytes of a payload. The payload has no envelope, so no hash reveals the change. */
export const mutation = fc.record({
  edits: fc.array(fc.tuple(fc.double({ min: 0, max: 0.999_999, noNaN: true }), fc.integer({ min: 0, max: 255 })), {
    maxLength: 12,
  }),
  cut: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { freq: 4 }),
  doubled: fc.boolean(),
});

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

export function mutate(
  originalArchive: Uint8Array,
  { edits, cut: cutMutation, doubled: doubledRange }: Mutation,
): Uint8Array {
  let bytes = Uint8Array.from(originalArchive);
  for (const [position, value] of edits) bytes[Math.floor(position * bytes.length)] = value;
  if (cutMutation !== null) bytes = bytes.slice(0, Math.floor(cutMutation * bytes.length));
  return doubledRange ? Uint8Array.from([...bytes, ...bytes]) : bytes;
}
