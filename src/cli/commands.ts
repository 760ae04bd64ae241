/**
 * The list of commands in the order of the help, and the function that runs them. A new command needs its own file and
 * an entry here.
 */
import type { OptionFlags } from '../config/option-sources.ts';
import type { ExitCode } from '../errors/exit-code.ts';
import { checkCommand } from './check/check.ts';
import type { Call, Command } from './command-line/command.ts';
import { completionCommand } from './command-line/completion.ts';
import { configCommand } from './command-line/config.ts';
import { commandHelp, helpCommand } from './command-line/help.ts';
import { parse, unparsedArgs } from './command-line/parse.ts';
import { unknownCommand } from './command-line/refusals.ts';
import { demoInfoCommand } from './demo/demo-info.ts';
import { sandboxCommand } from './demo/sandbox.ts';
import { backfillCommand } from './follow/backfill.ts';
import { demoCommand } from './follow/demo.ts';
import { migrateCommand } from './follow/migrate.ts';
import { runCommand } from './follow/run.ts';
import { codegenCommand } from './inspect/codegen.ts';
import { diffCommand } from './inspect/diff.ts';
import { explainCommand } from './inspect/explain.ts';
import { graphqlCommand } from './inspect/graphql.ts';
import { indexCommand } from './inspect/index-verb.ts';
import { queryCommand } from './inspect/query.ts';
import { accountStatementCommand } from './inspect/account-statement.ts';
import { statusCommand } from './inspect/status.ts';
import { viewsCommand } from './inspect/views.ts';
import { labelsCommand } from './labels/labels.ts';
import { exportCommand } from './lake/export.ts';
import { ledgerCommand } from './ledger/ledger.ts';
import { filterCommand } from './maintain/filter.ts';
import { holdCommand } from './maintain/hold.ts';
import { switchParticipantCommand } from './maintain/switch-participant.ts';
import { pruneCommand } from './maintain/prune.ts';
import { quarantineCommand } from './maintain/quarantine.ts';
import { redactCommand } from './maintain/redact.ts';
import { reseedCommand } from './maintain/reseed.ts';
import { resetCommand } from './maintain/reset.ts';
import { jobsCommand } from './maintain/jobs.ts';
import { projectionCommand } from './projections/projection.ts';
import { rebuildCommand } from './rebuild/rebuild.ts';
import { grantReaderCommand } from './roles/grant-reader.ts';
import { grantRolesCommand } from './roles/grant-roles.ts';
import { readerTokenCommand } from './roles/reader-token.ts';
import { comparePqsCommand } from './verify/compare-pqs.ts';
import { verifyCommand } from './verify/verify.ts';
import { webhookCommand } from './webhooks/webhook.ts';

export const commands: readonly Command[] = [
  runCommand,
  demoCommand,
  backfillCommand,
  sandboxCommand,
  migrateCommand,
  checkCommand,
  demoInfoCommand,
  statusCommand,
  queryCommand,
  explainCommand,
  diffCommand,
  accountStatementCommand,
  exportCommand,
  verifyCommand,
  comparePqsCommand,
  viewsCommand,
  labelsCommand,
  codegenCommand,
  graphqlCommand,
  ledgerCommand,
  quarantineCommand,
  configCommand,
  completionCommand,
  helpCommand,
  pruneCommand,
  holdCommand,
  webhookCommand,
  redactCommand,
  resetCommand,
  reseedCommand,
  filterCommand,
  switchParticipantCommand,
  rebuildCommand,
  jobsCommand,
  grantRolesCommand,
  grantReaderCommand,
  readerTokenCommand,
  indexCommand,
  projectionCommand,
];

/** A call as the user typed it: the words after the command name, and the environment. */
export interface CommandCall extends Pick<Call, 'env' | 'stop' | 'write' | 'print'> {
  readonly argv: readonly string[];
}

/**
 * Runs the command of this name, or prints its help. Parses the command line, and uses the demo of the current folder
 * if no database is set.
 * @throws IndexerError USAGE if the command does not exist or its arguments are wrong; errors of the command
 */
export async function runCommandNamed(
  name: string,
  { argv, env, stop, write, print }: CommandCall,
): Promise<ExitCode | undefined | void> {
  const command = commandNamed(name);
  // Commands with verbs have their own help texts.
  if (command.verbs !== true && (argv.includes('--help') || argv.includes('-h'))) return print(commandHelp(command));
  const args = command.verbs === true ? unparsedArgs(argv) : parse(command, argv);
  return await command.run({
    args,
    env: command.alone === true || command.verbs === true ? env : await withDemoEnv(env, args.options),
    stop,
    write,
    print,
    stdout: process.stdout,
    stderr: process.stderr,
    // A getter, because the first access creates a stream on standard input.
    get stdin() {
      return process.stdin;
    },
    commands,
  });
}

/** @throws IndexerError USAGE if there is no command of this name; the error suggests the most similar name */
export function commandNamed(name: string): Command {
  const matchingCommand = commands.find((command) => command.name === name);
  if (matchingCommand !== undefined) return matchingCommand;
  throw unknownCommand(name, commands);
}

async function withDemoEnv(env: NodeJS.ProcessEnv, options: OptionFlags): Promise<NodeJS.ProcessEnv> {
  const demo = await import('./demo/use-running-demo.ts');
  return demo.withDemoEnv(env, options);
}
