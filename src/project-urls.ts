/** Where the project is on the web, for somebody who has the program only. The one place that says so. */
import { version } from './version.ts';

const project = 'https://github.com/ledger-indexer/ledger-indexer';

/** The address of a page, e.g. of `docs/sql.md#tokens`. */
export function pageUrl(path: string): string {
  return `${project}/blob/main/${path}`;
}

/** The tarball of a package that is released with this version; none of them is on a registry. */
export function releasedPart(name: string): string {
  return `${project}/releases/download/v${version}/${name}-${version}.tgz`;
}
