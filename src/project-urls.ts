/** Where the project is on the web, for somebody who has the program only. The one place that says so. */
const project = 'https://github.com/ledger-indexer/ledger-indexer';

/** The address of a page, e.g. of `docs/sql.md#tokens`. */
export function pageUrl(path: string): string {
  return `${project}/blob/main/${path}`;
}
