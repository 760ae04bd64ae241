/** The commands by name. Each is loaded when it is run, so that `--help` and completion wait for none of them. */
import type { ExitCode } from '../errors/exit-code.ts';
import { commandHelp } from './command-line/help.ts';
import { parse } from './command-line/parse.ts';
import { commandInfo, commandNamed } from './table/command-table.ts';

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
type Command = (call: Call) => Promise<ExitCode | undefined | void>;

const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  [
    'run',
    async ({ argv, env, stop }) =>
      (await import('./follow/run.ts')).runCommand(parse(commandNamed('run'), argv).options, env, stop),
  ],
  ['demo', async ({ argv, env, stop }) => (await import('./follow/demo.ts')).demoCommand(argv, env, stop)],
  ['backfill', async ({ argv, env, stop }) => (await import('./follow/backfill.ts')).backfillCommand(argv, env, stop)],
  [
    'sandbox',
    async ({ argv, env, stop, print }) => (await import('./demo/sandbox.ts')).sandboxCommand(argv, env, stop, print),
  ],
  ['migrate', async ({ argv, env, write }) => (await import('./follow/migrate.ts')).migrateVerb(argv, env, write)],
  ['check', async ({ argv, env, print }) => (await import('./check/check.ts')).checkCommand(argv, env, print)],
  ['connect', async ({ argv, env, print }) => (await import('./demo/connect.ts')).connectCommand(argv, env, print)],
  ['status', async ({ argv, env, ...io }) => (await import('./inspect/status.ts')).statusCommand(argv, env, io)],
  [
    'query',
    async ({ argv, env, stop }) =>
      (await import('./inspect/query.ts')).queryCommand(argv, env, { stdin: process.stdin, ...streams, stop }),
  ],
  ['views', async ({ argv, env, print }) => (await import('./inspect/views.ts')).viewsCommand(argv, env, print)],
  [
    'verify',
    async ({ argv, env, stop }) => (await import('./verify/verify.ts')).verifyCommand(argv, env, { ...streams, stop }),
  ],
  [
    'ledger',
    async ({ argv, env, stop }) =>
      (await import('./ledger/ledger.ts')).ledgerCommand(argv, env, { stdin: process.stdin, ...streams, stop }),
  ],
  [
    'prune',
    async ({ argv, env, stop, print }) => (await import('./maintain/prune.ts')).pruneCommand(argv, env, stop, print),
  ],
  [
    'redact',
    async ({ argv, env, stop, print }) => (await import('./maintain/redact.ts')).redactCommand(argv, env, stop, print),
  ],
  [
    'quarantine',
    async ({ argv, env, print }) => (await import('./maintain/quarantine.ts')).quarantineCommand(argv, env, print),
  ],
  ['reset', async ({ argv, env, print }) => (await import('./maintain/reset.ts')).resetCommand(argv, env, print)],
  [
    'reseed',
    async ({ argv, env, stop, print }) => (await import('./maintain/reseed.ts')).reseedCommand(argv, env, stop, print),
  ],
  [
    'accept-filter',
    async ({ argv, env, print }) => (await import('./maintain/accept-filter.ts')).acceptFilterCommand(argv, env, print),
  ],
  [
    'grant-reader',
    async ({ argv, env, print }) => (await import('./roles/grant-reader.ts')).grantReaderCommand(argv, env, print),
  ],
  [
    'grant-roles',
    async ({ argv, env, print }) => (await import('./roles/grant-roles.ts')).grantRolesCommand(argv, env, print),
  ],
  ['index', async ({ argv, env, print }) => (await import('./inspect/index-verb.ts')).indexCommand(argv, env, print)],
  [
    'config',
    async ({ argv, env, print }) => (await import('./command-line/config.ts')).configCommand(argv, env, print),
  ],
  [
    'completion',
    async ({ argv, print }) => print((await import('./command-line/completion.ts')).completionScript(argv)),
  ],
  ['help', async ({ argv, print }) => (await import('./command-line/help-verb.ts')).helpCommand(argv, print)],
]);

/**
 * Runs the command of this name, or prints its help.
 * @throws IndexerError USAGE when there is none, or its flags are mistyped; whatever the command throws
 */
export async function runCommandNamed(verb: string, call: Call): Promise<ExitCode | undefined | void> {
  const command = commands.get(verb);
  const info = commandInfo(verb);
  if (command === undefined || info === undefined) {
    const { unknownCommand } = await import('./command-line/unknown-command.ts');
    throw unknownCommand(verb);
  }
  const { argv } = call;
  // The verbs of `ledger` have texts of their own.
  if (verb !== 'ledger' && (argv.includes('--help') || argv.includes('-h'))) {
    call.print(commandHelp(info));
    return undefined;
  }
  const options = verb === 'ledger' ? argv : parse(info, argv).options;
  if (info.alone === true) return await command(call);
  const { besideDemo } = await import('./demo/beside-demo.ts');
  return await command({ ...call, env: await besideDemo(options, call.env) });
}
