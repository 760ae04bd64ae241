/** The documentation pages, and the parts of them that tests check. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const root = join(import.meta.dirname, '../..');

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
  const own = readdirSync(root).filter((name) => name.endsWith('.md'));
  const below = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  return [...own.map((name) => join(root, name)), ...below.map((name) => join(root, 'docs', name))]
    .map((path) => ({ path: relative(root, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The fenced blocks of a page, in order. */
export function blocksOf({ path, text }: Page): readonly Block[] {
  const blocks: Block[] = [];
  let open: { indent: string; fence: string; language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const [, indent = '', fence = '', info = ''] = /^( *)(`{3,})(.*)$/.exec(line) ?? [];
    if (open === undefined) {
      if (fence !== '') open = { indent, fence, language: info.trim().split(' ')[0] ?? '', line: index + 1, lines: [] };
    } else if (fence === open.fence && info === '') {
      blocks.push({ path, line: open.line, language: open.language, text: open.lines.join('\n') });
      open = undefined;
    } else open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
  }
  return blocks;
}

/** The page without fenced blocks and inline code: the text in which a renderer recognizes links and headings. */
export function proseOf({ text }: Page): string {
  return text.replaceAll(/^( *)(`{3,}).*?^\1\2$/gms, '').replaceAll(/`[^`\n]*`/g, '');
}

/** The anchors of the headings, as GitHub generates them. */
export function anchorsOf({ text }: Page): ReadonlySet<string> {
  const headings = text.replaceAll(/^( *)(`{3,}).*?^\1\2$/gms, '').matchAll(/^#{1,6} +(.+?) *$/gm);
  const seen = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ''] of headings) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = words.replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    anchors.add(before === 0 ? anchor : `${anchor}-${String(before)}`);
  }
  for (const [, id = ''] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

/** Whether a file or folder exists. */
export function isThere(path: string): boolean {
  return existsSync(join(root, path));
}
