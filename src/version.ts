/** The version of this program, from its own package.json, and the commit it was built from. */
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

export const version: string = manifest.version;

/** The git commit, with `-modified` when files differed from it; `unknown` when it was built outside a repository. */
export const commit: string = builtFrom();

function builtFrom(): string {
  try {
    // Written by scripts/note-commit.mjs beside the compiled program.
    return readFileSync(new URL('commit', import.meta.url), 'utf8').trim() || 'unknown';
  } catch {
    return 'unknown';
  }
}
