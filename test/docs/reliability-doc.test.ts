/** docs/reliability.md against the project: the tests it relies on are there, and each fault has one or says why not. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/reliability.md'), 'utf8');
const matrix = text.slice(text.indexOf('## The fault matrix'));

/** The cells of every row of the matrix, without headings and the rules below them. */
const rows = matrix
  .split('\n')
  .filter((line) => /^\| [A-Z]\d\d /u.test(line))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

interface Quoted {
  readonly file: string;
  readonly name: string;
}

/** What a cell says of tests: `file`: "name", "name" */
function quotedIn(cell: string): readonly Quoted[] {
  return [...cell.matchAll(/`(test\/[^`]+)`: ("[^"]+"(?:, "[^"]+")*)/gu)].flatMap(([, file = '', names = '']) =>
    [...names.matchAll(/"([^"]+)"/gu)].map(([, name = '']) => ({ file, name })),
  );
}

/** Whether a test of the file has the name, or the part of it that is quoted. */
function exists({ file, name }: Quoted): boolean {
  if (!existsSync(join(root, file))) return false;
  const source = readFileSync(join(root, file), 'utf8');
  // Of `it(…)` itself or of an `it.each([…])(…)`: the name is a text that begins a call or a line.
  const names = [...source.matchAll(/(?:^\s*|\()(['`])((?:(?!\1).)*)\1,/gmu)].map(([, , found = '']) => found);
  return names.some((found) => found.includes(name));
}

describe('docs/reliability.md', () => {
  it('has a row for each fault, with an id of its own and no empty cell', () => {
    const ids = rows.map(([id]) => id);
    expect(rows.length).toBeGreaterThan(90);
    expect(new Set(ids).size).toBe(ids.length);
    expect(rows.filter((row) => row.length !== 4 || row.includes(''))).toEqual([]);
  });

  it('gives a test for each fault, or the reason why there is none', () => {
    const reason = /^(?:Not here: |Only in the campaign |As [A-Z]\d\d)/u;
    const open = rows.filter(([, , , test = '']) => quotedIn(test).length === 0 && !reason.test(test));
    expect(open).toEqual([]);
  });

  it('quotes only tests that exist', () => {
    const quoted = rows.flatMap(([, , , test = '']) => quotedIn(test));
    expect(quoted.length).toBeGreaterThan(110);
    expect(quoted.filter((one) => !exists(one))).toEqual([]);
    // Nothing in quotation marks escapes the reader above.
    expect(quoted.length).toBe(rows.flatMap((row) => [...(row[3] ?? '').matchAll(/"[^"]+"/gu)]).length);
  });

  it('names only files that are there', () => {
    const files = [...text.matchAll(/`((?:src|test|docs)\/[^`]*)`/gu)].map(([, file = '']) => file);
    const links = [...text.matchAll(/\]\(([\w-]+\.md)/gu)].map(([, file = '']) => `docs/${file}`);
    expect([...files, ...links].filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('keeps the place for the figures of the campaign', () => {
    expect(text).toMatch(/<!-- campaign -->[\s\S]*\| Figure[\s\S]*<!-- \/campaign -->/u);
  });

  it('has a paragraph for each promise', () => {
    const promises = [...text.matchAll(/^\*\*(P\d), /gmu)].map(([, id]) => id);
    expect(promises).toEqual(['P1', 'P2', 'P3', 'P4', 'P5', 'P6', 'P7', 'P8', 'P9']);
  });
});
