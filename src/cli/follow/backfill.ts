/** `backfill`: a bounded piece of history into an empty schema, or the rest of it after a kill. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { FirstRange } from '../../store/history/coverage-ranges.ts';
import type { Command } from '../command-line/command.ts';
import type { Given } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { withAnyDatabase } from '../database/with-database.ts';

export const backfillCommand: Command = {
  name: 'backfill',
  usage: '[--from oldest|genesis|OFFSET] [--to end|OFFSET] [--option value …]',
  summary: 'store a bounded piece of history, then exit: --from oldest --to end',
  does: [
    'Like run, with an end: follows history from --from (default oldest: where the participant was pruned to) up to',
    'and including --to (default end: the ledger end at the start), then exits 0. Updates after --from are stored,',
    'so --from 100 begins with offset 101. Killed, it goes on when it is started again with the same words.',
    'A schema holds one stretch without gaps: what would leave a gap, or put history before what is stored, is',
    'refused; give that history a POSTGRES_SCHEMA of its own. Where nothing can be stored for INDEXER_PROGRESS_TIMEOUT (10m),',
    'it ends with the exit code of the failure, or 75 where another indexer keeps the right to write.',
  ],
  operands: [],
  flags: [
    { name: 'from', value: 'oldest|genesis|OFFSET', doc: 'where an empty schema begins; default oldest' },
    { name: 'to', value: 'end|OFFSET', doc: 'last offset to store; default end' },
  ],
  examples: ['backfill', 'backfill --from 0 --to 120000', 'backfill --postgres-schema march --from 5000 --to 9000'],
  exits: [
    [0, 'everything up to --to is stored'],
    [69, 'the ledger or the database could not be reached for INDEXER_PROGRESS_TIMEOUT'],
    [75, 'another indexer kept the right to write for INDEXER_PROGRESS_TIMEOUT'],
    [78, 'refused, because it would leave a gap or come before what is stored; or the configuration is wrong'],
  ],
  alone: true,
  /**
   * Stores everything after --from up to --to, then resolves.
   * @throws IndexerError BACKFILL_REFUSED (exit 78) when the schema holds a stretch that begins elsewhere; what `run` throws
   */
  run: async ({ given, env, stop }) => {
    const { from, to } = rangeOf(given);
    const { values, problems } = given.options;
    const flags = { problems, values: new Map([...values, ['start', from], ['stop-at', to]]) };
    const config = loadConfig(env, flags);
    const { start } = config.indexer;
    if (start === 'seed') throw fromMisused(from);
    if (config.database.url !== undefined) {
      const { readFirstRange } = await import('../../store/history/coverage-ranges.ts');
      const first = await withAnyDatabase(config, { command: 'backfill', feature: 'backfill' }, readFirstRange);
      if (first !== undefined) refuseOtherBeginning(start, first, config.database.schema);
    }
    const { runIndexer } = await import('./run-indexer.ts');
    await runIndexer(flags, env, stop);
  },
};

const usage = 'ledger-indexer backfill [--from oldest|genesis|OFFSET] [--to end|OFFSET]';

function rangeOf(given: Given): { readonly from: string; readonly to: string } {
  const [from, to] = [given.text('from') ?? 'oldest', given.text('to') ?? 'end'];
  // Said in the words that were used: the configuration knows them as --start and --stop-at.
  if (!/^(?:oldest|genesis|\d+)$/.test(from)) throw fromMisused(from);
  if (!/^(?:end|\d+)$/.test(to)) throw misuse(`--to takes end or an offset, found ${JSON.stringify(to)}`, usage);
  return { from, to };
}

function fromMisused(from: string): IndexerError {
  return misuse(`--from takes oldest, genesis or an offset, found ${JSON.stringify(from)}`, usage);
}

/** A stream is one stretch: only what began as is asked for now can go on as if it had never stopped. */
function refuseOtherBeginning(start: 'genesis' | 'oldest' | number, first: FirstRange, schema: string): void {
  if (typeof start === 'number' ? first.from === start && first.origin !== 'seed' : first.origin === start) return;
  const asked =
    typeof start === 'number' ? `offset ${String(start)}` : `the ${start === 'oldest' ? 'oldest offset' : 'genesis'}`;
  const why =
    typeof start === 'number' && start > first.from
      ? 'going on from there would leave a gap or nothing to do'
      : 'history cannot be put before what is stored: contracts and rollups are built upwards';
  throw new IndexerError(
    `schema "${schema}" begins at offset ${String(first.from)} (${first.origin}), asked for ${asked}: ${why}`,
    {
      code: 'BACKFILL_REFUSED',
      remedy:
        'give it a schema of its own: ledger-indexer backfill --postgres-schema NAME …; ' +
        'to go on from the checkpoint to an offset: ledger-indexer run --stop-at OFFSET',
    },
  );
}
