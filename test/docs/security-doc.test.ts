/** The promises of the security pages have tests that exist. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { securityPromises } from '../security/promises.ts';

const root = join(import.meta.dirname, '../..');

it('each security promise has at least one test file, and all its test files exist', () => {
  expect(securityPromises.length).toBeGreaterThan(30);
  expect(securityPromises.filter(({ tests }) => tests.length === 0)).toEqual([]);
  const files = securityPromises.flatMap(({ tests }) => tests);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
