// Settings of VitePress. main.ts writes those that depend on the project to settings.json, next to this file.
import { readFileSync } from 'node:fs';
import { renderMermaidSVG } from 'beautiful-mermaid';
import { searchSettings } from './search.ts';

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
  head: [
    ['style', {}, style],
    // Without an icon a browser requests /favicon.ico.
    ['link', { rel: 'icon', href: 'data:,' }],
  ],
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
    search: { provider: 'local', options: { miniSearch: searchSettings(base) } },
    nav: [
      { text: 'First queries', link: link('get-started/first-queries.md') },
      { text: 'Index your ledger', link: link('get-started/index-your-ledger.md') },
      { text: 'Runbook', link: link('runbook/index.md') },
      { text: version, items: [{ text: 'Changelog', link: link('changelog.md') }, ...versions] },
    ],
    sidebar: groups.map(({ text, pages }, nth) => ({
      text,
      collapsed: nth > 0,
      items: pages.map(([title, path]) => ({ text: title, link: link(path) })),
    })),
    socialLinks: [{ icon: 'github', link: homepage }],
    editLink: { pattern: ({ frontmatter }) => frontmatter.edit, text: 'Correct this page' },
  },
};

/** Anchors in the form of GitHub, where the same pages are read too. */
function slugify(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** Languages of code blocks that the generator does not color under these names. */
const coloredAs = { promql: 'txt', csv: 'txt', caddyfile: 'txt', postgresql: 'sql', duckdb: 'sql' };

/** Draws diagrams when the site is built, in colors that follow the color scheme of the page. */
function withDiagrams(markdown) {
  const fence = markdown.renderer.rules.fence;
  markdown.renderer.rules.fence = (tokens, at, ...others) => {
    const { info, content } = tokens[at];
    tokens[at].info = coloredAs[info.trim()] ?? info;
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
    // Requests to other hosts are removed, because the theme includes the font. With v-html, Vue inserts the drawing
    // unchanged, on the server and in the browser.
    const own = svg.replaceAll(/@import url\([^)]*\);/g, '');
    return `<div class="diagram" v-html="${escapeAttribute(JSON.stringify(own))}"></div>\n`;
  };
}

function escapeAttribute(text) {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
