/** The staged pages of the site: sidebar, links and code. Only CI builds the site. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deadLinks, foreignResources } from '../../scripts/site/dead-links.ts';
import { llmsText } from '../../scripts/site/llms.ts';
import { groups } from '../../scripts/site/sidebar.ts';
import { replaceInProse, stagedPages } from '../../scripts/site/staging.ts';
import { root } from './pages.ts';

const pages = stagedPages(root, 'https://repository.example');

describe('the site', () => {
  it('lists every page once in its sidebar, except decision records', () => {
    const sidebarPaths = groups.flatMap((group) => group.pages.map(([, path]) => path));
    const listedPages = pages.map(({ path }) => path).filter((path) => !/^decisions\/.+\//.test(path));
    expect(sidebarPaths.toSorted()).toEqual(listedPages.toSorted());
  });

  it('links to pages of the site, and to the repository for other files', () => {
    const [index] = pages.filter(({ path }) => path === 'index.md');
    expect(index?.text).toContain('](./how-to/query/typed-views.md)');
    expect(index?.text).toContain('](https://repository.example/blob/main/LICENSE)');
    const [compose] = pages.filter(({ path }) => path === 'deploy/index.md');
    expect(compose?.text).toContain('](../how-to/run/high-availability.md)');
    expect(compose?.text).toContain('](./chart.md)');
  });

  it('lists the pages of its sidebar for language models, each with a sentence', () => {
    const title = 'ledger-indexer';
    const text = llmsText({ title, summary: 'Indexes.', base: '/base/', groups, pages });
    const [heading, summary, ...sections] = text.split(/\n\n(?=>|## )/);
    expect([heading, summary]).toEqual(['# ledger-indexer', '> Indexes.']);
    expect(sections.map((section) => /^## (.*)/.exec(section)?.[1])).toEqual(groups.map((group) => group.text));
    const links = [...text.matchAll(/^- \[([^\]]+)\]\(\/base\/([^)]+)\): .{12,}\.$/gm)].map(([, name, path]) => [
      name,
      path,
    ]);
    expect(links).toEqual(groups.flatMap((group) => group.pages));
    expect(text.split('\n').filter((line) => line.startsWith('- '))).toHaveLength(links.length);
    expect(text).not.toMatch(/\]\([^)]*\).*\]\(/);
  });

  it('refuses a page without a sentence in the list for language models', () => {
    const empty = { path: 'a.md', source: 'a.md', text: '# A\n\n| table |\n' };
    const list = {
      title: 'x',
      summary: 'x',
      base: '/',
      groups: [{ text: 'g', pages: [['A', 'a.md']] }],
      pages: [empty],
    } as const;
    expect(() => llmsText(list)).toThrow('a.md: the page does not begin with a sentence');
  });

  it('leaves code unchanged', () => {
    const text = 'a [link](x.md) `[code](x.md)`\n\n```sh\n[block](x.md)\n```\n';
    expect(replaceInProse(text, (proseText) => proseText.replaceAll('x.md', 'y.md'))).toBe(
      text.replace('x.md', 'y.md'),
    );
  });

  it('is checked for broken links to pages, headings and pictures', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-site-'));
    try {
      await mkdir(join(folder, 'deploy'));
      const links = [
        'b.html#here',
        'b.html#there',
        '/base/c',
        '/base/deploy/',
        '/elsewhere',
        'https://x.example',
        'no.png',
      ];
      const html = links.map((link) => `<a href="${link}">`).join('');
      await writeFile(join(folder, 'a.html'), html);
      await writeFile(join(folder, 'b.html'), '<h2 id="here"><a href="#here">');
      await writeFile(join(folder, 'deploy/index.html'), '<a href="../a.html">');
      const brokenLinks = ['b.html#there', '/base/c', '/elsewhere', 'no.png'];
      expect(deadLinks(folder, '/base/')).toEqual(brokenLinks.map((link) => `a.html: ${link}`));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('is checked for resources from other hosts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-site-'));
    try {
      const siteHtml = '<a href="https://a.example/"><img src="/b.png"><link rel="icon" href="data:,">';
      const style = "@import url('https://fonts.example/css');";
      await writeFile(
        join(folder, 'a.html'),
        `${siteHtml}<img src="https://c.example/d.png"><link href="https://e.example/f">`,
      );
      await writeFile(join(folder, 'g.css'), style);
      const linkTexts = ['https://c.example/d.png', 'https://e.example/f'].map((address) => `a.html: ${address}`);
      expect(foreignResources(folder).toSorted()).toEqual([...linkTexts, 'g.css: https://fonts.example/css']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
