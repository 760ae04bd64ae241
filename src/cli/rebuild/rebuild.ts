/**
 * `rebuild`: fills a new schema from the ledger while the indexer runs, then swaps it with the live one. `--rollback`
 * swaps back, `--drop-previous` deletes the schema that was replaced, `--into` fills another database and hands the
 * stream over. Without `--yes` it only prints what would happen.
 */
import { describeConfig, loadConfig, type Config } from '../../config/config.ts';
import type { Logging } from '../../observe/log/logger.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import type { Database } from '../../store/connection/database.ts';
import { databaseLabel } from '../../store/connection/hosts.ts';
import { addressFromFlags } from '../command-line/database-address.ts';
import { writing, yes, type Call, type Command } from '../command-line/command.ts';
import { misuse } from '../command-line/refusals.ts';
import { withStream } from '../database/maintenance.ts';
import type { Elsewhere } from './elsewhere.ts';
import type { Follower } from './follower.ts';
import type { Outcome } from './rebuilding.ts';
import type { Into, RebuildRequest } from './rebuild-request.ts';

const words = '[--no-swap | --rollback | --drop-previous] [--into URL | --into-file FILE] [--yes] [--option value …]';
const usage = `ledger-indexer rebuild ${words}`;

export const rebuildCommand: Command = {
  name: 'rebuild',
  usage: words,
  summary: 're-index into a new schema while the indexer runs, then swap schemas',
  does: [
    'For another filter with its history, another shape or INDEXER_EXERCISE_JSON. Configure it as the indexer will be',
    'configured afterwards. It fills <schema>_next while the indexer runs and swaps the schemas in one transaction.',
    'Objects on explore, typed and pqs survive. The previous schema stays as <schema>_previous until --drop-previous.',
    'With --into it fills the same schema in another database and hands the stream over: no indexer writes here then.',
    'After a kill or a stop the same command resumes.',
  ],
  operands: [],
  flags: [
    { name: 'no-swap', doc: 'catch up, then exit without swapping' },
    { name: 'rollback', doc: 'catch up in the previous schema, then swap back to it' },
    { name: 'drop-previous', doc: 'delete the previous schema; without --yes, count what it holds' },
    { name: 'into', value: 'URL', doc: 'fill this database instead, and hand the stream over to it' },
    { name: 'into-file', value: 'FILE', doc: 'the same with the URL in a file, because it contains a password' },
    yes,
  ],
  examples: [
    'rebuild',
    'rebuild --yes',
    'rebuild --no-swap --yes',
    'rebuild --rollback --yes',
    'rebuild --drop-previous --yes',
    'rebuild --into-file /run/secrets/new-database-url --yes',
  ],
  exits: writing,
  page: 'docs/how-to/change/rebuild-schema.md',
  /**
   * @throws IndexerError REBUILD_REFUSED, REBUILD_SWAP_BLOCKED, JOB_REFUSED, CONFIGURATION_INVALID, INTERRUPTED and
   * errors of the ledger
   */
  run: async (call) => {
    const { args, env } = call;
    const config = loadConfig(env, args.options);
    const into = intoOf(args);
    const modeFlags = ['no-swap', 'rollback', 'drop-previous'].filter((flag) => args.has(flag));
    if (modeFlags.length > 1) throw misuse(`--${modeFlags.join(' and --')} cannot be combined`, usage);
    const request: RebuildRequest = {
      config,
      replacement: args.has('rollback') ? 'previous' : 'next',
      start: startOf(config, describeConfig(env, args.options)),
      noSwap: args.has('no-swap'),
      into,
    };
    if (into !== undefined && (args.has('rollback') || args.has('drop-previous'))) {
      throw misuse('--into cannot be combined with --rollback or --drop-previous', usage);
    }
    await withStream(config, 'rebuild', async (live) => {
      if (args.has('drop-previous')) {
        const { dropPrevious } = await import('./drop-previous.ts');
        return call.print(await dropPrevious(live, args.has('yes')));
      }
      if (into !== undefined) return handOverInto(live, { ...request, into }, call);
      const { planned } = await import('./plan.ts');
      const { refuseHandedOver } = await import('./elsewhere.ts');
      await refuseHandedOver(live);
      const plan = await planned(live, request, call.stop);
      for (const line of plan) call.print(line);
      const flags = request.replacement === 'previous' ? ' --rollback' : noSwapFlag(request);
      if (!args.has('yes')) return call.print(nothingDone(flags));
      await carryOut(live, request, call);
    });
  },
};

