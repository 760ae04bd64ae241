/** The built program and clients as child processes. All of them end with this process. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../../support/wait-for.ts';

/** The project folder is searched for, because compiled copies of this file are nested deeper than the source. */
export const projectRoot = rootAbove(dirname(fileURLToPath(import.meta.url)));

const program = join(projectRoot, 'dist', 'main.js');

export interface Program {
  readonly pid: number;
  /** Exit code or signal; undefined while the process runs. */
  exit(): number | string | undefined;
  /** All output so far. */
  output(): string;
  /** Waits for the first match in the output. */
  waitForOutput(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Command-line flags of Node. */
  readonly flags?: readonly string[];
}

export interface ProcessResult {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

const runningChildren = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of runningChildren) child.kill('SIGKILL');
});

/** Starts a script with Node, without the environment variables of the caller. */
export function startNode(script: string, argv: readonly string[], options: StartOptions = {}): Program {
  const child = start(script, argv, options);
  const text: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => text.push(chunk));
  }
  let exitCode: number | string | undefined;
  const whenExited = new Promise<void>((resolve) => {
    child.once('close', (code, signal) => {
      exitCode = code ?? signal ?? 'unknown';
      resolve();
    });
  });
  const output = (): string => text.join('');
  return {
    pid: child.pid ?? 0,
    exit: () => exitCode,
    output,
    waitForOutput: (pattern) =>
      waitFor(`the output matches ${String(pattern)}`, () => {
        const match = pattern.exec(output());
        if (match === null && exitCode !== undefined) throw new Error(`ended (${exitCode}): ${output().slice(-1_500)}`);
        return match ?? undefined;
      }),
    kill: async (signal = 'SIGKILL') => {
      child.kill(signal);
      await whenExited;
    },
  };
}

/** Starts `dist/main.js`. */
export function startProgram(argv: readonly string[], options: StartOptions = {}): Program {
  if (!existsSync(program)) throw new Error('dist/main.js is missing: run `npm run build`');
  return startNode(program, argv, options);
}

/** Runs `dist/main.js` to its end. @param limitMs time after which it is killed */
export async function runProgram(
  argv: readonly string[],
  options: StartOptions = {},
  limitMs = 60_000,
): Promise<ProcessResult> {
  const child = start(program, argv, options);
  const kill = setTimeout(() => child.kill('SIGKILL'), limitMs);
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => (texts[name] += chunk));
  }
  const code = await new Promise<number | string>((resolve) => {
    child.once('close', (exit, signal) => resolve(exit ?? signal ?? 'unknown'));
  });
  clearTimeout(kill);
  return { code, ...texts };
}

function start(script: string, argv: readonly string[], { env = {}, cwd, flags = [] }: StartOptions): ChildProcess {
  const child = spawn(process.execPath, [...flags, script, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: cwd ?? projectRoot,
    env: { PATH: process.env['PATH'], ...env },
  });
  runningChildren.add(child);
  child.once('close', () => runningChildren.delete(child));
  return child;
}

function rootAbove(folder: string): string {
  const isRoot = existsSync(join(folder, 'package-lock.json'));
  return isRoot ? folder : rootAbove(dirname(folder));
}
