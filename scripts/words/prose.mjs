/** Extracts the prose of a file: lines of Markdown, comments, and strings that contain a sentence. */

import { parseSync } from 'oxc-parser';

/** @typedef {{ line: number, text: string }} Prose One piece of prose; `line` counts from 1. */

/** Files whose prose is checked. @param {string} path */
export const hasProse = (path) => extractorOf(path) !== undefined;

/** @param {string} path @param {string} text @returns {Prose[]} */
export function proseOf(path, text) {
  return extractorOf(path)?.(text) ?? [];
}

/** @param {string} path @returns {((text: string) => Prose[]) | undefined} */
function extractorOf(path) {
  if (path.endsWith('.md')) return markdown;
  if (/\.(ts|mts|mjs|cjs)$/.test(path)) return script;
  if (path.endsWith('.sql')) return sql;
  if (/\.ya?ml$/.test(path)) return hashComments;
  return undefined;
}

/** Lines outside of code blocks, without inline code, URLs and HTML comments. @param {string} text */
function markdown(text) {
  const pieces = [];
  let fence = '';
  for (const [index, line] of text.split('\n').entries()) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1] ?? '';
    if (mark !== '' && (fence === '' || mark.startsWith(fence))) fence = fence === '' ? mark : '';
    else if (fence === '' && !/^ {4,}\S/.test(line)) pieces.push({ line: index + 1, text: plain(line) });
  }
  return pieces;
}

/** @param {string} line */
const plain = (line) =>
  line
    .replace(/<!--.*?-->/g, '')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/https?:\S+/g, '')
    .replace(/`[^`]*`/g, '`code`');

/** Comments, and strings with at least three words. @param {string} text */
function script(text) {
  const { program, comments } = parseSync('a.ts', text);
  const lineAt = lineFinder(text);
  /** @type {Prose[]} */
  const pieces = comments.flatMap(({ start, end }) => linesOf(text.slice(start, end), lineAt(start)));
  for (const { start, value } of stringsOf(program)) {
    if (isSentence(value)) pieces.push({ line: lineAt(start), text: plain(value) });
  }
  return pieces.sort((a, b) => a.line - b.line);
}

/** String literals and parts of templates below a node. @param {unknown} node @returns {Generator<{ start: number, value: string }>} */
function* stringsOf(node) {
  if (typeof node !== 'object' || node === null) return;
  if ('type' in node && 'start' in node && typeof node.start === 'number') {
    if (node.type === 'Literal' && 'value' in node && typeof node.value === 'string')
      yield { start: node.start, value: node.value };
    if (node.type === 'TemplateElement' && 'value' in node)
      yield { start: node.start, value: /** @type {{ cooked?: string }} */ (node.value).cooked ?? '' };
  }
  for (const child of Object.values(node)) yield* stringsOf(child);
}

/** @param {string} text @returns {(offset: number) => number} */
function lineFinder(text) {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return high;
  };
}

/** Whether a string is prose: false for a path, and for a statement in SQL or a program. @param {string} text */
const isSentence = (text) =>
  !/^\.{1,2}\//.test(text) &&
  (text.match(/[A-Za-z]{2,}/g) ?? []).length >= 3 &&
  !/\b(select|insert|update|delete|create|alter|grant|with|from|where|begin|set)\b[\s\S]*\b(from|into|set|table|on|as|to|where|view|function|local|values)\b[\s\S]*[;(=*$]/i.test(
    text,
  );

/** @param {string} comment @param {number} first */
const linesOf = (comment, first) =>
  comment.split('\n').map((line, at) => ({
    line: first + at,
    text: plain(
      line
        .replace(/^\s*(\/\*\*?|\*\/?|\/\/)/, '')
        .replace(/\*\/\s*$/, '')
        .trim(),
    ),
  }));

/** Comments in the code, and the texts of `comment on`. @param {string} text */
function sql(text) {
  const pieces = [];
  for (const [index, line] of text.split('\n').entries()) {
    const comment = /^\s*--\s?(.*)$/.exec(line) ?? /\s--\s(.*)$/.exec(line);
    if (comment) pieces.push({ line: index + 1, text: plain(comment[1] ?? '') });
  }
  for (const found of text.matchAll(/comment on [^;']*?\bis\s+((?:'(?:[^']|'')*'\s*(?:\|\|\s*)?)+)/gi)) {
    const line = text.slice(0, found.index).split('\n').length;
    pieces.push({ line, text: plain((found[1] ?? '').replaceAll("''", '’')) });
  }
  return pieces;
}

/** @param {string} text */
function hashComments(text) {
  const pieces = [];
  for (const [index, line] of text.split('\n').entries()) {
    const found = /(?:^|\s)#\s(.*)$/.exec(line) ?? /^\s*(?:summary|description):\s*(.*)$/.exec(line);
    if (found) pieces.push({ line: index + 1, text: plain(found[1] ?? '') });
  }
  return pieces;
}
