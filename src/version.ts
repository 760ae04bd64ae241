/**
 * The version of this program, from its own package.json, the commit it was built from, and the address of its pages.
 */
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

export const version: string = manifest.version;

/** The git commit, with `-modified` when files differed from it; `unknown` when it was built outside a repository. */
export const commit: string = builtFrom();

function builtFrom(): string {
  try {
    // Written by scripts/note-commit.mjs next to the compiled program.
    return readFileSync(new URL('commit', import.meta.url), 'utf8').trim() || 'unknown';
  } catch {
    return 'unknown';
  }
}

/** Web address of the project, for users who have only the program. The only place that defines it. */
const project = 'https://github.com/ledger-indexer/ledger-indexer';

/** The address of a page, e.g. of `docs/how-to/query/tokens.md`. */
export function pageUrl(path: string): string {
  return `${project}/blob/main/${path}`;
}
