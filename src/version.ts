/** The version of the program, and the commit that it was built from. */
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

export const version: string = manifest.version;

/**
 * Id of the git commit. It ends with `-modified` if files differed from the commit, and is `unknown` if built outside a
 * repository.
 */
export const commit: string = builtFrom();

function builtFrom(): string {
  try {
    // scripts/note-commit.mjs writes this file next to the compiled program.
    return readFileSync(new URL('commit', import.meta.url), 'utf8').trim() || 'unknown';
  } catch {
    return 'unknown';
  }
}
