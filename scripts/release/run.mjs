// Runs other programs, and reports their failures.
import { spawnSync } from 'node:child_process';

/** A failure whose message is sufficient for the user. */
export class ReleaseError extends Error {
  constructor(message, exitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Returns standard output. @throws ReleaseError with the end of the output if the program fails */
export function run(program, args, cwd, env = {}) {
  const { status, stdout, stderr, error } = attempt(program, args, cwd, env);
  if (status === 0) return stdout;
  const reason = error?.message ?? `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n');
  throw new ReleaseError(`${[program, ...args].join(' ')} failed: ${reason}`, 1);
}

/** The result of a program that may fail. */
export function attempt(program, args, cwd, env = {}) {
  return spawnSync(program, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: 900_000,
    maxBuffer: 256 * 1024 ** 2,
  });
}
