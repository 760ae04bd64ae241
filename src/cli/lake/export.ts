/** `export`: writes history as Parquet files for other engines. */
import { setFlagsFromString } from 'node:v8';
import { loadConfig } from '../../config/config.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import type { Database } from '../../store/connection/database.ts';
import { json, type Call, type Command } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { withDatabase } from '../database/with-database.ts';
import { loadLake, withLake } from './lake-package.ts';

const usage = '--to DIR [--until OFFSET|now] [--views GLOB…] [--follow] [--hold NAME] [--json]';

export const exportCommand: Command = {
  name: 'export',
  usage,
  summary: 'write history as Parquet for DuckDB, Spark, Trino or ClickHouse',
  does: [
    'Writes one folder per table. Run it again to add new history; it also resumes after it was killed. It reads one snapshot',
    'and writes nothing to the database, which may be a standby. Rows that were redacted, arrived late or were undone by',
    '`reset` are rewritten. manifest.json lists the files, each table has a Delta Lake log, and active.sql selects the active',
    'contracts.',
  ],
  operands: [],
  flags: [
    { name: 'to', value: 'DIR', doc: 'target folder, created if missing, or s3://BUCKET/PREFIX' },
    { name: 'until', value: 'OFFSET|now', doc: 'last offset to export; default now: the checkpoint' },
    {
      name: 'views',
      value: 'GLOB',
      list: true,
      doc: "also export typed views or your own projections, such as 'typed.*' or 'derived.*'",
    },
    { name: 'follow', doc: 'continue as the checkpoint advances, until stopped' },
    { name: 'interval', value: 'SECONDS', doc: 'with --follow: time between two checks; default 60' },
    { name: 'hold', value: 'NAME', doc: 'block pruning of history that is not exported yet; see `hold`' },
    json,
  ],
  examples: [
    'export --to /srv/lake',
    "export --to /srv/lake --until 120000 --views 'typed.*'",
    'export --to /srv/lake --follow --hold lake',
    'export --to s3://archive/lake',
  ],
  exits: [
    [2, 'wrong arguments'],
    [69, 'the database cannot be reached'],
    [75, 'stopped, or another export writes to the folder; run it again'],
    [77, 'the role may not read the tables'],
    [78, 'the folder is not an export or is of another participant or filter, or the offset is after the checkpoint'],
  ],
  page: 'docs/how-to/integrate/parquet-export.md',
  /**
   * @throws IndexerError USAGE, CONFIGURATION_INVALID, EXPORT_PACKAGE_MISSING, EXPORT_ errors, HOLD_REFUSED, STORE_
   * errors
   */
  run: async ({ args, env, stop, print, stderr }) => {
    const request = requestOf(args);
    await loadLake();
    limitHeapGrowth();
    const feature = request.hold === undefined ? 'export' : 'export --hold';
    const openOptions = {
      command: 'export',
      feature,
      statementTimeoutMs,
      idleInTransactionMs: statementTimeoutMs,
    } as const;
    await withDatabase(loadConfig(env, args.options), openOptions, (database) =>
      exportInto(database, request, { env, stop, print, stderr }, args.has('json')),
    );
    return ExitCode.stopped;
  },
};

/**
 * Limits the memory of V8's new objects. Millions of rows pass through. By default, the space for new objects grows to
 * three times 16 MB, filled with rows that are already written. With this setting it stays small: a third less memory
 * with the same CPU time.
 */
function limitHeapGrowth(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** A snapshot may be read for up to a week. */
const statementTimeoutMs = 7 * 24 * 60 * 60_000;

interface ExportRequest {
  readonly to: string;
  readonly until: number | undefined;
  readonly isWanted: (name: string) => boolean;
  /** Time between two checks of the checkpoint, in milliseconds; undefined: export once. */
  readonly everyMs: number | undefined;
  readonly hold: string | undefined;
}

function requestOf(args: Args): ExportRequest {
  const to = args.text('to');
  if (to === undefined || to === '') throw commandUsageError('export needs --to DIR');
  const untilText = args.text('until') ?? 'now';
  if (untilText !== 'now' && !isOffset(untilText))
    throw commandUsageError(`--until takes an offset or now, found "${untilText.slice(0, 80)}"`);
  const follow = args.has('follow');
  if (follow && untilText !== 'now') throw commandUsageError('--follow has no end: remove --until');
  const intervalText = args.text('interval') ?? '60';
  if (!/^[1-9]\d{0,5}$/.test(intervalText))
    throw commandUsageError(`--interval takes seconds, found "${intervalText.slice(0, 80)}"`);
  return {
    to,
    until: untilText === 'now' ? undefined : Number(untilText),
    isWanted: globMatcher(args.texts('views')),
    everyMs: follow ? Number(intervalText) * 1000 : undefined,
    hold: args.text('hold'),
  };
}

function isOffset(text: string): boolean {
  return /^\d+$/.test(text) && Number.isSafeInteger(Number(text));
}

function globMatcher(globs: readonly string[]): (name: string) => boolean {
  for (const glob of globs) {
    if (!/^(?:typed|derived)\.[\w$*?]+$/.test(glob))
      throw commandUsageError(`--views takes typed.NAME and derived.NAME with * and ?, found "${glob.slice(0, 80)}"`);
  }
  const patterns = globs.map((glob) => {
    const pattern = glob
      .replaceAll(/[.$]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.');
    return new RegExp(`^${pattern}$`);
  });
  return (name) => patterns.some((pattern) => pattern.test(name));
}

function commandUsageError(message: string) {
  return usageError(message, `ledger-indexer export ${usage}`);
}

async function exportInto(
  database: Database,
  { to, until, isWanted, everyMs, hold }: ExportRequest,
  { env, stop, print, stderr }: Pick<Call, 'env' | 'stop' | 'print' | 'stderr'>,
  asJson: boolean,
): Promise<void> {
  const { readsOf } = await import('../../store/exported/snapshot.ts');
  const callbacks = {
    onBegin: async () => (hold === undefined ? undefined : beginHold(database, hold)),
    onExported: async (offset: number) => (hold === undefined ? undefined : moveHold(database, hold, offset)),
  };
  const request = { to, until, isWanted, everyMs, asJson, env, stop, print, stderr, ...callbacks };
  await withLake((lake) => lake.exportLake(readsOf(database), request));
}

/** Places the hold, so that nothing is pruned while the first export runs. */
async function beginHold(database: Database, name: string): Promise<void> {
  const { listHolds, placeHold } = await import('../../store/retention/holds.ts');
  if ((await listHolds(database)).some((hold) => hold.name === name)) return;
  await placeHold(database, { name, offset: undefined, reason: 'nothing is exported yet' });
}

async function moveHold(database: Database, name: string, offset: number): Promise<void> {
  const { placeHold } = await import('../../store/retention/holds.ts');
  await placeHold(database, { name, offset, reason: 'exported up to here', fromFirst: true });
}
