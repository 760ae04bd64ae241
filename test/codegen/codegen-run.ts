/** Runs `codegen --lang ts`. */
import { codegenCommand } from '../../src/cli/inspect/codegen.ts';
import type { ExitCode } from '../../src/errors/exit-code.ts';
import { runCommand } from '../support/run-command.ts';

export async function codegen(
  ...words: readonly string[]
): Promise<{ readonly code: ExitCode; readonly text: string }> {
  let text = '';
  const write = (more: string): void => void (text += more);
  const code = await runCommand(
    codegenCommand,
    ['--lang', 'ts', ...words],
    {},
    { write, print: (line) => write(`${line}\n`) },
  );
  return { code, text };
}
