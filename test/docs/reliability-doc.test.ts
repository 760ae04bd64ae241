/**
 * Checks the fault matrix and the promises of docs/explanation/reliability.md. Their tests exist, and each fault has a
 * test or a reason why it has none.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { authorizationFaults } from '../faults/matrix/authorization.ts';
import { connectionFaults } from '../faults/matrix/connection.ts';
import { contentFaults } from '../faults/matrix/content.ts';
import { historyFaults } from '../faults/matrix/history.ts';
import { postgresFaults } from '../faults/matrix/postgres.ts';
import { processFaults } from '../faults/matrix/process.ts';
import { promises } from '../faults/matrix/promises.ts';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/explanation/reliability.md'), 'utf8');

const faults = [
  ...connectionFaults,
  ...authorizationFaults,
  ...historyFaults,
  ...contentFaults,
  ...postgresFaults,
  ...processFaults,
];

interface QuotedTest {
  readonly file: string;
  readonly name: string;
}

const quotedTests: readonly QuotedTest[] = faults.flatMap(({ tests = {} }) =>
  Object.entries(tests).flatMap(([file, names]) => names.map((name) => ({ file, name }))),
);

/** Whether a test in the file has this name, or a name that contains it. */
function testExists({ file, name }: QuotedTest): boolean {
  if (!existsSync(join(root, file))) return false;
  const source = readFileSync(join(root, file), 'utf8');
  // Names are strings at the beginning of the arguments of `it(…)`, or at the beginning of a line in `it.each([…])(…)`.
  const names = [...source.matchAll(/(?:^\s*|\()(['`])((?:(?!\1).)*)\1,/gmu)].map(
    ([, , onlyPattern = '']) => onlyPattern,
  );
  return names.some((testName) => testName.includes(name));
}

describe('the fault matrix', () => {
  it('has a unique id for each fault', () => {
    const ids = faults.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(90);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[A-Z]\d\d$/u.test(id))).toEqual([]);
  });

  it('has either a test or a reason without a test for each fault', () => {
    const openFaults = faults.filter(
      ({ tests = {}, untested: untestedRows }) => (Object.keys(tests).length === 0) === (untestedRows === undefined),
    );
    expect(openFaults).toEqual([]);
  });

  it('quotes only tests that exist', () => {
    expect(quotedTests.length).toBeGreaterThan(110);
    expect(quotedTests.filter((quotedTest) => !testExists(quotedTest))).toEqual([]);
  });
});

describe('docs/explanation/reliability.md', () => {
  it('has exactly the promises of promises.ts, whose test files exist', () => {
    const ids = [...text.matchAll(/^\| (P\d+) +\|/gmu)].map(([, id]) => id);
    expect(ids).toEqual(Object.keys(promises));
    const files = Object.values(promises).flat();
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('names only existing files', () => {
    const files = [...text.matchAll(/`((?:src|test|docs)\/[^`]*)`/gu)].map(([, file = '']) => file);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('has the results of the last run of the chaos suite', () => {
    expect(text).toMatch(/<!-- campaign -->[\s\S]*\| Result[\s\S]*<!-- \/campaign -->/u);
  });
});
