/** The documentation pages, and the parts of them that tests check. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

/** This folder, or the one in `.bench` if the file is compiled. */
const folder = join(import.meta.dirname, '../..');

export const root = basename(folder) === '.bench' ? dirname(folder) : folder;

export interface Page {
  /** Path relative to the project root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** A fenced code block. */
export interface Block {
  readonly path: string;
  /** Line number of the opening fence, from 1. */
  readonly line: number;
  /** Empty if the block names no language. */
  readonly language: string;
  /** Without the indentation of the opening fence. */
  readonly text: string;
}

/** All Markdown files in the project root and in docs. */
export function pages(): readonly Page[] {
  const rootPages = readdirSync(root).filter((name) => name.endsWith('.md'));
  const docPages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  return [...rootPages.map((name) => join(root, name)), ...docPages.map((name) => join(root, 'docs', name))]
    .map((path) => ({ path: relative(root, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The fenced blocks of a page, in order. */
export function blocksOf({ path, text }: Page): readonly Block[] {
  const blocks: Block[] = [];
  let openBlock: { indent: string; fence: string; language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const [, indent = '', fence = '', info = ''] = /^( *)(`{3,})(.*)$/.exec(line) ?? [];
    if (openBlock === undefined) {
      if (fence !== '')
        openBlock = { indent, fence, language: info.trim().split(' ')[0] ?? '', line: index + 1, lines: [] };
    } else if (fence === openBlock.fence && info === '') {
      blocks.push({ path, line: openBlock.line, language: openBlock.language, text: openBlock.lines.join('\n') });
      openBlock = undefined;
    } else openBlock.lines.push(line.startsWith(openBlock.indent) ? line.slice(openBlock.indent.length) : line);
  }
  return blocks;
}

/** The page without fenced blocks and inline code: the text in which a renderer recognizes links and headings. */
export function proseTextOf({ text }: Page): string {
  return text.replaceAll(/^( *)(`{3,}).*?^\1\2$/gms, '').replaceAll(/`[^`\n]*`/g, '');
}

/** The anchors of the headings, as GitHub generates them. */
export function anchorsOf({ text }: Page): ReadonlySet<string> {
  const headings = text.replaceAll(/^( *)(`{3,}).*?^\1\2$/gms, '').matchAll(/^#{1,6} +(.+?) *$/gm);
  const anchorCounts = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ''] of headings) {
    const headingText = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = headingText.replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    const earlierCount = anchorCounts.get(anchor) ?? 0;
    anchorCounts.set(anchor, earlierCount + 1);
    anchors.add(earlierCount === 0 ? anchor : `${anchor}-${String(earlierCount)}`);
  }
  for (const [, id = ''] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

/** Whether a file or folder exists. */
export function pathExists(path: string): boolean {
  return existsSync(join(root, path));
}
