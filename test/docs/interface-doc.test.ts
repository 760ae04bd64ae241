/**
 * Compares test/conformance/interface.md with the project: files, tests and calls exist, and no required operation is
 * missing.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { requiredKeys } from '../conformance/required.ts';
import { rows } from '../conformance/table.ts';

const root = join(import.meta.dirname, '../..');
const page = 'test/conformance/interface.md';
const text = readFileSync(join(root, page), 'utf8');
const suite = 'test/conformance/endpoints.slow.test.ts';

/** The cells of all table rows, without the separator lines. */
function tableRows(): readonly (readonly string[])[] {
  const lines = text.split('\n').filter((line) => line.startsWith('|') && !/^[|\s-]+$/u.test(line));
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

interface QuotedTest {
  readonly file: string;
  readonly name: string;
}

/** The test names that a cell quotes, as `file`: "name", "name" */
function parseQuotedTests(cell: string): readonly QuotedTest[] {
  return [...cell.matchAll(/`((?:packages\/[\w-]+\/)?test\/[^`]+)`: ("[^"]+"(?:, "[^"]+")*)/gu)].flatMap(
    ([, file = '', names = '']) => [...names.matchAll(/"([^"]+)"/gu)].map(([, name = '']) => ({ file, name })),
  );
}

/** The test names of the rows of the conformance table. */
const rowNames = rows.map(({ operation, outcome, how: variant, as: userName }) => {
  const user = outcome === '403' ? ` as ${userName}` : '';
  return `${operation}: ${outcome}${variant === '' ? '' : ` (${variant})`}${user}`;
});

/** The texts of a test file and of the other files in its folder, which may contain its test names. */
function sourcesOf(file: string): string {
  const folder = join(root, file, '..');
  const tables = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return [join(root, file), ...tables.map((name) => join(folder, name))]
    .map((name) => readFileSync(name, 'utf8'))
    .join('\n');
}

function testExists({ file, name }: QuotedTest): boolean {
  if (file === suite) return rowNames.some((row) => row.startsWith(name));
  return existsSync(join(root, file)) && sourcesOf(file).includes(name);
}

describe('test/conformance/interface.md', () => {
  const cells = tableRows();

  it('has no empty cell, and at least one test in every row', () => {
    expect(cells.length).toBeGreaterThan(80);
    expect(cells.filter((row) => row.length !== 4 || row.includes(''))).toEqual([]);
    const headings = cells.filter((row) => row[3] === 'Test');
    expect(headings.length).toBeGreaterThan(8);
    const untestedRows = cells.filter((row) => !headings.includes(row) && parseQuotedTests(row[3] ?? '').length === 0);
    expect(untestedRows).toEqual([]);
  });

  it('names only existing files', () => {
    const files = [...text.matchAll(/`((?:src|test|docs|packages)\/[^`]*)`/gu)].map(([, file = '']) => file);
    const links = [...text.matchAll(/\]\(([\w./-]+\.md)/gu)].map(([, file = '']) => join(dirname(page), file));
    expect(files.length).toBeGreaterThan(150);
    expect([...files, ...links].filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('quotes only tests that exist', () => {
    const quotedTests = cells.flatMap((row) => parseQuotedTests(row[3] ?? ''));
    expect(quotedTests.length).toBeGreaterThan(100);
    expect(quotedTests.filter((quotedTest) => !testExists(quotedTest))).toEqual([]);
    // The parser must have found every text in quotation marks.
    expect(quotedTests.length).toBe(cells.flatMap((row) => [...(row[3] ?? '').matchAll(/"[^"]+"/gu)]).length);
  });

  it('names existing methods of the client', () => {
    const calls = cells.flatMap((row) => [
      ...(row[1] ?? '').matchAll(
        /`(?:node|packages|commands|completions|state|updates|events|parties|users|interactive)\.(\w+)`(?=[^|]*?in `(src\/ledger\/api\/[\w-]+\.ts)`)/gu,
      ),
    ]);
    expect(calls.length).toBeGreaterThan(50);
    const missingCalls = calls.filter(([, name = '', file = '']) => {
      const declaration = new RegExp(`^ {2}${name}\\(`, 'mu');
      return !declaration.test(readFileSync(join(root, file), 'utf8'));
    });
    expect(missingCalls.map(([call]) => call)).toEqual([]);
  });

  it('has every operation that the conformance suite requires', () => {
    const quotedTests = new Set(cells.flatMap((row) => parseQuotedTests(row[3] ?? '')).map(({ name }) => name));
    expect(requiredKeys.filter((operation) => !quotedTests.has(`${operation}: success`))).toEqual([]);
  });
});
