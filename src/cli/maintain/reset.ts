/**
 * `reset --to OFFSET` and `reset --all`: rewinds the stream, or deletes all history. Without `--yes` it only prints the
 * plan.
 */
import { loadConfig, type Config } from '../../config/config.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import type { Database } from '../../store/connection/database.ts';
import type { StreamIdentity } from '../../model/stream.ts';
import { writeExitCodes, yesFlag, type Command, type PrintLine } from '../command-line/command.ts';
import { usageError } from '../command-line/refusals.ts';
import { withWriterLock, countLines, withStream, writerName } from '../database/maintenance.ts';

export const resetCommand: Command = {
  name: 'reset',
  usage: '(--to OFFSET | --all) [--yes]',
  summary: 'delete history above --to OFFSET, or all history with --all',
  does: [
    'Run it with the indexer stopped or parked. The indexer continues from the offset that is left; after --all it seeds.',
    'Without --yes it counts the rows that it would delete, by table.',
  ],
  operands: [],
  flags: [
    { name: 'to', value: 'OFFSET', doc: 'last offset to keep' },
    { name: 'all', doc: 'delete all but packages, names of typed views, labels and redactions' },
    yesFlag,
  ],
  examples: ['reset --to 120000', 'reset --all --yes'],
  exits: writeExitCodes,
  page: 'docs/how-to/change/rewind.md',
  /** @throws IndexerError RESET_REFUSED, WRITER_ACTIVE, USAGE, CONFIGURATION_INVALID */
  run: async ({ args, env, stop, print }) => {
    const config = loadConfig(env, args.options);
    const to = args.text('to');
    if ((to === undefined) === !args.has('all')) throw usageError('reset needs either --to or --all', usage);
    const request = { config, yes: args.has('yes'), stop };
    await withStream(config, request.yes ? 'reset --yes' : 'reset', async (database) => {
      if (to === undefined) await resetAll(database, request, print);
      else await resetToEarlier(database, offsetOf(to), request, print);
    });
  },
};

const usage = 'usage: ledger-indexer reset (--to OFFSET | --all) [--yes]';

function offsetOf(text: string): number {
  const offset = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(offset)) return offset;
  throw usageError(`"${text.slice(0, 40)}" is not an offset`, usage);
}

interface ResetRequest {
  readonly config: Config;
  /** Whether to make the change; otherwise the plan is printed. */
  readonly yes: boolean;
  readonly stop: AbortSignal;
}

async function resetToEarlier(
  database: Database,
  to: number,
  { yes: isConfirmed, ...context }: ResetRequest,
  print: PrintLine,
): Promise<void> {
  const { planReset, resetTo: resetToOffset } = await import('../../store/history/reset.ts');
  const command = `reset --to ${String(to)} --yes`;
  if (!isConfirmed) {
    const counts = await planReset(database, to);
    print(`rewinding to offset ${String(to)} would delete from schema "${database.schema}":`);
    for (const line of countLines(counts)) print(line);
    const { lackLines: historyLossLines } = await import('./participant-lacks.ts');
    for (const line of await historyLossLines(database, { ...context, keptTo: to })) print(line);
    print(`nothing was changed; with the indexer stopped or parked, run: ledger-indexer ${command}`);
    return;
  }
  const deletedCounts = await withWriterLock(database, command, () => resetToOffset(database, to, writerName));
  print(`the checkpoint of schema "${database.schema}" is ${String(to)} again; deleted:`);
  for (const line of countLines(deletedCounts)) print(line);
  print('a parked indexer follows from there within seconds, a stopped one when it is started');
}

async function resetAll(
  database: Database,
  { yes: isConfirmed, ...context }: ResetRequest,
  print: PrintLine,
): Promise<void> {
  const { emptyHistory, planEmpty } = await import('../../store/history/reset.ts');
  const command = 'reset --all --yes';
  if (!isConfirmed) {
    print(`this would delete from schema "${database.schema}":`);
    for (const line of countLines(await planEmpty(database))) print(line);
    const { lackLines: historyLossLines } = await import('./participant-lacks.ts');
    for (const line of await historyLossLines(database, context)) print(line);
    print(`nothing was changed; with the indexer stopped or parked, run: ledger-indexer ${command}`);
    return;
  }
  await withWriterLock(database, command, () =>
    emptyHistory(database, identityOfAnyParticipant(context.config), writerName),
  );
  print(`schema "${database.schema}" is empty; start the indexer: it seeds from the participant at LEDGER_URL`);
}

/** The identity of a stream with this configuration before its participant is known. */
export function identityOfAnyParticipant({ ledger }: Config): StreamIdentity {
  const { json, hash } = filterFingerprint(ledger);
  return { participantId: undefined, filter: json, filterHash: hash, shape: ledger.shape };
}
