/**
 * `rebuild`: fills a new schema from the ledger while the indexer runs, then swaps it with the live one. `--rollback` swaps
 * back, `--drop-previous` deletes the schema that the swap has left, `--into` fills another database and hands the stream
 * over. Without `--yes` it only prints what would happen.
 */
import { describeConfig, loadConfig, type Config } from '../../config/config.ts';
import type { Logging } from '../../observe/log/logger.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import type { Database } from '../../store/connection/database.ts';
import { placeOf } from '../../store/connection/hosts.ts';
import { givenAddress } from '../command-line/given-address.ts';
import { writing, yes, type Call, type Command } from '../command-line/command.ts';
import { misuse } from '../command-line/refusals.ts';
import { withStream } from '../database/maintenance.ts';
import type { Elsewhere } from './elsewhere.ts';
import type { Follower } from './follower.ts';
import type { Outcome } from './rebuilding.ts';
import type { Into, Wish } from './wish.ts';

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
  /** @throws IndexerError REBUILD_REFUSED, REBUILD_SWAP_BLOCKED, JOB_REFUSED, CONFIGURATION_INVALID, INTERRUPTED and errors of the ledger */
  run: async (call) => {
    const { given, env } = call;
    const config = loadConfig(env, given.options);
    const into = intoOf(given);
    const asked = ['no-swap', 'rollback', 'drop-previous'].filter((flag) => given.has(flag));
    if (asked.length > 1) throw misuse(`--${asked.join(' and --')} cannot be combined`, usage);
    const wish: Wish = {
      config,
      beside: given.has('rollback') ? 'previous' : 'next',
      start: startOf(config, describeConfig(env, given.options)),
      noSwap: given.has('no-swap'),
      into,
    };
    if (into !== undefined && (given.has('rollback') || given.has('drop-previous'))) {
      throw misuse('--into cannot be combined with --rollback or --drop-previous', usage);
    }
    await withStream(config, 'rebuild', async (live) => {
      if (given.has('drop-previous')) {
        const { dropPrevious } = await import('./drop-previous.ts');
        return call.print(await dropPrevious(live, given.has('yes')));
      }
      if (into !== undefined) return handOverInto(live, { ...wish, into }, call);
      const { planned } = await import('./plan.ts');
      const { refuseHandedOver } = await import('./elsewhere.ts');
      await refuseHandedOver(live);
      const plan = await planned(live, wish, call.stop);
      for (const line of plan) call.print(line);
      const flags = wish.beside === 'previous' ? ' --rollback' : noSwapFlag(wish);
      if (!given.has('yes')) return call.print(nothingDone(flags));
      await carryOut(live, wish, call);
    });
  },
};

/** @throws IndexerError USAGE */
function intoOf(given: Call['given']): Into | undefined {
  const found = givenAddress(given, 'into', usage);
  return found && { ...found, place: placeOf(found.url) };
}

const noSwapFlag = ({ noSwap }: Wish): string => (noSwap ? ' --no-swap' : '');

function nothingDone(flags: string): string {
  return `nothing was changed; to do it, run: ledger-indexer rebuild${flags} --yes`;
}

/** Unless INDEXER_START is set, starts with the complete history of the participant: a seed at the ledger end would lose it. */
function startOf({ indexer }: Config, described: ReturnType<typeof describeConfig>): PipelineParts['start'] {
  const given = described.some(({ env, origin }) => env === 'INDEXER_START' && origin !== 'default');
  return given ? indexer.start : 'whole';
}

async function loggingOf({ indexer }: Config, { stdout }: Call): Promise<Logging> {
  const { createLogger } = await import('../../observe/log/logger.ts');
  return createLogger({ level: indexer.logLevel, format: indexer.logFormat, stream: stdout });
}

async function carryOut(live: Database, wish: Wish, call: Call): Promise<void> {
  const { Follower } = await import('./follower.ts');
  const { rebuild } = await import('./rebuilding.ts');
  const { swapping } = await import('./swapping.ts');
  const { makeReady, told } = await import('./plan.ts');
  const { besideSchema } = await import('../../store/swap/places.ts');
  const { config, beside, start, noSwap } = wish;
  const { stop, print } = call;
  const { notify, leaseMs } = config.indexer;
  const logging = await loggingOf(config, call);
  const { logger } = logging;
  const schema = besideSchema(live.schema, beside);
  const follower = await Follower.open({ config, live, schema, start, logging, stop });
  try {
    await makeReady(live, follower.database, wish);
    const ending = swapping({ live, follower, beside, notify, logger });
    const outcome = await rebuild({ live, follower, ending, noSwap, leaseMs, logger, stop });
    await told(live, wish, outcome, print);
  } finally {
    await follower.close();
  }
}

async function handOverInto(live: Database, wish: Elsewhere, call: Call): Promise<void> {
  const there = await import('./elsewhere.ts');
  const { Follower } = await import('./follower.ts');
  const { config, start } = wish;
  const { stop, print } = call;
  const filledFrom = there.sourceOf(wish);
  const logging = await loggingOf(config, call);
  const options = { config: there.configThere(wish), live, schema: live.schema, filledFrom, start, logging, stop };
  const follower = await Follower.open(options);
  try {
    for (const line of await there.plannedElsewhere(live, follower.database, wish, stop)) print(line);
    if (!call.given.has('yes')) return print(nothingDone(` --into …${noSwapFlag(wish)}`));
    const left = await there.makeReadyElsewhere(live, follower.database, wish);
    const outcome = left === 'nothing' ? left : await handOver(live, follower, { wish, logging, left }, call);
    await there.toldElsewhere(follower.database, wish, outcome, print);
  } finally {
    await follower.close();
  }
}

interface Handing {
  readonly wish: Elsewhere;
  readonly logging: Logging;
  readonly left: 'fill' | 'finish';
}

async function handOver(
  live: Database,
  follower: Follower,
  { wish, logging: { logger }, left }: Handing,
  { stop, print }: Call,
): Promise<Outcome> {
  const { rebuild } = await import('./rebuilding.ts');
  const { handingOver } = await import('./handing-over.ts');
  const notCarried = new Set<string>();
  const onLeft = (found: readonly string[]): void => found.forEach((one) => notCarried.add(one));
  const ending = handingOver({ live, follower, into: wish.into.place, logger, onLeft });
  const { noSwap, config } = wish;
  const { leaseMs } = config.indexer;
  const laidDown = left === 'finish';
  const outcome = await rebuild({ live, follower, ending, noSwap, leaseMs, logger, stop, laidDown });
  for (const one of notCarried) print(`not copied: ${one}`);
  return outcome;
}
