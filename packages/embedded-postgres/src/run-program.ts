/**
 * Runs one of the server's programs under the right account. Its environment makes messages English and independent of
 * the operator's own PG* variables.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Account } from './account.ts';
import { commandAs } from './account.ts';
import type { Binaries } from './binaries.ts';
import { failedProgram, unavailable } from './unavailable.ts';

export interface ProgramPaths {
  readonly account: Account;
  readonly binaries: Binaries;
}

/**
 * Starts `program` with stdin, stdout and stderr as pipes, in a separate process group. Ctrl-C then reaches only this
 * process, and pending writes can complete.
 */
export function startProgram(
  installation: ProgramPaths,
  program: string,
  args: readonly string[],
  cwd: string,
): ChildProcess {
  const { file, args: commandArgs, ...ids } = commandAs(installation.account, program, args);
  const inheritedEnv = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/.test(name));
  const env = { ...Object.fromEntries(inheritedEnv), ...installation.binaries.environment, LC_ALL: 'C', TZ: 'UTC' };
  return spawn(file, commandArgs, { ...ids, cwd, env, detached: true });
}

/**
 * Runs `program` to its end and returns its output on stdout and stderr.
 * @throws ServerError EMBEDDED_POSTGRES_FAILED if it fails, EMBEDDED_POSTGRES_UNAVAILABLE if it cannot be run
 */
export async function runProgram(
  installation: ProgramPaths,
  program: string,
  args: readonly string[],
  cwd: string,
  input = '',
): Promise<string> {
  const child = startProgram(installation, program, args, cwd);
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  // If a program ends without reading its input, the error of the pipe is ignored, and its exit code is used.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  let code: unknown;
  try {
    [code] = await once(child, 'close');
  } catch (error) {
    throw unavailable(`${program} cannot be run`, error);
  }
  if (code === 127) throw unavailable(`${program} cannot be run: ${output.trim()}`);
  if (code !== 0) throw failedProgram(program, output);
  return output;
}
