/** Runs `codegen --lang ts`. */
import { codegenCommand } from '../../src/cli/inspect/codegen.ts';
import type { ExitCode } from '../../src/errors/exit-code.ts';
import { runCommand } from '../support/run-command.ts';

export async function codegen(...args: readonly string[]): Promise<{ readonly code: ExitCode; readonly text: string }> {
  let text = '';
  const write = (chunk: string): void => void (text += chunk);
  const code = await runCommand(
    codegenCommand,
    ['--lang', 'ts', ...args],
    {},
    { write, print: (line) => write(`${line}\n`) },
  );
  return { code, text };
}
