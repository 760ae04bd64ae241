/** What the library exports is what types/ledger-indexer.d.ts says: a change is a difference there, to be seen by who reviews it. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const project = join(import.meta.dirname, '../..');

it('has the types that are published; else run npm run library:types', () => {
  const made = spawnSync(process.execPath, ['scripts/library-types.mjs', '--print'], {
    cwd: project,
    encoding: 'utf8',
    timeout: 100_000,
  });
  expect(made.stderr).toBe('');
  expect(made.stdout).toBe(readFileSync(join(project, 'types/ledger-indexer.d.ts'), 'utf8'));
}, 120_000);
