/** Runs the command in argv. The only module that sets the exit code and handles signals. */
import { ExitCode } from './errors/exit-code.ts';
import { toIndexerError } from './errors/indexer-error.ts';
import { scrub } from './observe/figures/scrub.ts';
import { escapeSteeringInLines } from './errors/visible-text.ts';

const [first, ...others] = process.argv.slice(2);
const verb = first === undefined || first.startsWith('-') ? 'run' : first;
const argv = verb === first ? others : process.argv.slice(2);
const stop = new AbortController();

function write(text: string): void {
  process.stdout.write(text);
}

function print(line: string): void {
  write(`${line}\n`);
}

/**
 * A closed output pipe (`| head`) is not a failure, and not a reason to leave work unfinished. A daemon also continues
 * without its log if the disk of the log is full; its metrics still report its state.
 */
function forgetReader(this: NodeJS.WriteStream, error: NodeJS.ErrnoException): void {
  // A command that waits for its writes handles the error there.
  if (this.listenerCount('error') > 1) return;
  if (error.code !== 'EPIPE' && verb !== 'run' && verb !== 'demo') throw error;
}

/**
 * Under npm, one Ctrl-C sends two signals: one from the terminal, and one forwarded by npm. A second signal within this
 * time is ignored, milliseconds.
 */
const echoMs = 300;
let requestedAt = Number.POSITIVE_INFINITY;

function onSignal(): void {
  // The first signal requests a stop, the second forces it.
  if (performance.now() - requestedAt > echoMs) process.exit(ExitCode.temporary);
  requestedAt = Math.min(requestedAt, performance.now());
  stop.abort();
}

/**
 * An uncaught error is a bug, and the memory cannot be trusted after it. So the process ends, and the next one begins
 * with the committed state. The message may quote rows or tokens, so only its kind and position are printed.
 */
function onDefect(thrown: unknown): void {
  const [kind, stack = ''] = thrown instanceof Error ? [thrown.name, thrown.stack] : [typeof thrown];
  const places = stack.split('\n').filter((line) => /^ {4}at /u.test(line));
  process.stderr.write(`${scrub([`ledger-indexer: UNEXPECTED: uncaught ${kind}`, ...places].join('\n'))}\n`);
  process.exit(ExitCode.unexpected);
}

async function command(): Promise<ExitCode> {
  const [argument] = argv;
  // If there is no command, the only flags besides options are these two.
  if (first !== verb && (argument === '--version' || argument === '-v'))
    return printText((await import('./version.ts')).version);
  const { commands, runCommandNamed } = await import('./cli/commands.ts');
  if (first !== verb && (argument === '--help' || argument === '-h')) {
    return printText((await import('./cli/command-line/help.ts')).help(commands));
  }
  const call = { argv, env: process.env, stop: stop.signal, write, print };
  return (await runCommandNamed(verb, call)) ?? ExitCode.stopped;
}

function printText(text: string): ExitCode {
  print(text);
  return ExitCode.stopped;
}

for (const output of [process.stdout, process.stderr]) output.on('error', forgetReader);
process.on('uncaughtException', onDefect);
process.on('SIGTERM', onSignal);
process.on('SIGINT', onSignal);
try {
  process.exitCode = await command();
} catch (thrown) {
  const error = toIndexerError(thrown);
  const text = `ledger-indexer: ${error.code}: ${error.message}\n  what to do: ${error.remedy}`;
  const safeText = escapeSteeringInLines(scrub(text));
  // A closed output pipe is not an error.
  if (error.code !== 'OUTPUT_CLOSED') process.stderr.write(`${safeText}\n`);
  process.exitCode = error.exitCode;
}
// The process ends when the event loop is empty. This timer ends it if an open handle keeps a stopped daemon alive.
setTimeout(() => process.exit(), 2_000).unref();
