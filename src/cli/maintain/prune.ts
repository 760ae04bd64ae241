/** `prune --before …`: deletes old history from the database. Without `--yes` it only counts the rows. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import type { PrunedTable, PrunePlan } from '../../store/retention/prune.ts';
import type { PruneBefore } from '../../store/retention/prune-target.ts';
import { aligned, fixedWidthColumn, numbers } from '../command-line/aligned.ts';
import { json, writeExitCodes, yesFlag, type Call, type Command, type PrintLine } from '../command-line/command.ts';
import { historyBound } from '../command-line/history-bound.ts';
import { usageError } from '../command-line/refusals.ts';
import type { Exported } from 'ledger-indexer-lake/lookup/exported';
import { loadLake, withLake } from '../lake/lake-package.ts';
import { withDatabase } from '../database/with-database.ts';

export const pruneCommand: Command = {
  name: 'prune',
  usage: '--before OFFSET|TIME|AGE [--exported DIR] [--yes] [--json]',
  summary: 'delete history before an offset, a time or an age',
  does: [
    'Without --yes it counts the rows that it would delete, by table. Contracts active at the offset stay. With --exported it',
    'deletes only history that the export in that folder contains in its current form.',
  ],
  operands: [],
  flags: [
    { name: 'before', value: 'OFFSET|TIME|AGE', doc: 'e.g. 120000, 2026-01-31T00:00:00Z, 90d' },
    {
      name: 'exported',
      value: 'DIR',
      doc: 'prune only history in this export: folder or s3://BUCKET/PREFIX',
    },
    yesFlag,
    json,
  ],
  examples: ['prune --before 90d', 'prune --before 120000 --yes', 'prune --before 90d --exported /srv/lake --yes'],
  exits: writeExitCodes,
  page: 'docs/how-to/change/prune.md',
  /**
   * On a signal, ends after the current transaction; the next prune continues.
   * @throws IndexerError USAGE, NOTHING_TO_PRUNE, PRUNE_STOPPED, EXPORT_PACKAGE_MISSING, EXPORT_REFUSED,
   * STORE_NOT_PERMITTED
   */
  run: async ({ args, env, stop, print }) => {
    const before = args.text('before');
    if (before === undefined) throw commandUsageError('prune needs --before');
    const request = {
      before: parsePruneBefore(before, Date.now()),
      lake: args.text('exported'),
      json: args.has('json'),
    };
    if (request.lake !== undefined) await loadLake();
    const openOptions = { command: 'prune', feature: 'prune', statementTimeoutMs } as const;
    await withDatabase(loadConfig(env, args.options), openOptions, async (database) => {
      const boundedRequest = await boundByLake(database, request, env);
      await (args.has('yes')
        ? runPrune(database, boundedRequest, stop, print)
        : preview(database, boundedRequest, print));
    });
  },
};

const usage =
  'ledger-indexer prune --before OFFSET|TIME|AGE [--exported DIR] [--yes] [--json], e.g. --before 120000, --before 2026-01-31T00:00:00Z, --before 90d';

/** Milliseconds. Entire tables are read, which takes long if the history is long. */
const statementTimeoutMs = 60 * 60_000;

interface PruneRequest {
  readonly before: PruneBefore;
  /** Folder of an export; undefined if history need not be exported. */
  readonly lake: string | undefined;
  readonly json: boolean;
}

interface BoundedPruneRequest extends Pick<PruneRequest, 'before' | 'json'> {
  /** The offset up to which the export has the history. */
  readonly exported: Exported | undefined;
}

async function boundByLake(
  database: Database,
  { before, lake, json }: PruneRequest,
  env: Call['env'],
): Promise<BoundedPruneRequest> {
  if (lake === undefined) return { before, json, exported: undefined };
  const { readsOf } = await import('../../store/exported/snapshot.ts');
  const exportState = await withLake(({ offsetInLake }) => offsetInLake(readsOf(database), lake, env));
  return { before: { ...before, exportedTo: exportState.offset }, json, exported: exportState };
}

