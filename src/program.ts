/** Runs the command in argv. This is the only module that sets the exit code and handles signals. */
import { ExitCode } from './errors/exit-code.ts';
import { toIndexerError } from './errors/indexer-error.ts';
import { scrub } from './observe/figures/scrub.ts';
import { escapeSteeringInLines } from './errors/visible-text.ts';

const [first, ...remainingArgs] = process.argv.slice(2);
const verb = first === undefined || first.startsWith('-') ? 'run' : first;
const argv = verb === first ? remainingArgs : process.argv.slice(2);
const stop = new AbortController();

function write(text: string): void {
  process.stdout.write(text);
}

function print(line: string): void {
  write(`${line}\n`);
}

/**
 * Ignores errors of an output stream. A reader that closes the pipe (`| head`) is not a failure, and no reason to leave
 * work unfinished. An indexer also continues without its log if the disk of the log is full; its metrics still report
 * its state.
 */
function forgetReader(this: NodeJS.WriteStream, error: NodeJS.ErrnoException): void {
  // If a command waits for its writes, it handles the error itself.
  if (this.listenerCount('error') > 1) return;
  if (error.code !== 'EPIPE' && verb !== 'run' && verb !== 'demo') throw error;
}

/** Under npm, one Ctrl-C arrives twice within this time, milliseconds: from the terminal, and forwarded by npm. */
const ctrlCEchoMs = 300;
let requestedAt = Number.POSITIVE_INFINITY;

function onSignal(): void {
  // The first signal requests a stop; a second one forces it.
  if (performance.now() - requestedAt > ctrlCEchoMs) process.exit(ExitCode.temporary);
  requestedAt = Math.min(requestedAt, performance.now());
  stop.abort();
}

/**
 * Ends the process after an uncaught error. Such an error is a bug, and the memory cannot be trusted afterwards; the
 * next process begins from the committed data. The message may quote rows or tokens, so only the kind and position of
 * the error are printed.
 */
function onDefect(thrown: unknown): void {
  const [kind, stack = ''] = thrown instanceof Error ? [thrown.name, thrown.stack] : [typeof thrown];
  const stackLines = stack.split('\n').filter((line) => /^ {4}at /u.test(line));
  process.stderr.write(`${scrub([`ledger-indexer: UNEXPECTED: uncaught ${kind}`, ...stackLines].join('\n'))}\n`);
  process.exit(ExitCode.unexpected);
}

async function command(): Promise<ExitCode> {
  const [argument] = argv;
  // If there is no command, only options and these two flags are allowed.
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
// Normally, an idle event loop ends the process. This timer ends it if an open handle keeps a stopped indexer alive.
setTimeout(() => process.exit(), 2_000).unref();
