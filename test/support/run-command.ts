/** Runs a command in the test process as the program does, except that it does not search for a running demo. */
import { Readable } from 'node:stream';
import type { Call, Command } from '../../src/cli/command-line/command.ts';
import { parse, unparsedArgs } from '../../src/cli/command-line/parse.ts';
import { ExitCode } from '../../src/errors/exit-code.ts';

/** Resolves to the exit code. @param io output, input and stop signal of the command; none by default */
export async function runCommand(
  command: Command,
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  io: Partial<Pick<Call, 'print' | 'write' | 'stop' | 'stdin' | 'stdout' | 'stderr'>> = {},
): Promise<ExitCode> {
  const code = await command.run({
    args: command.verbs === true ? unparsedArgs(argv) : parse(command, argv),
    env,
    stop: new AbortController().signal,
    print: () => undefined,
    write: () => undefined,
    stdin: Readable.from([]),
    stdout: process.stdout,
    stderr: process.stderr,
    commands: [],
    ...io,
  });
  return code ?? ExitCode.stopped;
}
