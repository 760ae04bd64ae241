/** The commands by name. */
import type { ExitCode } from '../errors.ts';
import { acceptFilterCommand } from './accept-filter.ts';
import { configCommand } from './config.ts';
import { demoCommand } from './demo.ts';
import { grantReaderCommand } from './grant-reader.ts';
import { grantRolesCommand } from './grant-roles.ts';
import { indexCommand } from './index-verb.ts';
import { ledgerCommand } from './ledger.ts';
import { migrateVerb } from './migrate.ts';
import { pruneCommand } from './prune.ts';
import { quarantineCommand } from './quarantine.ts';
import { redactCommand } from './redact.ts';
import { reseedCommand } from './reseed.ts';
import { resetCommand } from './reset.ts';
import { runCommand } from './run.ts';
import { sandboxCommand } from './sandbox.ts';
import { statusCommand } from './status.ts';
import { verifyCommand } from './verify.ts';
import { viewsCommand } from './views.ts';

/** What a command is given. */
export interface Call {
  /** Words after the name of the command. */
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Aborted when a signal asks to stop. */
  readonly stop: AbortSignal;
  readonly write: (text: string) => void;
  /** One line. */
  readonly print: (line: string) => void;
}

const streams = { stdout: process.stdout, stderr: process.stderr };

/** Resolves to the exit code; nothing is 0. @throws IndexerError with an exit code of its own */
type Command = (call: Call) => Promise<ExitCode | undefined | void> | void;

export const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['run', ({ argv, env, stop }) => runCommand(argv, env, stop)],
  ['demo', ({ argv, env, stop }) => demoCommand(argv, env, stop)],
  ['sandbox', ({ argv, env, stop, print }) => sandboxCommand(argv, env, stop, print)],
  ['migrate', ({ argv, env, write }) => migrateVerb(argv, env, write)],
  ['status', ({ argv, env, print }) => statusCommand(argv, env, print)],
  ['views', ({ argv, env, print }) => viewsCommand(argv, env, print)],
  ['verify', ({ argv, env, stop }) => verifyCommand(argv, env, { ...streams, stop })],
  ['ledger', ({ argv, env, stop }) => ledgerCommand(argv, env, { stdin: process.stdin, ...streams, stop })],
  ['prune', ({ argv, env, stop, print }) => pruneCommand(argv, env, stop, print)],
  ['redact', ({ argv, env, stop, print }) => redactCommand(argv, env, stop, print)],
  ['quarantine', ({ argv, env, print }) => quarantineCommand(argv, env, print)],
  ['reset', ({ argv, env, print }) => resetCommand(argv, env, print)],
  ['reseed', ({ argv, env, stop, print }) => reseedCommand(argv, env, stop, print)],
  ['accept-filter', ({ argv, env, print }) => acceptFilterCommand(argv, env, print)],
  ['grant-reader', ({ argv, env, print }) => grantReaderCommand(argv, env, print)],
  ['grant-roles', ({ argv, env, print }) => grantRolesCommand(argv, env, print)],
  ['index', ({ argv, env, print }) => indexCommand(argv, env, print)],
  [
    'config',
    ({ argv, env, print }) => {
      configCommand(argv, env, print);
    },
  ],
]);
