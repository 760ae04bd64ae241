/** Runs `verify` in the test process, as an operator runs it. */
import { Writable } from 'node:stream';
import { verifyCommand } from '../../src/cli/verify/verify.ts';
import type { VerifyResult } from '../../src/cli/verify/result.ts';
import { runCommand } from '../support/run-command.ts';

export interface VerifyRun {
  readonly code: number;
  readonly outcome: string;
  readonly results: readonly VerifyResult[];
}

class CapturedOutput extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.text += chunk.toString();
    callback();
  }
}

/** Runs `verify`. Resolves to its exit code and report. */
export async function runVerify(args: readonly string[], env: Readonly<Record<string, string>>): Promise<VerifyRun> {
  const stdout = new CapturedOutput();
  const stop = new AbortController();
  const code = await runCommand(verifyCommand, args, env, { stdout, stderr: new CapturedOutput(), stop: stop.signal });
  return { code, ...(JSON.parse(stdout.text) as Omit<VerifyRun, 'code'>) };
}
