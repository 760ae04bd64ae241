/** URLs of the documentation. Unlike the version, they need no file, so that tools can use any code of the store. */

/** URL of the project, for users who only have the program. */
const project = 'https://github.com/ledger-indexer/ledger-indexer';

/** URL of a page, e.g. of `docs/how-to/query/tokens.md`. */
export function pageUrl(path: string): string {
  return `${project}/blob/main/${path}`;
}
