/** Tests the search of the site, with an index of the staged pages and the search settings of the site. */
import MiniSearch from 'minisearch';
import { describe, expect, it } from 'vitest';
import { addressOf, keywords, searchSettings } from '../../scripts/site/generator/search.ts';
import { stagedPages, type StagedPage } from '../../scripts/site/staging.ts';
import { root } from './pages.ts';

const pages = stagedPages(root, 'https://repository.example');
const { options, searchOptions } = searchSettings('/');
const index = new MiniSearch({ ...options, storeFields: ['title', 'titles'], searchOptions });
index.addAll(pages.flatMap(sectionsOf));

/** The documents that VitePress indexes for a page: one per heading, with its parent headings. */
function sectionsOf({ path, text }: StagedPage) {
  const titles: string[] = [];
  const sections: { id: string; title: string; titles: string[]; text: string }[] = [];
  let fence = '';
  for (const line of text.split('\n')) {
    const [, mark = ''] = /^ *(`{3,})/.exec(line) ?? [];
    if (mark !== '' && (fence === '' || fence === mark)) fence = fence === '' ? mark : '';
    const [, hashes = '', heading = ''] = fence === '' ? (/^(#{1,6}) +(.+)$/.exec(line) ?? []) : [];
    if (hashes === '') {
      const section = sections.at(-1);
      if (section !== undefined) section.text += `${line.replaceAll(/\]\([^)]*\)/g, ']')}\n`;
      continue;
    }
    titles.splice(hashes.length - 1, Infinity, heading);
    const parentTitles = titles.slice(0, -1).filter((title) => title !== '');
    sections.push({
      id: `/${addressOf(path)}#${String(sections.length)}`,
      title: heading,
      titles: parentTitles,
      text: '',
    });
  }
  return sections;
}

describe('site search', () => {
  it.each([
    ['latency', 'explanation/performance.md'],
    ['backup', 'how-to/run/backup-and-restore.md'],
    ['upgrade', 'how-to/run/upgrade.md'],
    ['multiple participants', 'how-to/run/several-participants.md'],
    ['Kubernetes', 'deploy/index.md'],
    ['RDS', 'how-to/run/managed-postgres.md'],
    ['Neon', 'how-to/run/managed-postgres.md'],
    ['pgbouncer', 'how-to/run/poolers.md'],
    ['uninstall', 'how-to/run/uninstall.md'],
    ['Metabase', 'how-to/query/bi-tools.md'],
    ['GDPR', 'how-to/change/redact.md'],
  ])('finds "%s" on page %s within the first three results', (query, path) => {
    const hits = index.search(query).slice(0, 3);
    expect(hits.map(({ id }) => String(id).replace(/#.*/, ''))).toContain(`/${addressOf(path)}`);
  });

  it('has keywords only for existing pages', () => {
    const paths = pages.map((page) => page.path);
    expect(Object.keys(keywords).filter((path) => !paths.includes(path))).toEqual([]);
  });
});
