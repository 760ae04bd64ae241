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
import { writeExitCodes, yesFlag, type Call, type Command } from '../command-line/command.ts';
import { usageError } from '../command-line/refusals.ts';
import { withStream } from '../database/maintenance.ts';
import type { HandoverRequest } from './elsewhere.ts';
import type { Follower } from './follower.ts';
import type { RebuildOutcome } from './rebuilding.ts';
import type { TargetAddress, RebuildRequest } from './rebuild-request.ts';

const usageWords =
  '[--no-swap | --rollback | --drop-previous] [--into URL | --into-file FILE] [--yes] [--option value …]';
const usage = `ledger-indexer rebuild ${usageWords}`;

export const rebuildCommand: Command = {
  name: 'rebuild',
  usage: usageWords,
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
    yesFlag,
  ],
  examples: [
    'rebuild',
    'rebuild --yes',
    'rebuild --no-swap --yes',
    'rebuild --rollback --yes',
    'rebuild --drop-previous --yes',
    'rebuild --into-file /run/secrets/new-database-url --yes',
  ],
  exits: writeExitCodes,
  page: 'docs/how-to/change/rebuild-schema.md',
  /**
   * @throws IndexerError REBUILD_REFUSED, REBUILD_SWAP_BLOCKED, JOB_REFUSED, CONFIGURATION_INVALID, INTERRUPTED and
   * errors of the ledger
   */
  run: async (call) => {
    const { args, env } = call;
    const config = loadConfig(env, args.options);
    const targetAddress = parseTarget(args);
    const modeFlags = ['no-swap', 'rollback', 'drop-previous'].filter((flag) => args.has(flag));
    if (modeFlags.length > 1) throw usageError(`--${modeFlags.join(' and --')} cannot be combined`, usage);
    const request: RebuildRequest = {
      config,
      replacement: args.has('rollback') ? 'previous' : 'next',
      start: startOf(config, describeConfig(env, args.options)),
      noSwap: args.has('no-swap'),
      into: targetAddress,
    };
    if (targetAddress !== undefined && (args.has('rollback') || args.has('drop-previous'))) {
      throw usageError('--into cannot be combined with --rollback or --drop-previous', usage);
    }
    await withStream(config, 'rebuild', async (liveDatabase) => {
      if (args.has('drop-previous')) {
        const { dropPrevious } = await import('./drop-previous.ts');
        return call.print(await dropPrevious(liveDatabase, args.has('yes')));
      }
      if (targetAddress !== undefined) return rebuildInto(liveDatabase, { ...request, into: targetAddress }, call);
      const { planned: planLines } = await import('./plan.ts');
      const { refuseHandedOver: assertNotHandedOver } = await import('./elsewhere.ts');
      await assertNotHandedOver(liveDatabase);
      const plan = await planLines(liveDatabase, request, call.stop);
      for (const line of plan) call.print(line);
      const flags = request.replacement === 'previous' ? ' --rollback' : noSwapFlag(request);
      if (!args.has('yes')) return call.print(previewFooter(flags));
      await runRebuild(liveDatabase, request, call);
    });
  },
};

/** @throws IndexerError USAGE */
function parseTarget(args: Call['args']): TargetAddress | undefined {
  const address = addressFromFlags(args, 'into', usage);
  return address && { ...address, label: databaseLabel(address.url) };
}

const noSwapFlag = ({ noSwap }: RebuildRequest): string => (noSwap ? ' --no-swap' : '');

function previewFooter(flags: string): string {
  return `nothing was changed; to do it, run: ledger-indexer rebuild${flags} --yes`;
}

/**
 * The start of the new schema. Unless INDEXER_START is set, it has the complete history of the participant, because a
 * seed at the ledger end would lose it.
 */
function startOf({ indexer }: Config, describedOptions: ReturnType<typeof describeConfig>): PipelineParts['start'] {
  const isStartConfigured = describedOptions.some(({ env, origin }) => env === 'INDEXER_START' && origin !== 'default');
  return isStartConfigured ? indexer.start : 'whole';
}

