/** Copies of the complete project in which a bug is injected and one test file is run, as a developer would see it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PlantedDefect, TestSelection } from '../../planted/planted.ts';
import { replaceOnce } from './replace-once.ts';

/** Of the project; this file is compiled before it runs. */
const root = fileURLToPath(new URL('../../../../..', import.meta.url));
/** Generated, installed, or local data. */
const left = new Set(['.git', '.bench', '.ledger-indexer', 'coverage', 'dist', 'node_modules']);
/** A bug that makes tests hang is detected by their own limits, which are shorter. */
const limitMs = 900_000;

export interface TestRun {
  /** Whether some test ran and none failed. */
  readonly ok: boolean;
  /** The failed test, with the first line of its error; later tests are not run. */
  readonly failed: readonly string[];
  /** The last output, for a run that neither passed nor failed a test. */
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

  /** Copies the project and builds it. @throws Error when it does not compile */
  static async make(): Promise<ProjectCopy> {
    const copy = new ProjectCopy(await mkdtemp(join(tmpdir(), 'ledger-indexer-planted-')));
    const built = await copy.#copyOf(root);
    await copy.#compile(built);
    const { code, output } = await copy.#node(built, [join(built, 'scripts/mark-executable.mjs')]);
    if (code !== 0) throw new Error(output);
    return copy;
  }

  /** Runs the tests as they are. */
  async run(tests: TestSelection): Promise<TestRun> {
    return this.#within((folder) => this.#test(folder, tests));
  }

  /** Runs the tests that have to detect the bug. @throws Error when it cannot be injected or does not compile */
  async runWith({ file, line, instead }: PlantedDefect, tests: TestSelection): Promise<TestRun> {
    return this.#within(async (folder) => {
      await replaceOnce(join(folder, file), line, instead);
      if (file.endsWith('.ts')) await this.#compile(folder);
      return this.#test(folder, tests);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.removeListener('exit', this.#abandon);
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** In a copy of its own. */
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
      // The program in `dist` is that of the copy, never an earlier build.
      if (left.has(name) && (source === root || name !== 'dist')) continue;
      await cp(join(source, name), join(folder, name), { recursive: true });
    }
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    return folder;
  }

  /** A program with the bug has to compile; only unused names are ignored. */
  async #compile(folder: string): Promise<void> {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const overlooked = ['--noUnusedLocals', 'false', '--noUnusedParameters', 'false'];
    const { code, output } = await this.#node(folder, [compiler, '-p', 'tsconfig.build.json', ...overlooked]);
    if (code !== 0) throw new Error(`it does not compile: ${output.slice(0, 600)}`);
  }

  async #test(folder: string, { test, only }: TestSelection): Promise<TestRun> {
    const report = join(folder, 'report.json');
    const named = only === undefined ? [] : ['--testNamePattern', escaped(only)];
    const { code, output } = await this.#node(folder, [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      `test/${test}`,
      // One failure is enough, and a bug may make each of many tests wait for its full limit.
      '--bail=1',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...named,
    ]);
    const reportJson = await readFile(report, 'utf8').catch(() => '{"testResults":[]}');
    const results = (JSON.parse(reportJson) as Report).testResults.flatMap(({ assertionResults }) => assertionResults);
    const failed = results.filter(({ status }) => status === 'failed').map(lineOf);
    const ok = code === 0 && results.some(({ status }) => status === 'passed');
    return { ok, failed, output: output.trim().slice(-1_500) };
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

/** From the report that vitest writes. */
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

/** As a pattern that only this text matches. */
function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}
