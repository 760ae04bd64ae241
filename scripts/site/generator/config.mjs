// Settings of VitePress. What depends on the project stands in settings.json beside this file, which main.ts writes.
import { readFileSync } from 'node:fs';
import { renderMermaidSVG } from 'beautiful-mermaid';

const settings = JSON.parse(readFileSync(new URL('settings.json', import.meta.url), 'utf8'));
const { version, homepage, description, base, out, versions, groups } = settings;
const style = readFileSync(new URL('style.css', import.meta.url), 'utf8');
const link = (path) => `/${path.replace(/(?:index)?\.md$/, '')}`;

export default {
  lang: 'en',
  title: 'ledger-indexer',
  description,
  base,
  outDir: out,
  cacheDir: new URL('cache', import.meta.url).pathname,
  head: [['style', {}, style]],
  cleanUrls: false,
  lastUpdated: false,
  ignoreDeadLinks: false,
  markdown: {
    theme: { light: 'github-light', dark: 'github-dark' },
    anchor: { slugify },
    config: (markdown) => withDiagrams(markdown),
  },
  themeConfig: {
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    nav: [
      { text: 'SQL', link: link('sql.md') },
      { text: 'Operating', link: link('operations.md') },
      { text: 'Answers', link: link('answers.md') },
      { text: version, items: [{ text: 'Changes', link: link('changelog.md') }, ...versions] },
    ],
    sidebar: groups.map(({ text, pages }) => ({
      text,
      collapsed: false,
      items: pages.map(([title, path]) => ({ text: title, link: link(path) })),
    })),
    socialLinks: [{ icon: 'github', link: homepage }],
    editLink: { pattern: ({ frontmatter }) => frontmatter.edit, text: 'Correct this page' },
  },
};

/** Anchors as GitHub makes them, where the same pages are read. */
function slugify(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** Languages of blocks that the generator does not colour under these names. */
const colouredAs = { promql: 'txt', csv: 'txt', caddyfile: 'txt', postgresql: 'sql', duckdb: 'sql' };

/** Diagrams are drawn when the site is built, in colours that change with the page. */
function withDiagrams(markdown) {
  const fence = markdown.renderer.rules.fence;
  markdown.renderer.rules.fence = (tokens, at, ...others) => {
    const { info, content } = tokens[at];
    tokens[at].info = colouredAs[info.trim()] ?? info;
    if (info.trim() !== 'mermaid') return fence(tokens, at, ...others);
    const svg = renderMermaidSVG(content, {
      bg: 'var(--vp-c-bg)',
      fg: 'var(--vp-c-text-1)',
      line: 'var(--vp-c-text-2)',
      accent: 'var(--vp-c-brand-1)',
      muted: 'var(--vp-c-text-2)',
      surface: 'var(--vp-c-bg-soft)',
      border: 'var(--vp-c-divider)',
      transparent: true,
    });
    return `<div class="diagram" v-pre>${svg}</div>\n`;
  };
}
