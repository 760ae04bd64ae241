/** The summary of skipped tests of a run, and a check that each skip of the suite has a reason. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const suite = `
import { describe, expect, it } from 'vitest';
import { needs } from '${root}test/support/skips/needs.ts';
describe('a suite', needs('needs a tool'), () => {
  it('one', () => expect(1).toBe(2));
  it.each([2, 3])('%i', () => expect(1).toBe(2));
});
describe('another', needs(undefined), () => {
  it('passes', () => expect(1).toBe(1));
  it('is skipped while it runs', ({ skip }) => skip('needs a ledger'));
  it('fails', () => expect(1).toBe(2));
});
it.skip('is skipped', () => undefined);
`;

const config = `
import { ClosingLineReporter } from '${root}test/support/run/closing-line-reporter.ts';
export default { test: { include: ['*.test.ts'], reporters: [new ClosingLineReporter()] } };
`;

/** Runs the suite above. @returns the printed lines */
function linesOf(...args: readonly string[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-indexer-skipped-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'some.test.ts'), suite);
    writeFileSync(join(folder, 'vitest.config.ts'), config);
    const command = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...args];
    const { stdout } = spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8' });
    return stdout.trimEnd().split('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('a test run ends with skip reasons, skipped tests without a reason, failures and counts', () => {
  expect(linesOf().slice(-5)).toEqual([
    'skipped: 3 tests: needs a tool',
    'skipped: 1 test: needs a ledger',
    'skipped: 1 test: some.test.ts > is skipped: no reason given',
    'failed: some.test.ts > another > fails: expected 1 to be 2 // Object.is equality',
    '1 passed, 1 failed, 5 skipped',
  ]);
});

it('a test run prints no skip reasons if tests are selected by name', () => {
  expect(linesOf('-t', 'passes').filter((line) => line.startsWith('skipped: '))).toEqual([]);
});

/** Vitest functions that skip tests without a reason. */
const bareModifier = /\.(?:skipIf|runIf|todo)\(|\b(?:it|test|describe)\.skip\b|\bskip\(\)/;

it('each skip in the test suites has a reason', () => {
  const packageTests = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/test`);
  const folders = ['test', ...packageTests.filter((folder) => existsSync(join(root, folder)))];
  const files = folders
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((path) => join(folder, String(path))))
    .filter((file) => file.endsWith('.ts'))
    .filter((file) => !file.endsWith('skipped-tests.test.ts'));
  expect(files.length).toBeGreaterThan(500);
  const skippedLines = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => (bareModifier.test(line) ? [`${file}:${String(index + 1)} ${line.trim()}`] : [])),
  );
  expect(skippedLines, 'use needs() of test/support/skips/needs.ts').toEqual([]);
});
