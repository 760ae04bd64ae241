/** The injected bugs of the suite match the program. The line of each bug occurs exactly once. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { mutants } from './mutants.ts';

it.each(mutants)('the line to mutate occurs exactly once in dist: $name', ({ file, line }) => {
  const text = readFileSync(new URL(`../../../dist/${file}`, import.meta.url), 'utf8');
  expect(text.split(line)).toHaveLength(2);
});
