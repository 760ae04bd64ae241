/**
 * The list of the pages for language models, in the form of https://llmstxt.org. It has the groups and the order of the
 * sidebar, and links to the Markdown of the pages, which the site serves next to its HTML.
 */
import type { Group } from './sidebar.ts';
import { replaceInProse, type StagedPage } from './staging.ts';

export interface LlmsList {
  readonly title: string;
  readonly summary: string;
  /** Path under which the site is served. */
  readonly base: string;
  readonly groups: readonly Group[];
  readonly pages: readonly StagedPage[];
}

/** @throws Error if the sidebar has a page that is missing or has no sentence to describe it */
export function llmsText({ title, summary, base, groups, pages }: LlmsList): string {
  const texts = new Map(pages.map(({ path, text }) => [path, text]));
  const sections = groups.map(({ text, pages: listed }) => {
    const lines = listed.map(([name, path]) => `- [${name}](${base}${path}): ${descriptionOf(path, texts.get(path))}`);
    return `## ${text}\n\n${lines.join('\n')}\n`;
  });
  return [`# ${title}\n`, `> ${summary}\n`, ...sections].join('\n');
}

/** The first sentence below the heading of a page, without links. */
function descriptionOf(path: string, text = ''): string {
  const paragraph = text.split(/\n\s*\n/).find((block) => /^[\p{L}\d`*"(/[]/u.test(block));
  const plain = replaceInProse(paragraph ?? '', (prose) => prose.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
  const [sentence] = /^.*?\.(?=\s|$)|^.*:$/s.exec(plain) ?? [];
  if (sentence === undefined) throw new Error(`${path}: the page does not begin with a sentence`);
  return sentence.replaceAll(/\s+/g, ' ').replace(/:$/, '.');
}
