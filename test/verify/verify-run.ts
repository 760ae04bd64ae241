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

class Kept extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** Runs `verify`. Resolves to its exit code and report. */
export async function runVerify(words: readonly string[], env: Readonly<Record<string, string>>): Promise<VerifyRun> {
  const stdout = new Kept();
  const stop = new AbortController();
  const code = await runCommand(verifyCommand, words, env, { stdout, stderr: new Kept(), stop: stop.signal });
  return { code, ...(JSON.parse(stdout.text) as Omit<VerifyRun, 'code'>) };
}
