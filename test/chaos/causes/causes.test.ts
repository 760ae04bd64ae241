/** Checks the table of causes. The documentation contains it, and it covers every code of a running indexer. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ledgerCodes } from '../../../src/errors/ledger-codes.ts';
import { storeCodes } from '../../../src/errors/store-codes.ts';
import { streamCodes } from '../../../src/errors/stream-codes.ts';
import { root } from '../../docs/pages.ts';
import { allCauses } from './causes.ts';
import { otherAlertTests } from './elsewhere.ts';
import { causesMarkdown, tableIn } from './table.ts';

it('docs/runbook/causes.md contains the current table of causes (update: npm run chaos -- --tier causes)', () => {
  const runbook = join(root, 'docs/runbook');
  expect(tableIn(readFileSync(join(runbook, 'causes.md'), 'utf8'))).toBe(causesMarkdown(allCauses, runbook));
});

it('the table of causes links to the runbook section of each alert', () => {
  expect(causesMarkdown(allCauses, join(root, 'docs/runbook'))).not.toMatch(/[ ,|]Indexer/);
});

it('the table of causes or the list of other tests contains each code of a running indexer', () => {
  const provokedCodes = new Set(
    allCauses.flatMap(({ soon: earlyCodes, later: laterCodes }) => [earlyCodes.code, laterCodes?.code]),
  );
  const codes = Object.keys({ ...ledgerCodes, ...storeCodes, ...streamCodes });
  const expected = codes.filter((code) => !provokedCodes.has(code as never));
  expect(Object.keys(otherAlertTests).sort()).toEqual(expected.sort());
});

/** Path of the test, or of the folder of tests, at the beginning of the text. */
const pathIn = (text: string): string | undefined => /^test\/[\w./-]*\w/.exec(text)?.[0];

it('the list of other tests names only existing files', () => {
  const testPaths = Object.values(otherAlertTests).flatMap((text) => pathIn(text) ?? []);
  expect(testPaths.length).toBeGreaterThan(30);
  expect(testPaths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it('the list of other tests names only tests that contain the error code', () => {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' }).map((name) => `test/${name}`);
  const containsPath = (code: string, path: string): boolean =>
    files
      .filter((file) => file.endsWith('.ts') && (file === path || file.startsWith(`${path}/`)))
      .some((file) => readFileSync(join(root, file), 'utf8').includes(code));
  const missingTests = Object.entries(otherAlertTests).filter(([code, text]) => {
    const path = pathIn(text);
    return path !== undefined && !containsPath(code, path);
  });
  expect(missingTests).toEqual([]);
});
