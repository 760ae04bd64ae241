/** The command `switch-participant`, run in the test process. */
import { switchParticipantCommand } from '../../src/cli/maintain/switch-participant.ts';
import { runCommand } from '../support/run-command.ts';

/** Switches the stream to the participant in the environment. Resolves to the output. */
export async function switchParticipant(env: NodeJS.ProcessEnv, argv: readonly string[] = ['--yes']): Promise<string> {
  const lines: string[] = [];
  await runCommand(switchParticipantCommand, argv, env, { print: (line) => lines.push(line) });
  return lines.join('\n');
}
