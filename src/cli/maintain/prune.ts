/** `prune --before …`: removes old history from the database; shows what would go unless told to do it. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import { planPrune, prune, type PrunedTable, type PrunePlan } from '../../store/retention/prune.ts';
import type { PruneBefore } from '../../store/retention/prune-target.ts';
import { parse } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { commandNamed } from '../table/command-table.ts';
import { withDatabase } from '../database/with-database.ts';

const usage =
  'ledger-indexer prune --before OFFSET|TIME|AGE [--yes] [--json], e.g. --before 120000, --before 2026-01-31T00:00:00Z, --before 90d';

/** Reading whole tables takes long where history is long. */
const statementTimeoutMs = 60 * 60_000;

interface Arguments {
  readonly before: PruneBefore;
  readonly yes: boolean;
  readonly json: boolean;
}

/**
 * Ends at the signal with what was done so far; the next prune goes on.
 * @throws IndexerError USAGE, NOTHING_TO_PRUNE, PRUNE_STOPPED, STORE_NOT_PERMITTED
 */
export async function pruneCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  stop: AbortSignal,
  write: (line: string) => void,
): Promise<void> {
  const words = parse(commandNamed('prune'), argv);
  const before = words.text('before');
  if (before === undefined) throw wrong('prune needs --before');
  const given = { before: beforeOf(before, Date.now()), yes: words.has('yes'), json: words.has('json') };
  const opening = { command: 'prune', remedy: 'name the database, as a role that may delete', statementTimeoutMs };
  await withDatabase(loadConfig(words.options, env), opening, (database) =>
    given.yes ? carryOut(database, given, stop, write) : preview(database, given, write),
  );
}

async function preview(database: Database, { before, json }: Arguments, write: (line: string) => void): Promise<void> {
  const plan = await planPrune(database, before);
  if (json) return write(JSON.stringify({ dryRun: true, ...plan }));
  const { boundary, checkpoint, keptOffset } = plan;
  write(`updates up to and including offset ${boundary} would go; contracts active there stay, with their creates`);
  write(`checkpoint ${checkpoint}, pruned so far ${keptOffset === null ? 'nothing' : `up to ${keptOffset}`}`);
  for (const line of tableLines(plan.tables)) write(line);
  write(historyLine(plan));
  if (plan.quarantined > 0) write(`${plan.quarantined} updates in quarantine stay: see ledger-indexer quarantine list`);
  write('nothing was changed; add --yes to do it');
}

function historyLine({ oldestAfter, boundary }: PrunePlan): string {
  return oldestAfter === null
    ? `no update is later: history would begin after offset ${boundary}`
    : `the oldest update after that is at offset ${oldestAfter}`;
}

async function carryOut(
  database: Database,
  { before, json }: Arguments,
  stop: AbortSignal,
  write: (line: string) => void,
): Promise<void> {
  const result = await prune(database, before, { stop });
  if (json) write(JSON.stringify({ dryRun: false, ...result }));
  else {
    write(`pruned up to and including offset ${result.boundary}, in ${result.batches} transactions`);
    for (const line of tableLines(result.tables)) write(line);
  }
  if (result.finished) return;
  throw new IndexerError('stopped before everything was removed', {
    code: 'PRUNE_STOPPED',
  });
}

function tableLines(tables: readonly PrunedTable[]): readonly string[] {
  return tables.map(({ table, rows, bytes }) => {
    const size = bytes === undefined ? '' : `  about ${megabytes(bytes)} MB`;
    return `  ${table.padEnd(16)} ${String(rows).padStart(12)} rows${size}`;
  });
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1).padStart(10);
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** An offset, a time with its zone, or an age such as 90d. */
function beforeOf(given: string, now: number): PruneBefore {
  if (/^\d{1,15}$/.test(given)) return { offset: Number(given) };
  const age = /^(\d{1,6})([mhdw])$/.exec(given);
  if (age !== null) return { time: new Date(now - Number(age[1]) * (unitMs[age[2] ?? ''] ?? 0)) };
  // Without a zone the time would mean something else on every machine.
  const time = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(given);
  if (time && !Number.isNaN(Date.parse(given))) return { time: new Date(given) };
  throw wrong(`"${given.slice(0, 80)}" is no offset, no time with its zone and no age`);
}

function wrong(found: string): IndexerError {
  return misuse(found, usage);
}
