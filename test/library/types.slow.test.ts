/** Compares the exported types of the library with the committed files, so that every change is visible in review. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const project = join(import.meta.dirname, '../..');

const names = readdirSync(join(project, 'types')).map((file) => file.replace(/\.d\.ts$/, ''));

it.each(names)(
  'types/%s.d.ts contains the current types (update: npm run library:types)',
  (name) => {
    const typesRun = spawnSync(process.execPath, ['scripts/library-types.mjs', '--print', name], {
      cwd: project,
      encoding: 'utf8',
      timeout: 100_000,
    });
    expect(typesRun.stderr).toBe('');
    expect(typesRun.stdout).toBe(readFileSync(join(project, `types/${name}.d.ts`), 'utf8'));
  },
  120_000,
);
