/** The version of the program, the commit it was built from, and the URLs of its documentation. */
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

export const version: string = manifest.version;

/** The git commit, with `-modified` if files differed from it; `unknown` if built outside a repository. */
export const commit: string = builtFrom();

function builtFrom(): string {
  try {
    // Written by scripts/note-commit.mjs next to the compiled program.
    return readFileSync(new URL('commit', import.meta.url), 'utf8').trim() || 'unknown';
  } catch {
    return 'unknown';
  }
}

/** The URL of the project, for users who have only the program. */
const project = 'https://github.com/ledger-indexer/ledger-indexer';

/** The URL of a page of the documentation, e.g. `docs/how-to/query/tokens.md`. */
export function pageUrl(path: string): string {
  return `${project}/blob/main/${path}`;
}
