/** Runs the built program to its end, as from a shell. */
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { assertBuilt } from '../e2e/runs/daemon.ts';

/** Path of the built program. */
export const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface ProcessResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

export interface RunningProgram {
  readonly ended: Promise<ProcessResult>;
  /** Its standard output so far. */
  stdout(): string;
  signal(signal: NodeJS.Signals): void;
}

/**
 * Starts the program with only these variables, without the configuration of the caller.
 * @param cwd the folder in which it starts; by default outside of the project, because a developer may run a demo there
 */
export function startProgram(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = tmpdir(),
): RunningProgram {
  assertBuilt();
  const began = performance.now();
  const child = spawn(process.execPath, [main, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], ...env },
    cwd,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const whenEnded = new Promise<ProcessResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, stdout, stderr, ms: performance.now() - began });
    });
  });
  return {
    ended: whenEnded,
    stdout: () => stdout,
    signal: (signal) => {
      child.kill(signal);
    },
  };
}

/** Runs the program to its end. */
export async function program(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<ProcessResult> {
  return await startProgram(argv, env, cwd).ended;
}
