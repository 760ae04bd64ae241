/** README.md against the program: its table of options is the one the program prints. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configMarkdown } from '../../src/config/config.ts';

describe('README.md', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');

  it('documents exactly the options the program has', () => {
    const table = /<!-- configuration -->\n(.*)\n<!-- \/configuration -->/s.exec(readme)?.[1] ?? '';
    expect(table.trim()).toBe(configMarkdown());
  });
});
