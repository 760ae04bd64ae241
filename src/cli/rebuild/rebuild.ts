/**
 * `rebuild`: the storage made anew beside the running one, from the ledger, and swapped; `--back` swaps again, `--drop-old`
 * drops what the swap has left; `--into` makes it in another database and hands the stream over. Without `--yes` it only
 * says what would happen.
 */
import { describeConfig, loadConfig, type Config } from '../../config/config.ts';
import type { Logging } from '../../observe/log/logger.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import type { Database } from '../../store/connection/database.ts';
import { placeOf } from '../../store/connection/hosts.ts';
import { givenAddress } from '../command-line/given-address.ts';
import { writing, yes, type Call, type Command, type Print } from '../command-line/command.ts';
import { misuse } from '../command-line/refusals.ts';
import { withStream } from '../database/maintenance.ts';
import type { Elsewhere } from './elsewhere.ts';
import type { Follower } from './follower.ts';
import type { Outcome } from './rebuilding.ts';
import type { Into, Wish } from './wish.ts';

const words = '[--level | --back | --drop-old] [--into URL | --into-file FILE] [--yes] [--option value …]';
const usage = `ledger-indexer rebuild ${words}`;

export const rebuildCommand: Command = {
  name: 'rebuild',
  usage: words,
  summary: 'make the storage anew beside the running one, from the ledger, and swap them; --yes to do it',
  does: [
    'For another filter with its history, another shape or INDEXER_EXERCISE_JSON: configured as the indexer is to be',
    'afterwards, it fills <schema>_next while the indexer goes on, and takes its place in one transaction. What people',
    'built on explore, typed and pqs stays. The former storage stays as <schema>_before until --drop-old.',
    'With --into it fills the same schema in another database, and hands over: from then on nobody writes here.',
    'Killed or stopped, it goes on where it was when it is run again.',
  ],
  operands: [],
  flags: [
    { name: 'level', doc: 'fill it until it is level and end there, without the swap' },
    { name: 'back', doc: 'bring the former storage level, and swap again' },
    { name: 'drop-old', doc: 'drop the former storage' },
    { name: 'into', value: 'URL', doc: 'make it in this database, on another server, and hand the stream over' },
    { name: 'into-file', value: 'FILE', doc: 'the same, with the URL in a file: it holds a password' },
    yes,
  ],
  examples: [
    'rebuild',
    'rebuild --yes',
    'rebuild --level --yes',
    'rebuild --back --yes',
    'rebuild --drop-old --yes',
    'rebuild --into-file /run/secrets/new-database-url --yes',
  ],
  exits: writing,
  page: 'docs/history.md',
  /** @throws IndexerError REBUILD_REFUSED, REBUILD_SWAP_BLOCKED, WORK_REFUSED, CONFIGURATION_INVALID, INTERRUPTED, or what the ledger answers */
  run: async (call) => {
    const { given, env } = call;
    const config = loadConfig(env, given.options);
    const into = intoOf(given);
    const asked = ['level', 'back', 'drop-old'].filter((flag) => given.has(flag));
    if (asked.length > 1) throw misuse(`--${asked.join(' and --')} are two things`, usage);
    const wish: Wish = {
      config,
      beside: given.has('back') ? 'before' : 'next',
      start: startOf(config, describeConfig(env, given.options)),
      onlyLevel: given.has('level'),
      into,
    };
    if (into !== undefined && (given.has('back') || given.has('drop-old'))) {
      throw misuse('--into hands over to another database: --back and --drop-old are of the one here', usage);
    }
    await withStream(config, 'rebuild', async (live) => {
      if (given.has('drop-old')) return dropOld(live, given.has('yes'), call.print);
      if (into !== undefined) return handOverInto(live, { ...wish, into }, call);
      const { planned } = await import('./plan.ts');
      const { refuseHandedOver } = await import('./elsewhere.ts');
      await refuseHandedOver(live);
      const plan = await planned(live, wish, call.stop);
      for (const line of plan) call.print(line);
      const flags = wish.beside === 'before' ? ' --back' : levelFlag(wish);
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

const levelFlag = ({ onlyLevel }: Wish): string => (onlyLevel ? ' --level' : '');

function nothingDone(flags: string): string {
  return `nothing was changed; to do it, run: ledger-indexer rebuild${flags} --yes`;
}

/** Where nobody says where to begin, with all that the participant shows: a seed at the ledger end would lose the history. */
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
  const { config, beside, start, onlyLevel } = wish;
  const { stop, print } = call;
  const { notify, leaseMs } = config.indexer;
  const logging = await loggingOf(config, call);
  const { logger } = logging;
  const schema = besideSchema(live.schema, beside);
  const follower = await Follower.open({ config, live, schema, start, logging, stop });
  try {
    await makeReady(live, follower.database, wish);
    const ending = swapping({ live, follower, beside, notify, logger });
    const outcome = await rebuild({ live, follower, ending, onlyLevel, leaseMs, logger, stop });
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
    if (!call.given.has('yes')) return print(nothingDone(` --into …${levelFlag(wish)}`));
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
  const { onlyLevel, config } = wish;
  const { leaseMs } = config.indexer;
  const laidDown = left === 'finish';
  const outcome = await rebuild({ live, follower, ending, onlyLevel, leaseMs, logger, stop, laidDown });
  for (const one of notCarried) print(`not carried over: ${one}`);
  return outcome;
}

async function dropOld(live: Database, yes: boolean, print: Print): Promise<void> {
  const { besideSchema, dropBeside, isThere, rebuildRefused } = await import('../../store/swap/places.ts');
  const { allDependents } = await import('../../store/swap/dependents.ts');
  const name = besideSchema(live.schema, 'before');
  await live.transaction(async (client) => {
    if (!(await isThere(client, live.schema, 'before'))) {
      throw rebuildRefused(`there is no schema "${name}"`, 'nothing: no former storage is left');
    }
    const [first] = await allDependents(client, name);
    if (first !== undefined) {
      throw rebuildRefused(
        `${first} still reads the former storage`,
        `drop it, or make it anew over schema "${live.schema}"`,
      );
    }
    if (yes) await dropBeside(client, live.schema, 'before');
  });
  if (yes) print(`schema "${name}" is dropped; there is no way back any more`);
  else print(`schema "${name}" would be dropped; to do it, run: ledger-indexer rebuild --drop-old --yes`);
}
