/**
 * Runs commands in the process of the test, which needs a tenth of the CPU time. The result is the same as with
 * `program()` of program.ts. Use it to test the effect of a command. Tests of signals, uncaught errors and the start of
 * the program need a real process.
 */
import { Readable, Writable } from 'node:stream';
import { tmpdir } from 'node:os';
import { parse, unparsedArgs } from '../../src/cli/command-line/parse.ts';
import { commandNamed, commands } from '../../src/cli/commands.ts';
import { withDemoEnv } from '../../src/cli/demo/use-running-demo.ts';
import { toIndexerError } from '../../src/errors/indexer-error.ts';
import { scrub } from '../../src/observe/figures/scrub.ts';
import type { ProcessResult } from './program.ts';

/**
 * Runs the command to its end in the folder `cwd`, with only these variables. Only one call may run at a time, because
 * a process has only one current folder.
 */
export async function programInProcess(
  [name = '', ...commandArgs]: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = tmpdir(),
): Promise<ProcessResult> {
  const startMs = performance.now();
  const outputText = { stdout: '', stderr: '' };
  const collect = (output: 'stdout' | 'stderr'): Writable =>
    new Writable({
      decodeStrings: false,
      write: (text: string | Buffer, _encoding, callback) => {
        outputText[output] += text.toString();
        callback();
      },
    });
  const write = (text: string): void => void (outputText.stdout += text);
  const originalCwd = process.cwd();
  process.chdir(cwd);
  let code: number;
  try {
    const command = commandNamed(name);
    const args = command.verbs === true ? unparsedArgs(commandArgs) : parse(command, commandArgs);
    const processResult = await command.run({
      args,
      env: command.alone === true || command.verbs === true ? env : await withDemoEnv(env, args.options),
      stop: new AbortController().signal,
      write,
      print: (line) => write(`${line}\n`),
      stdin: Readable.from([]),
      stdout: collect('stdout'),
      stderr: collect('stderr'),
      commands,
    });
    code = processResult ?? 0;
  } catch (caughtError) {
    const error = toIndexerError(caughtError);
    outputText.stderr += scrub(`ledger-indexer: ${error.code}: ${error.message}\n  what to do: ${error.remedy}\n`);
    code = error.exitCode;
  } finally {
    process.chdir(originalCwd);
  }
  return { code, ...outputText, ms: performance.now() - startMs };
}
