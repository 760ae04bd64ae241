/** The verbs of `ledger`, and their dispatcher. */
import { loadConfig, type Config } from '../../config/config.ts';
import { IndexerError, withContext } from '../../errors/indexer-error.ts';
import { suggestionText } from '../../errors/nearest-names.ts';
import { usageError } from '../command-line/refusals.ts';
import { type Verb, verbArguments, type VerbArguments } from './verb.ts';
import { completionVerbs } from './completions.ts';
import { contractVerbs } from './contracts.ts';
import { ledgerHelp, verbHelp } from './help.ts';
import { nodeVerbs } from './node.ts';
import { openClient } from '../database/open-client.ts';
import { packageVerbs } from './packages.ts';
import { partyVerbs } from './parties.ts';
import { submitVerbs } from './submit.ts';
import type { Call } from '../command-line/command.ts';
import { createOutput, type Output } from '../command-line/output.ts';
import { updateVerbs } from './updates.ts';

export const verbs: readonly Verb[] = [
  ...nodeVerbs,
  ...packageVerbs,
  ...partyVerbs,
  ...contractVerbs,
  ...updateVerbs,
  ...completionVerbs,
  ...submitVerbs,
];

/**
 * Time limit of a request, milliseconds. It is longer than the 20 s that a node may take for a submission, because an
 * upload over a slow connection takes long.
 */
const requestTimeoutMs = 60_000;

/**
 * Runs the verb named by the first word.
 * @throws IndexerError USAGE, CONFIGURATION_INVALID, INTERRUPTED and errors of the ledger
 */
export async function runVerb(call: Call): Promise<void> {
  const { args: commandArgs, env, stdout } = call;
  const [name = '', ...verbArgs] = commandArgs.operands;
  if (name === '--help' || name === '-h' || name === 'help') {
    await createOutput(stdout, true).text(ledgerHelp(verbs));
    return;
  }
  const verb = verbs.find((candidate) => candidate.name === name);
  if (verb === undefined) throw unknownVerb(name);
  if (verbArgs.includes('--help') || verbArgs.includes('-h')) {
    await createOutput(stdout, true).text(verbHelp(verb));
    return;
  }
  const args = verbArguments(verb, verbArgs);
  const table = args.has('table') || (stdout.isTTY === true && !args.has('json'));
  const output = createOutput(stdout, table);
  const { withDemoEnv } = await import('../demo/use-running-demo.ts');
  const config = loadConfig(await withDemoEnv(env, args.options), args.options);
  await run(verb, args, config, output, call);
}

function unknownVerb(name: string): IndexerError {
  const names = verbs.map((verb) => verb.name);
  const message =
    name === '' || name.startsWith('-')
      ? 'expected a verb after "ledger"'
      : `there is no "ledger ${name}"${suggestionText(name, names)}`;
  return usageError(message, `choose one of ${names.join(', ')}; run \`ledger-indexer ledger --help\` to see them`);
}

async function run(verb: Verb, args: VerbArguments, config: Config, output: Output, io: Call): Promise<void> {
  const { ledger } = config;
  if (ledger.url === undefined) throw noLedgerError();
  const { url } = ledger;
  const { stdin, stop } = io;
  const { access, client } = await openClient({ ledger, url, requestTimeoutMs, stop });
  try {
    await verb.run({ args, config, url, access, client, output, stdin, stop });
  } catch (thrown) {
    throw stop.aborted ? interruptedError(verb, thrown) : advised(verb, thrown);
  }
  // A stop is the normal end of an endless read. The result of any other read is incomplete.
  if (stop.aborted && !args.has('follow')) throw interruptedError(verb);
}

function noLedgerError(): IndexerError {
  return new IndexerError('LEDGER_URL is not set', {
    code: 'CONFIGURATION_INVALID',
    remedy: 'set LEDGER_URL (or --ledger-url) to the JSON API of the participant, e.g. http://127.0.0.1:7575',
  });
}

function interruptedError(verb: Verb, cause?: unknown): IndexerError {
  return new IndexerError(`"ledger ${verb.name}" was interrupted`, {
    code: 'INTERRUPTED',
    remedy: verb.remedies?.['INTERRUPTED'] ?? 'run the command again to get the complete result',
    cause,
  });
}

/** Replaces the remedy of an error by that of the verb. */
function advised(verb: Verb, thrown: unknown): unknown {
  if (!(thrown instanceof IndexerError)) return thrown;
  const remedy = verb.remedies?.[thrown.code];
  if (remedy === undefined) return thrown;
  return withContext(thrown, { remedy });
}
