/** Checks the URLs of pages that the program, its alerts and its messages name. They work from anywhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pageUrl } from '../../src/page-url.ts';
import { anchorsOf, pages, root } from './pages.ts';

const docPages = pages();
const base = pageUrl('');

interface NamedPage {
  readonly file: string;
  readonly page: string;
  readonly anchor: string | undefined;
}

/** Pages that a file names by their URL or by `pageUrl`. */
function pageLinks(file: string): readonly NamedPage[] {
  const text = readFileSync(join(root, file), 'utf8').replaceAll("pageUrl('", base);
  return [
    ...text.matchAll(new RegExp(`${base.replaceAll('.', String.raw`\.`)}([\\w./-]+\\.md)(?:#([\\w-]+))?`, 'g')),
  ].map(([, page = '', anchor]) => ({ file, page, anchor }));
}

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${name}`);

describe('pages named by the program or by alerts', () => {
  it('exist, and contain the named headings', () => {
    const links = [...sources, 'grafana/alerts/ledger-indexer.rules.yaml'].flatMap(pageLinks);
    expect(links.length).toBeGreaterThan(20);
    const brokenLinks = links.filter(({ page: path, anchor }) => {
      const page = docPages.find((candidate) => candidate.path === path);
      return page === undefined || (anchor !== undefined && !anchorsOf(page).has(anchor));
    });
    expect(brokenLinks).toEqual([]);
  });

  it('are named by their complete URL', () => {
    const bareLinks = sources.flatMap((file) => {
      const code = readFileSync(join(root, file), 'utf8').replaceAll(/\/\*.*?\*\/|^\s*\/\/.*$/gms, '');
      return [...code.matchAll(/^.*docs\/[\w-]+\.md.*$/gm)].map(([line]) => `${file}: ${line.trim()}`);
    });
    // The page of a command is in docs/reference/commands.
    expect(bareLinks.filter((line) => !line.includes("pageUrl('docs/") && !line.includes(": page: 'docs/"))).toEqual(
      [],
    );
  });

  it('have URLs below the homepage of package.json', () => {
    const { homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { homepage?: string };
    expect(base).toBe(`${(homepage ?? base).replace(/(?:#.*|\/blob\/main\/)$/, '')}/blob/main/`);
  });
});
