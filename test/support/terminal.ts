/** Runs a command on a separate terminal, which `script` of util-linux creates. */
import { spawn, spawnSync } from 'node:child_process';

const { stdout: version } = spawnSync('script', ['--version'], { encoding: 'utf8' });
export const terminalSkipReason = /util-linux/.test(version ?? '') ? undefined : 'needs script(1) of util-linux';

export interface TerminalProcess {
  readonly ended: Promise<number | null>;
  /** The output so far, including colors and cursor movements. */
  output(): string;
  /** Sends Ctrl-C. */
  interrupt(): void;
}

/** @param command for a shell */
export function onTerminal(command: string, env: Readonly<Record<string, string>>, cwd: string): TerminalProcess {
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: process.env['PATH'], TERM: 'dumb', ...env },
    cwd,
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  // The command may already have ended.
  child.stdin.on('error', () => undefined);
  const whenEnded = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { ended: whenEnded, output: () => output, interrupt: () => void child.stdin.write('\u0003') };
}
