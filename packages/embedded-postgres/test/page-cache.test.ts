/** The size of the page cache of the embedded server. */
import { expect, it } from 'vitest';
import { sharedBuffers } from '../src/page-cache.ts';

const GIB = 2 ** 30;

it.each([
  [GIB / 2, '128MB'],
  [2 * GIB, '256MB'],
  [4 * GIB, '512MB'],
  [24 * GIB, '3072MB'],
  [64 * GIB, '4096MB'],
])('with %i bytes of memory, shared_buffers is %s', (available, expected) => {
  expect(sharedBuffers(available)).toBe(expected);
});

it('the page cache size depends on the memory of this machine or container by default', () => {
  expect(Number.parseInt(sharedBuffers(), 10)).toBeGreaterThanOrEqual(128);
  expect(Number.parseInt(sharedBuffers(), 10)).toBeLessThanOrEqual(4096);
});
