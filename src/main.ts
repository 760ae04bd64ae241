#!/usr/bin/env node
/** argv -> command -> exit code. The only place that sets the exit code and handles signals. */
import { configCommand } from './cli/config.ts';
import { demoCommand } from './cli/demo.ts';
import { grantReaderCommand } from './cli/grant-reader.ts';
import { indexCommand } from './cli/index-verb.ts';
import { ledgerCommand } from './cli/ledger.ts';
import { migrateVerb } from './cli/migrate.ts';
import { runCommand } from './cli/run.ts';
import { sandboxCommand } from './cli/sandbox.ts';
import { statusCommand } from './cli/status.ts';
import { viewsCommand } from './cli/views.ts';
import { help } from './cli/help.ts';
import { ExitCode, toIndexerError } from './errors.ts';
import { scrub } from './observe/scrub.ts';

const [first, ...others] = process.argv.slice(2);
const verb = first === undefined || first.startsWith('-') ? 'run' : first;
const argv = verb === first ? others : process.argv.slice(2);
const stop = new AbortController();

function write(text: string): void {
  if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', forgetReader);
  process.stdout.write(text);
}

function print(line: string): void {
  write(`${line}\n`);
}

/** Whoever read the output has seen enough (`| head`): no failure, and no reason to leave work half done. */
function forgetReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

/** One Ctrl-C under npm arrives twice: from the terminal and passed on by npm. */
const echoMs = 300;
let askedAt = Number.POSITIVE_INFINITY;

function onSignal(): void {
  // The first asks, the second insists.
  if (performance.now() - askedAt > echoMs) process.exit(ExitCode.temporary);
  askedAt = Math.min(askedAt, performance.now());
  stop.abort();
}

async function command(): Promise<ExitCode> {
  // The verbs of `ledger` have texts of their own.
  if (verb === 'help' || (verb !== 'ledger' && (argv.includes('--help') || argv.includes('-h')))) {
    print(help());
    return ExitCode.stopped;
  }
  switch (verb) {
    case 'run':
      await runCommand(argv, process.env, stop.signal);
      return ExitCode.stopped;
    case 'demo':
      await demoCommand(argv, process.env, stop.signal);
      return ExitCode.stopped;
    case 'sandbox':
      await sandboxCommand(argv, process.env, stop.signal, print);
      return ExitCode.stopped;
    case 'migrate':
      await migrateVerb(argv, process.env, write);
      return ExitCode.stopped;
    case 'ledger':
      await ledgerCommand(argv, process.env, { stdin: process.stdin, stdout: process.stdout, stop: stop.signal });
      return ExitCode.stopped;
    case 'status':
      await statusCommand(argv, process.env, print);
      return ExitCode.stopped;
    case 'views':
      await viewsCommand(argv, process.env, print);
      return ExitCode.stopped;
    case 'grant-reader':
      await grantReaderCommand(argv, process.env, print);
      return ExitCode.stopped;
    case 'index':
      await indexCommand(argv, process.env, print);
      return ExitCode.stopped;
    case 'config':
      configCommand(argv, process.env, print);
      return ExitCode.stopped;
    default:
      process.stderr.write(`ledger-indexer: there is no command "${verb}"\n\n${help()}\n`);
      return ExitCode.usage;
  }
}

process.on('SIGTERM', onSignal);
process.on('SIGINT', onSignal);
try {
  process.exitCode = await command();
} catch (thrown) {
  const error = toIndexerError(thrown);
  const remedy = error.remedy === undefined ? '' : `\n  what to do: ${error.remedy}`;
  process.stderr.write(`${scrub(`ledger-indexer: ${error.code}: ${error.message}${remedy}`)}\n`);
  process.exitCode = error.exitCode;
}
// An idle event loop ends the process; a forgotten handle must not keep a stopped daemon alive.
setTimeout(() => process.exit(), 2_000).unref();