/** @throws IndexerError USAGE */
function intoOf(args: Call['args']): Into | undefined {
  const found = addressFromFlags(args, 'into', usage);
  return found && { ...found, label: databaseLabel(found.url) };
}

const noSwapFlag = ({ noSwap }: RebuildRequest): string => (noSwap ? ' --no-swap' : '');

function nothingDone(flags: string): string {
  return `nothing was changed; to do it, run: ledger-indexer rebuild${flags} --yes`;
}

/**
 * The start of the new schema. Unless INDEXER_START is set, it has the complete history of the participant, because a
 * seed at the ledger end would lose it.
 */
function startOf({ indexer }: Config, described: ReturnType<typeof describeConfig>): PipelineParts['start'] {
  const isStartConfigured = described.some(({ env, origin }) => env === 'INDEXER_START' && origin !== 'default');
  return isStartConfigured ? indexer.start : 'whole';
}

async function loggingOf({ indexer }: Config, { stdout }: Call): Promise<Logging> {
  const { createLogger } = await import('../../observe/log/logger.ts');
  return createLogger({ level: indexer.logLevel, format: indexer.logFormat, stream: stdout });
}

async function carryOut(live: Database, request: RebuildRequest, call: Call): Promise<void> {
  const { Follower } = await import('./follower.ts');
  const { rebuild } = await import('./rebuilding.ts');
  const { swapping } = await import('./swapping.ts');
  const { makeReady, reportOutcome } = await import('./plan.ts');
  const { otherSchemaName } = await import('../../store/swap/stream-schemas.ts');
  const { config, replacement, start, noSwap } = request;
  const { stop, print } = call;
  const { notify, leaseMs } = config.indexer;
  const logging = await loggingOf(config, call);
  const { logger } = logging;
  const schema = otherSchemaName(live.schema, replacement);
  const follower = await Follower.open({ config, live, schema, start, logging, stop });
  try {
    await makeReady(live, follower.database, request);
    const ending = swapping({ live, follower, replacement, notify, logger });
    const outcome = await rebuild({ live, follower, ending, noSwap, leaseMs, logger, stop });
    await reportOutcome(live, request, outcome, print);
  } finally {
    await follower.close();
  }
}

async function handOverInto(live: Database, request: Elsewhere, call: Call): Promise<void> {
  const there = await import('./elsewhere.ts');
  const { Follower } = await import('./follower.ts');
  const { config, start } = request;
  const { stop, print } = call;
  const filledFrom = there.sourceOf(request);
  const logging = await loggingOf(config, call);
  const options = { config: there.configThere(request), live, schema: live.schema, filledFrom, start, logging, stop };
  const follower = await Follower.open(options);
  try {
    for (const line of await there.plannedElsewhere(live, follower.database, request, stop)) print(line);
    if (!call.args.has('yes')) return print(nothingDone(` --into …${noSwapFlag(request)}`));
    const left = await there.makeReadyElsewhere(live, follower.database, request);
    const outcome = left === 'nothing' ? left : await handOver(live, follower, { request, logging, left }, call);
    await there.reportOutcomeElsewhere(follower.database, request, outcome, print);
  } finally {
    await follower.close();
  }
}

interface Handing {
  readonly request: Elsewhere;
  readonly logging: Logging;
  readonly left: 'fill' | 'finish';
}

async function handOver(
  live: Database,
  follower: Follower,
  { request, logging: { logger }, left }: Handing,
  { stop, print }: Call,
): Promise<Outcome> {
  const { rebuild } = await import('./rebuilding.ts');
  const { handingOver } = await import('./handing-over.ts');
  const notCarried = new Set<string>();
  const onLeft = (found: readonly string[]): void => found.forEach((one) => notCarried.add(one));
  const ending = handingOver({ live, follower, into: request.into.label, logger, onLeft });
  const { noSwap, config } = request;
  const { leaseMs } = config.indexer;
  const isSourceClosed = left === 'finish';
  const outcome = await rebuild({ live, follower, ending, noSwap, leaseMs, logger, stop, isSourceClosed });
  for (const one of notCarried) print(`not copied: ${one}`);
  return outcome;
}
