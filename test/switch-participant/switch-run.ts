/** The command `switch-participant`, in the process of the test. */
import { switchParticipantCommand } from '../../src/cli/maintain/switch-participant.ts';
import { runCommand } from '../support/run-command.ts';

/** Moves the stream to the participant that the environment names; resolves to the output. */
export async function switchParticipant(env: NodeJS.ProcessEnv, argv: readonly string[] = ['--yes']): Promise<string> {
  const lines: string[] = [];
  await runCommand(switchParticipantCommand, argv, env, { print: (line) => lines.push(line) });
  return lines.join('\n');
}
