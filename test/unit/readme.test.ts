/** README.md against the program: its table of options is the one the program prints. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configMarkdown } from '../../src/config.ts';

/** Column padding is the formatter's business, not a difference. */
function cells(table: string): readonly (readonly string[])[] {
  return table
    .trim()
    .split('\n')
    .filter((line) => !/^\|[\s|:-]+\|$/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
}

describe('README.md', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');

  it('documents exactly the options the program has', () => {
    const table = /<!-- configuration -->\n(.*)\n<!-- \/configuration -->/s.exec(readme)?.[1] ?? '';
    expect(cells(table)).toEqual(cells(configMarkdown()));
  });
});