async function preview(
  database: Database,
  { before, json, exported: exportState }: BoundedPruneRequest,
  print: PrintLine,
): Promise<void> {
  const { planPrune } = await import('../../store/retention/prune.ts');
  const plan = await planPrune(database, before);
  if (json) return print(JSON.stringify({ dryRun: true, ...plan, exported: exportState }));
  const { boundary, checkpoint, prunedToOffset } = plan;
  print(
    `updates up to and including offset ${boundary} would be deleted; contracts active there stay, with their creates`,
  );
  print(`checkpoint ${checkpoint}, pruned so far ${prunedToOffset === null ? 'nothing' : `up to ${prunedToOffset}`}`);
  for (const line of [...lakeLines(exportState), ...holdLines(plan), ...tableLines(plan.tables), historyLine(plan)])
    print(line);
  if (plan.quarantined > 0)
    print(`${plan.quarantined} updates in quarantine stay: run ledger-indexer quarantine list to see them`);
  print('nothing was changed; to delete the history, add --yes');
}

function historyLine({ oldestRemaining, boundary }: PrunePlan): string {
  return oldestRemaining === null
    ? `there is no later update: history would begin after offset ${boundary}`
    : `the oldest update after that is at offset ${oldestRemaining}`;
}

function lakeLines(exportState: Exported | undefined): readonly string[] {
  if (exportState === undefined) return [];
  const { offset, reason } = exportState;
  const coverageText =
    offset < 0
      ? 'the export has none of the history in its current form'
      : `the export has everything up to offset ${String(offset)}`;
  return [reason === undefined ? coverageText : `${coverageText}; ${reason}`];
}

/** Lines that explain why a hold or another limit keeps the boundary before the requested one. */
function holdLines({ heldBy }: Pick<PrunePlan, 'heldBy'>): readonly string[] {
  if (heldBy === null) return [];
  const { name, offset, since, isFutureUpdate } = heldBy;
  return [
    `limited, because hold ${name} keeps history after offset ${String(offset)} since ${since.toISOString()}`,
    ...(isFutureUpdate === true
      ? ['later offsets have older updates: --before OFFSET prunes by offset and includes them']
      : []),
  ];
}

async function runPrune(
  database: Database,
  request: BoundedPruneRequest,
  stop: AbortSignal,
  print: PrintLine,
): Promise<void> {
  const { before, json, exported: exportState } = request;
  const { prune } = await import('../../store/retention/prune.ts');
  const result = await prune(database, before, { stop });
  if (json) print(JSON.stringify({ dryRun: false, ...result, exported: exportState }));
  else {
    print(`pruned up to and including offset ${result.boundary}, in ${result.batches} transactions`);
    for (const line of [...lakeLines(exportState), ...holdLines(result), ...tableLines(result.tables)]) print(line);
  }
  if (result.finished) return;
  throw new IndexerError('stopped before everything was removed', {
    code: 'PRUNE_STOPPED',
  });
}

function tableLines(tables: readonly PrunedTable[]): readonly string[] {
  const cells = tables.map(({ table, rows, bytes }) => {
    const size = bytes === undefined ? [] : ['', 'about', (bytes / 1_000_000).toFixed(1), 'MB'];
    return [table, String(rows), 'rows', ...size];
  });
  const columns = [fixedWidthColumn(16), numbers(12), {}, {}, {}, numbers(10)];
  return aligned(cells, { indent: 2, gap: 1, columns });
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Parses an offset, a time with a time zone, or an age such as 90d. */
function parsePruneBefore(text: string, now: number): PruneBefore {
  const age = /^(\d{1,6})([mhdw])$/.exec(text);
  if (age !== null) return { time: new Date(now - Number(age[1]) * (unitMs[age[2] ?? ''] ?? 0)) };
  const parsedBound = historyBound(text);
  if (parsedBound === undefined)
    throw commandUsageError(`"${text.slice(0, 80)}" is neither an offset, a time with its zone nor an age`);
  return 'offset' in parsedBound ? parsedBound : { time: new Date(parsedBound.time) };
}

function commandUsageError(message: string): IndexerError {
  return usageError(message, usage);
}
