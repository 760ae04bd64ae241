/**
 * Runs commands in the process of the test, which needs a tenth of the CPU time. The result is the same as with
 * `program()` of program.ts. Use it to test the effect of a command. Tests of signals, uncaught errors and the start of
 * the program need a real process.
 */
import { Readable, Writable } from 'node:stream';
import { tmpdir } from 'node:os';
import { parse, unparsed } from '../../src/cli/command-line/parse.ts';
import { commandNamed, commands } from '../../src/cli/commands.ts';
import { withDemoEnv } from '../../src/cli/demo/use-running-demo.ts';
import { toIndexerError } from '../../src/errors/indexer-error.ts';
import { scrub } from '../../src/observe/figures/scrub.ts';
import type { Ended } from './program.ts';

/**
 * Runs the command to its end in the folder `cwd`, with only these variables. Only one call may run at a time, because
 * a process has only one current folder.
 */
export async function programInProcess(
  [name = '', ...words]: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = tmpdir(),
): Promise<Ended> {
  const began = performance.now();
  const printed = { stdout: '', stderr: '' };
  const collect = (output: 'stdout' | 'stderr'): Writable =>
    new Writable({
      decodeStrings: false,
      write: (text: string | Buffer, _encoding, done) => {
        printed[output] += text.toString();
        done();
      },
    });
  const write = (text: string): void => void (printed.stdout += text);
  const before = process.cwd();
  process.chdir(cwd);
  let code: number;
  try {
    const command = commandNamed(name);
    const args = command.verbs === true ? unparsed(words) : parse(command, words);
    const ended = await command.run({
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
    code = ended ?? 0;
  } catch (thrown) {
    const error = toIndexerError(thrown);
    printed.stderr += scrub(`ledger-indexer: ${error.code}: ${error.message}\n  what to do: ${error.remedy}\n`);
    code = error.exitCode;
  } finally {
    process.chdir(before);
  }
  return { code, ...printed, ms: performance.now() - began };
}
