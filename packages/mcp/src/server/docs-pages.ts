/** Pages of the documentation, which clients read as resources. The list is fixed at the start: no path comes from a client. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface DocsPage {
  readonly uri: string;
  /** Path of the page in the documentation. */
  readonly name: string;
  readonly title: string;
  readonly text: string;
}

const packageFolder = join(import.meta.dirname, '../..');

/** Reads the pages that the build copied into the package. There are none if it was compiled without them. */
export function readDocsPages(folder = join(packageFolder, 'docs')): ReadonlyMap<string, DocsPage> {
  if (!existsSync(folder)) return new Map();
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'));
  return new Map(
    paths
      .sort()
      .map((path) => pageOf(folder, path.replaceAll('\\', '/')))
      .map((page) => [page.uri, page]),
  );
}

function pageOf(folder: string, path: string): DocsPage {
  const text = readFileSync(join(folder, path), 'utf8');
  const name = path.replace(/\.md$/, '');
  const [, title = name] = /^# (.+)$/m.exec(text) ?? [];
  return { uri: `ledger-indexer://docs/${name}`, name, title: title.replaceAll('`', ''), text };
}
