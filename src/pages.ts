/** Where the pages of the project are read by somebody who has the program only. The one place that says so. */
const base = 'https://github.com/ledger-indexer/ledger-indexer/blob/main/';

/** The address of a page, e.g. of `docs/sql.md#tokens-cip-56`. */
export function pageUrl(path: string): string {
  return `${base}${path}`;
}
