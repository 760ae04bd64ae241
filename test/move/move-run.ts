/** The command `move`, in the process of the test. */
import { moveCommand } from '../../src/cli/maintain/move.ts';
import { runCommand } from '../support/run-command.ts';

/** Moves the stream to the participant that the environment names; resolves to what it printed. */
export async function move(env: NodeJS.ProcessEnv, argv: readonly string[] = ['--yes']): Promise<string> {
  const lines: string[] = [];
  await runCommand(moveCommand, argv, env, { print: (line) => lines.push(line) });
  return lines.join('\n');
}
