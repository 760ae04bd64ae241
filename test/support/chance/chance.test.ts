/** Tests must give the same result in every run, so a test must not use random numbers without a seed. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../../..');
/** Files that receive their seed from a caller, or that are not tests. */
const allowedFiles = new Set([
  'test/support/chance/property.ts',
  'test/support/chance/chance.test.ts',
  'test/chaos/options.ts',
]);
const randomCall =
  /\bMath\.random\(|\brandomInt\(|\bfc\.(?:assert|check)\(|\{[^}]*\b(?:assert|check)\b[^}]*\} from 'fast-check'/;

const folders = [
  'test',
  'packages/page/test',
  'packages/lake/test',
  'packages/mcp/test',
  'packages/ledger-sandbox/test',
  'packages/embedded-postgres/test',
];

it('random numbers in tests always have a seed', () => {
  const files = folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((file) => `${folder}/${String(file)}`),
    )
    .filter((file) => file.endsWith('.ts') && !allowedFiles.has(file));
  expect(files.length).toBeGreaterThan(300);
  const offenders = files.filter((file) => randomCall.test(readFileSync(join(root, file), 'utf8')));
  expect(offenders, 'use expectProperty, seedFor or a counter').toEqual([]);
});
