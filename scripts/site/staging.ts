/**
 * Copies the pages of the project for the site. Only addresses change: links to pages become links within the site, and
 * links to other files become links to the repository.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path/posix';

export interface StagedPage {
  /** Path relative to the project; the next field is relative to the site. */
  readonly source: string;
  readonly path: string;
  readonly text: string;
}

/** Pages whose path on the site is not the one below `docs`. The README.md of a folder is its index. */
const renamedPages: ReadonlyMap<string, string> = new Map([
  ['README.md', 'index.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
  ['CHANGELOG.md', 'changelog.md'],
  ['SECURITY.md', 'reporting.md'],
  ['docs/README.md', 'pages.md'],
  ['docs/deploy/helm/ledger-indexer/README.md', 'deploy/chart.md'],
]);

/** Path of a page on the site. */
export function sitePath(source: string): string {
  return renamedPages.get(source) ?? source.replace(/^docs\//, '').replace(/\/README\.md$/, '/index.md');
}

/** All pages, sorted by name. @param root the project's folder */
export function stagedPages(root: string, repository: string): readonly StagedPage[] {
  const docPages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  const rootFiles = readdirSync(root);
  const sources = [...rootFiles, ...docPages.map((name) => `docs/${name.replaceAll('\\', '/')}`)].filter((name) =>
    name.endsWith('.md'),
  );
  const knownPages = new Set(sources);
  return sources.toSorted().map((source) => {
    const text = readFileSync(join(root, source), 'utf8');
    const resolveLink = (target: string): string =>
      resolveLinkTarget(target, { root, source, known: knownPages, repository });
    return {
      source,
      path: sitePath(source),
      text: replaceInProse(text, (proseText) => withLinks(withPictures(proseText), resolveLink)),
    };
  });
}

/**
 * Changes the text outside of fenced blocks and code spans. The text of a link may be code, so code is replaced by
 * placeholders meanwhile.
 */
export function replaceInProse(text: string, change: (proseText: string) => string): string {
  const spans: string[] = [];
  const proseText = text.replaceAll(
    /^( *)(`{3,}).*?^\1\2$|`[^`\n]*`/gms,
    (span) => `\0${String(spans.push(span) - 1)}\0`,
  );
  return change(proseText).replaceAll(/\0(\d+)\0/g, (_, spanIndex: string) => spans[Number(spanIndex)] ?? '');
}

function withLinks(proseText: string, resolveLink: (target: string) => string): string {
  return proseText
    .replaceAll(/\]\(([^)\s]+)\)/g, (_, target: string) => `](${resolveLink(target)})`)
    .replaceAll(
      /\b(src|srcset|href)="([^"]+)"/g,
      (_, name: string, target: string) => `${name}="${resolveLink(target)}"`,
    );
}

/**
 * One picture for the dark scheme and one for the light one, because the site has a switch that is independent of the
 * browser's preference.
 */
function withPictures(proseText: string): string {
  const picture = /<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img alt="([^"]*)" src="([^"]+)">\s*<\/picture>/g;
  return proseText.replaceAll(picture, (_, darkPicture: string, alt: string, lightPicture: string) =>
    [
      `<img class="on-light" alt="${alt}" src="${lightPicture}">`,
      `<img class="on-dark" alt="${alt}" src="${darkPicture}">`,
    ].join('\n'),
  );
}

interface PagePath {
  readonly root: string;
  readonly source: string;
  readonly known: ReadonlySet<string>;
  readonly repository: string;
}

/** The address on the site of a link target. @throws Error if the target does not exist */
function resolveLinkTarget(target: string, { root, source, known: knownPages, repository }: PagePath): string {
  if (/^[a-z]+:/.test(target) || target.startsWith('#')) return target;
  const [path = '', anchor] = target.split('#');
  const file = join(dirname(source), path).replace(/\/$/, '');
  const page = [file, `${file}/README.md`].find((name) => knownPages.has(name));
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (page !== undefined) return `${relativeTo(sitePath(source), sitePath(page))}${suffix}`;
  if (!existsSync(join(root, file))) throw new Error(`${source}: there is no ${file}`);
  if (file.startsWith('docs/images/')) return `/${file.slice('docs/'.length)}`;
  return `${repository}/${statSync(join(root, file)).isDirectory() ? 'tree' : 'blob'}/main/${file}${suffix}`;
}

function relativeTo(from: string, to: string): string {
  const path = relative(dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
}
