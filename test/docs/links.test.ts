/** Every link between pages has a target, every picture exists, and every page can be reached from the README. */
import { dirname, join } from 'node:path/posix';
import { describe, expect, it } from 'vitest';
import { anchorsOf, blocksOf, pathExists, pages, proseTextOf, type Page } from './pages.ts';

const docPages = pages();

interface Link {
  readonly from: string;
  readonly target: string;
}

/** Links and pictures whose targets are inside the project. */
function linksOf(page: Page): readonly Link[] {
  const proseText = proseTextOf(page);
  const markdown = [...proseText.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  const html = [...proseText.matchAll(/(?:src|srcset|href)="([^"]+)"/g)].map(([, target = '']) => target);
  return [...markdown, ...html]
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => ({ from: page.path, target }));
}

function problemOf({ from, target }: Link): string | undefined {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? from : join(dirname(from), path);
  if (!pathExists(file)) return `${from}: there is no ${file}`;
  if (anchor === undefined) return undefined;
  const page = docPages.find((candidate) => candidate.path === file);
  if (page === undefined) return `${from}: ${file} has no anchors`;
  return anchorsOf(page).has(anchor) ? undefined : `${from}: ${file} has no heading for #${anchor}`;
}

describe('the documentation pages', () => {
  it('have no dead links to files or headings', () => {
    const problems = docPages
      .flatMap((page) => linksOf(page).map(problemOf))
      .filter((problem) => problem !== undefined);
    expect(problems).toEqual([]);
  });

  it('are all reachable from the README', () => {
    const reachedPages = new Set(['README.md']);
    for (const path of reachedPages) {
      const page = docPages.find((candidate) => candidate.path === path);
      for (const { target } of page === undefined ? [] : linksOf(page)) {
        const file = join(dirname(path), (target.split('#')[0] ?? '').replace(/\/$/, '/README.md'));
        if (file.endsWith('.md')) reachedPages.add(file);
      }
    }
    const entryPages = new Set(['SECURITY.md']);
    expect(docPages.map(({ path }) => path).filter((path) => !reachedPages.has(path) && !entryPages.has(path))).toEqual(
      [],
    );
  });

  it('name the language of every code block', () => {
    const blocksWithoutLanguage = docPages.flatMap(blocksOf).filter(({ language }) => language === '');
    expect(blocksWithoutLanguage.map(({ path, line }) => `${path}:${String(line)}`)).toEqual([]);
  });

  it('contain no path of a development machine', () => {
    expect(docPages.filter(({ text }) => /\/work\/|\.\.\/shared/.test(text)).map(({ path }) => path)).toEqual([]);
  });
});

describe('README.md', () => {
  it('has fewer than 200 lines', () => {
    const readme = docPages.find(({ path }) => path === 'README.md');
    expect(readme?.text.split('\n').length).toBeLessThan(200);
  });
});
