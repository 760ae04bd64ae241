/** Copies of the project in which a bug is injected and one test file is run, as a developer would run it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PlantedDefect, TestSelection } from '../../planted/planted.ts';
import { replaceOnce } from './replace-once.ts';

/** The project root. This file is compiled before it runs. */
const root = fileURLToPath(new URL('../../../../..', import.meta.url));
/** Generated, installed and local data is not copied. */
const ignoredEntries = new Set(['.git', '.bench', '.ledger-indexer', 'coverage', 'dist', 'node_modules']);
/** This is longer than the time limits of the tests, which therefore detect a bug that makes them hang. */
const limitMs = 900_000;

export interface TestRun {
  /** Whether at least one test ran and none failed. */
  readonly ok: boolean;
  /** The failed test, with the first line of its error. The run stops at the first failure. */
  readonly failed: readonly string[];
  /** The end of the output, for a run in which no test passed or failed. */
  readonly output: string;
}

export class ProjectCopy implements AsyncDisposable {
  readonly #folder: string;
  readonly #children = new Set<ChildProcess>();
  readonly #abandon = (): void => {
    for (const child of this.#children) child.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  };
  #copies = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    process.once('exit', this.#abandon);
  }

  /** Copies the project and builds it. @throws Error if it does not compile */
  static async make(): Promise<ProjectCopy> {
    const copy = new ProjectCopy(await mkdtemp(join(tmpdir(), 'ledger-indexer-planted-')));
    const buildFolder = await copy.#copyOf(root);
    await copy.#compile(buildFolder);
    const { code, output } = await copy.#node(buildFolder, [join(buildFolder, 'scripts/mark-executable.mjs')]);
    if (code !== 0) throw new Error(output);
    return copy;
  }

  /** Runs the tests without a bug. */
  async run(tests: TestSelection): Promise<TestRun> {
    return this.#within((folder) => this.#test(folder, tests));
  }

  /**
   * Injects the bug and runs the tests that must detect it. @throws Error if it cannot be injected or does not compile
   */
  async runWith({ file, line, instead: replacement }: PlantedDefect, tests: TestSelection): Promise<TestRun> {
    return this.#within(async (folder) => {
      await replaceOnce(join(folder, file), line, replacement);
      if (file.endsWith('.ts')) await this.#compile(folder);
      return this.#test(folder, tests);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.removeListener('exit', this.#abandon);
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Calls `work` with the folder of a new copy. */
  async #within(work: (folder: string) => Promise<TestRun>): Promise<TestRun> {
    const folder = await this.#copyOf(join(this.#folder, '1'));
    try {
      return await work(folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #copyOf(source: string): Promise<string> {
    this.#copies += 1;
    const folder = join(this.#folder, String(this.#copies));
    await mkdir(folder);
    for (const name of await readdir(source)) {
      // Copies of the copy include its `dist`; an earlier build of the project is never copied.
      if (ignoredEntries.has(name) && (source === root || name !== 'dist')) continue;
      await cp(join(source, name), join(folder, name), { recursive: true });
    }
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    return folder;
  }

  /** A program with a bug must compile, except that unused names are allowed. */
  async #compile(folder: string): Promise<void> {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const compilerFlags = ['--noUnusedLocals', 'false', '--noUnusedParameters', 'false'];
    const { code, output } = await this.#node(folder, [compiler, '-p', 'tsconfig.build.json', ...compilerFlags]);
    if (code !== 0) throw new Error(`it does not compile: ${output.slice(0, 600)}`);
  }

  async #test(folder: string, { test, only: testName }: TestSelection): Promise<TestRun> {
    const report = join(folder, 'report.json');
    const patternArgs = testName === undefined ? [] : ['--testNamePattern', escapeRegExp(testName)];
    const { code, output } = await this.#node(folder, [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      `test/${test}`,
      // One failure is sufficient. Otherwise a bug could make each of many tests wait for its time limit.
      '--bail=1',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...patternArgs,
    ]);
    const reportJson = await readFile(report, 'utf8').catch(() => '{"testResults":[]}');
    const results = (JSON.parse(reportJson) as Report).testResults.flatMap(({ assertionResults }) => assertionResults);
    const failedResults = results.filter(({ status }) => status === 'failed').map(lineOf);
    const ok = code === 0 && results.some(({ status }) => status === 'passed');
    return { ok, failed: failedResults, output: output.trim().slice(-1_500) };
  }

  async #node(folder: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
    const env = { ...process.env, NO_COLOR: '1' };
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#children.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const limit = setTimeout(() => child.kill(), limitMs);
    const [code] = (await once(child, 'close')) as [number | null];
    clearTimeout(limit);
    this.#children.delete(child);
    return { code, output };
  }
}

/** The part of the report of Vitest that is read. */
interface Report {
  readonly testResults: readonly { readonly assertionResults: readonly Assertion[] }[];
}

interface Assertion {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

function lineOf({ fullName, failureMessages }: Assertion): string {
  return `"${fullName}": ${failureMessages[0]?.split('\n')[0]?.slice(0, 200) ?? 'no reason given'}`;
}

/** A regular expression that matches only this text. */
function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}