async function loggingOf({ indexer }: Config, { stdout }: Call): Promise<Logging> {
  const { createLogger } = await import('../../observe/log/logger.ts');
  return createLogger({ level: indexer.logLevel, format: indexer.logFormat, stream: stdout });
}

async function runRebuild(liveDatabase: Database, request: RebuildRequest, call: Call): Promise<void> {
  const { Follower } = await import('./follower.ts');
  const { rebuild } = await import('./rebuilding.ts');
  const { swapping: createSwapSteps } = await import('./swapping.ts');
  const { makeReady: prepareTargetSchema, reportOutcome } = await import('./plan.ts');
  const { otherSchemaName } = await import('../../store/swap/stream-schemas.ts');
  const { config, replacement, start, noSwap } = request;
  const { stop, print } = call;
  const { notify, leaseMs } = config.indexer;
  const logging = await loggingOf(config, call);
  const { logger } = logging;
  const schema = otherSchemaName(liveDatabase.schema, replacement);
  const follower = await Follower.open({ config, live: liveDatabase, schema, start, logging, stop });
  try {
    await prepareTargetSchema(liveDatabase, follower.database, request);
    const swapSteps = createSwapSteps({ live: liveDatabase, follower, replacement, notify, logger });
    const outcome = await rebuild({ live: liveDatabase, follower, ending: swapSteps, noSwap, leaseMs, logger, stop });
    await reportOutcome(liveDatabase, request, outcome, print);
  } finally {
    await follower.close();
  }
}

async function rebuildInto(liveDatabase: Database, request: HandoverRequest, call: Call): Promise<void> {
  const handoverModule = await import('./elsewhere.ts');
  const { Follower } = await import('./follower.ts');
  const { config, start } = request;
  const { stop, print } = call;
  const sourceLabel = handoverModule.sourceOf(request);
  const logging = await loggingOf(config, call);
  const options = {
    config: handoverModule.configThere(request),
    live: liveDatabase,
    schema: liveDatabase.schema,
    filledFrom: sourceLabel,
    start,
    logging,
    stop,
  };
  const follower = await Follower.open(options);
  try {
    for (const line of await handoverModule.handoverPlanLines(liveDatabase, follower.database, request, stop))
      print(line);
    if (!call.args.has('yes')) return print(previewFooter(` --into …${noSwapFlag(request)}`));
    const nextStage = await handoverModule.prepareTargetDatabase(liveDatabase, follower.database, request);
    const outcome =
      nextStage === 'nothing'
        ? nextStage
        : await runHandover(liveDatabase, follower, { request, logging, left: nextStage }, call);
    await handoverModule.reportHandoverOutcome(follower.database, request, outcome, print);
  } finally {
    await follower.close();
  }
}

interface HandoverRun {
  readonly request: HandoverRequest;
  readonly logging: Logging;
  readonly left: 'fill' | 'finish';
}

async function runHandover(
  liveDatabase: Database,
  follower: Follower,
  { request, logging: { logger }, left: nextStage }: HandoverRun,
  { stop, print }: Call,
): Promise<RebuildOutcome> {
  const { rebuild } = await import('./rebuilding.ts');
  const { handingOver: createHandoverSteps } = await import('./handing-over.ts');
  const notCopied = new Set<string>();
  const onNotCopied = (names: readonly string[]): void => names.forEach((name) => notCopied.add(name));
  const handoverSteps = createHandoverSteps({
    live: liveDatabase,
    follower,
    into: request.into.label,
    logger,
    onLeft: onNotCopied,
  });
  const { noSwap, config } = request;
  const { leaseMs } = config.indexer;
  const isSourceClosed = nextStage === 'finish';
  const outcome = await rebuild({
    live: liveDatabase,
    follower,
    ending: handoverSteps,
    noSwap,
    leaseMs,
    logger,
    stop,
    isSourceClosed,
  });
  for (const name of notCopied) print(`not copied: ${name}`);
  return outcome;
}
