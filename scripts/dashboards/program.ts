/** Programs that the check uses: they are found on PATH, and stopped at its end. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';

export interface ProcessResult {
  readonly status: number;
  readonly output: string;
}

/** Runs a program to its end. Returns stdout and stderr as one text. @throws Error if it cannot be started */
export function runToEnd(program: string, args: readonly string[], env?: NodeJS.ProcessEnv): ProcessResult {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', ...(env && { env }) });
  if (error !== undefined) throw new Error(`${program} cannot be started: ${error.message}`, { cause: error });
  return { status: status ?? 1, output: `${stdout}${stderr}` };
}

/** Whether a program of this name is on PATH. */
export function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}

export interface Program {
  readonly child: ChildProcess;
  /** All output so far. */
  output(): string;
  /** Sends SIGTERM, and SIGKILL after 15 s. */
  stop(): Promise<void>;
}

/** Starts a program that runs until it is stopped. */
export function startProgram(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Program {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const whenEnded = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      output += error.message;
      resolve();
    });
    child.once('close', () => {
      resolve();
    });
  });
  return {
    child,
    output: () => output,
    stop: async () => {
      child.kill('SIGTERM');
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 15_000);
      await whenEnded;
      clearTimeout(killTimer);
    },
  };
}
