/** `backfill`: stores a bounded range of history. If it was killed, the next call resumes. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { FirstRange } from '../../store/history/coverage-ranges.ts';
import type { Command } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withAnyDatabase } from '../database/with-database.ts';

export const backfillCommand: Command = {
  name: 'backfill',
  usage: '[--from oldest|genesis|OFFSET] [--to end|OFFSET] [--option value …]',
  summary: 'store a bounded range of history, then exit',
  does: [
    'Like run, with an end: stores history from --from (default oldest: the first offset that is not pruned) up to and',
    'including --to (default end: the ledger end at the start), then exits with 0. Updates after --from are stored, so',
    '--from 100 starts with offset 101. If it is killed, the same command resumes. A schema holds one range without gaps:',
    'a range that would leave a gap or precede the stored history is rejected; use another POSTGRES_SCHEMA for it. If nothing',
    'can be stored for INDEXER_PROGRESS_TIMEOUT (10m), the command exits with the code of the failure, or with 75 if another',
    'indexer keeps the writer lock.',
  ],
  operands: [],
  flags: [
    { name: 'from', value: 'oldest|genesis|OFFSET', doc: 'start of an empty schema; default oldest' },
    { name: 'to', value: 'end|OFFSET', doc: 'last offset to store; default end' },
  ],
  examples: ['backfill', 'backfill --from 0 --to 120000', 'backfill --postgres-schema march --from 5000 --to 9000'],
  exits: [
    [0, 'everything up to --to is stored'],
    [69, 'ledger or database unreachable for INDEXER_PROGRESS_TIMEOUT'],
    [75, 'another indexer kept the writer lock for INDEXER_PROGRESS_TIMEOUT'],
    [78, 'the range would leave a gap or precede the stored history, or the configuration is invalid'],
  ],
  alone: true,
  /**
   * Stores all updates after --from up to --to, then resolves.
   * @throws IndexerError BACKFILL_REFUSED (exit 78) if the stored range starts elsewhere; errors of `run`
   */
  run: async ({ args, env, stop }) => {
    const { from, to } = rangeOf(args);
    const { values, problems } = args.options;
    const flags = { problems, values: new Map([...values, ['start', from], ['stop-at', to]]) };
    const config = loadConfig(env, flags);
    const { start } = config.indexer;
    if (start === 'seed') throw invalidFromError(from);
    if (config.database.url !== undefined) {
      const { readFirstRange } = await import('../../store/history/coverage-ranges.ts');
      const first = await withAnyDatabase(config, { command: 'backfill', feature: 'backfill' }, readFirstRange);
      if (first !== undefined) assertSameBeginning(start, first, config.database.schema);
    }
    const { runIndexer } = await import('./run-indexer.ts');
    await runIndexer(flags, env, stop);
  },
};

const usage = 'ledger-indexer backfill [--from oldest|genesis|OFFSET] [--to end|OFFSET]';

function rangeOf(args: Args): { readonly from: string; readonly to: string } {
  const [from, to] = [args.text('from') ?? 'oldest', args.text('to') ?? 'end'];
  // This is checked here, because the errors of the configuration would name --start and --stop-at instead of --from
  // and --to.
  if (!/^(?:oldest|genesis|\d+)$/.test(from)) throw invalidFromError(from);
  if (!/^(?:end|\d+)$/.test(to)) throw usageError(`--to takes end or an offset, found ${JSON.stringify(to)}`, usage);
  return { from, to };
}

function invalidFromError(from: string): IndexerError {
  return usageError(`--from takes oldest, genesis or an offset, found ${JSON.stringify(from)}`, usage);
}

/**
 * Refuses a stored range that begins elsewhere. A stream is one range without gaps, so the command can only resume from
 * the requested start.
 */
function assertSameBeginning(start: 'genesis' | 'oldest' | number, first: FirstRange, schema: string): void {
  if (typeof start === 'number' ? first.from === start && first.origin !== 'seed' : first.origin === start) return;
  const requestedStart =
    typeof start === 'number' ? `offset ${String(start)}` : `the ${start === 'oldest' ? 'oldest offset' : 'genesis'}`;
  const explanation =
    typeof start === 'number' && start > first.from
      ? 'this would leave a gap, or nothing to do'
      : 'history cannot be added before the stored history: contracts and rollups are built in order';
  throw new IndexerError(
    `schema "${schema}" begins at offset ${String(first.from)} (${first.origin}), requested ${requestedStart}: ${explanation}`,
    {
      code: 'BACKFILL_REFUSED',
      remedy:
        'use another schema: ledger-indexer backfill --postgres-schema NAME …; ' +
        'to continue from the checkpoint up to an offset: ledger-indexer run --stop-at OFFSET',
    },
  );
}
