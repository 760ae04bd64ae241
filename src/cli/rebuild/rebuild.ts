/**
 * `rebuild`: the storage made anew beside the running one, from the ledger, and swapped; `--back` swaps again, `--drop-old`
 * drops what the swap has left. Without `--yes` it only says what would happen.
 */
import { describeConfig, loadConfig, type Config } from '../../config/config.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import type { Database } from '../../store/connection/database.ts';
import { writing, yes, type Call, type Command, type Print } from '../command-line/command.ts';
import { misuse } from '../command-line/refusals.ts';
import { withStream } from '../database/maintenance.ts';
import type { Wish } from './wish.ts';

const usage = 'ledger-indexer rebuild [--level | --back | --drop-old] [--yes] [--option value …]';

export const rebuildCommand: Command = {
  name: 'rebuild',
  usage: '[--level | --back | --drop-old] [--yes] [--option value …]',
  summary: 'make the storage anew beside the running one, from the ledger, and swap them; --yes to do it',
  does: [
    'For another filter with its history, another shape or INDEXER_EXERCISE_JSON: configured as the indexer is to be',
    'afterwards, it fills <schema>_next while the indexer goes on, and takes its place in one transaction. What people',
    'built on explore, typed and pqs stays. The former storage stays as <schema>_before until --drop-old.',
    'Killed or stopped, it goes on where it was when it is run again.',
  ],
  operands: [],
  flags: [
    { name: 'level', doc: 'fill it until it is level and end there, without the swap' },
    { name: 'back', doc: 'bring the former storage level, and swap again' },
    { name: 'drop-old', doc: 'drop the former storage' },
    yes,
  ],
  examples: ['rebuild', 'rebuild --yes', 'rebuild --level --yes', 'rebuild --back --yes', 'rebuild --drop-old --yes'],
  exits: writing,
  page: 'docs/history.md',
  /** @throws IndexerError REBUILD_REFUSED, REBUILD_HINDERED, WORK_REFUSED, CONFIGURATION_INVALID, INTERRUPTED, or what the ledger answers */
  run: async (call) => {
    const { given, env } = call;
    const config = loadConfig(given.options, env);
    const asked = ['level', 'back', 'drop-old'].filter((flag) => given.has(flag));
    if (asked.length > 1) throw misuse(`--${asked.join(' and --')} are two things`, usage);
    const wish: Wish = {
      config,
      beside: given.has('back') ? 'before' : 'next',
      start: startOf(config, describeConfig(given.options, env)),
      onlyLevel: given.has('level'),
    };
    await withStream(config, 'rebuild', async (live) => {
      if (given.has('drop-old')) return dropOld(live, given.has('yes'), call.print);
      const { planned } = await import('./plan.ts');
      const plan = await planned(live, wish);
      for (const line of plan) call.print(line);
      const flags = wish.beside === 'before' ? ' --back' : wish.onlyLevel ? ' --level' : '';
      if (!given.has('yes'))
        return call.print(`nothing was changed; to do it, run: ledger-indexer rebuild${flags} --yes`);
      await carryOut(live, wish, call);
    });
  },
};

/** Where nobody says where to begin, with all that the participant shows: a seed at the ledger end would lose the history. */
function startOf({ indexer }: Config, described: ReturnType<typeof describeConfig>): PipelineParts['start'] {
  const given = described.some(({ env, origin }) => env === 'INDEXER_START' && origin !== 'default');
  return given ? indexer.start : 'whole';
}

async function carryOut(live: Database, wish: Wish, { stop, print, stdout }: Call): Promise<void> {
  const { createLogger } = await import('../../observe/log/logger.ts');
  const { Follower } = await import('./follower.ts');
  const { rebuild } = await import('./rebuilding.ts');
  const { makeReady, told } = await import('./plan.ts');
  const { besideSchema } = await import('../../store/swap/places.ts');
  const { config, beside, start, onlyLevel } = wish;
  const { logLevel: level, logFormat: format, notify, leaseMs } = config.indexer;
  const logging = createLogger({ level, format, stream: stdout });
  const schema = besideSchema(live.schema, beside);
  const follower = await Follower.open({ config, live, schema, start, logging, stop });
  try {
    await makeReady(live, follower.database, wish);
    const { logger } = logging;
    const outcome = await rebuild({ live, follower, beside, onlyLevel, notify, leaseMs, logger, stop });
    await told(live, wish, outcome, print);
  } finally {
    await follower.close();
  }
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
