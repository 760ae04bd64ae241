/** `backfill`: a bounded piece of history into an empty schema, or the rest of it after a kill. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { openDatabase } from '../../store/connection/database.ts';
import { readFirstRange, type FirstRange } from '../../store/history/coverage-ranges.ts';
import { parse } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { runCommand } from './run.ts';
import { commandNamed } from '../table/command-table.ts';

interface Stretch {
  readonly from: string;
  readonly to: string;
  /** For the configuration. */
  readonly rest: readonly string[];
}

const usage = 'ledger-indexer backfill [--from oldest|genesis|OFFSET] [--to end|OFFSET]';

/**
 * Stores everything after --from up to --to, then resolves.
 * @throws IndexerError BACKFILL_REFUSED (exit 78) when the schema holds a stretch that begins elsewhere; what `run` throws
 */
export async function backfillCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  stop: AbortSignal,
): Promise<void> {
  const { from, to, rest } = stretch(argv);
  const words = [...rest, `--start=${from}`, `--stop-at=${to}`];
  const { database, indexer } = loadConfig(words, env);
  if (indexer.start === 'seed') throw fromMisused(from);
  const { url, schema, statementTimeoutMs } = database;
  if (url !== undefined) {
    const stored = openDatabase({ url, schema, statementTimeoutMs, applicationName: 'ledger-indexer backfill' });
    try {
      const first = await readFirstRange(stored);
      if (first !== undefined) refuseOtherBeginning(indexer.start, first, schema);
    } finally {
      await stored.close();
    }
  }
  await runCommand(words, env, stop);
}

function stretch(argv: readonly string[]): Stretch {
  const given = parse(commandNamed('backfill'), argv);
  const [from, to] = [given.text('from') ?? 'oldest', given.text('to') ?? 'end'];
  // Said in the words that were used: the configuration knows them as --start and --stop-at.
  if (!/^(?:oldest|genesis|\d+)$/.test(from)) throw fromMisused(from);
  if (!/^(?:end|\d+)$/.test(to)) throw misuse(`--to takes end or an offset, found ${JSON.stringify(to)}`, usage);
  return { from, to, rest: given.options };
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
