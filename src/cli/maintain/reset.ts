/** `reset --to OFFSET` and `reset --all`: the stream goes back, or starts over; without `--yes` only says what would go. */
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import type { StreamIdentity } from '../../model/stream.ts';
import type { Config } from '../../config/config.ts';
import type { Database } from '../../store/connection/database.ts';
import { emptyHistory, planEmpty, planReset, resetTo } from '../../store/history/reset.ts';
import { asWriter, countLines, maintenanceArguments, withStream, writerName } from '../database/maintenance.ts';
import { misuse } from '../command-line/refusals.ts';

const usage = 'usage: ledger-indexer reset (--to OFFSET | --all) [--yes]';

/** @throws IndexerError RESET_REFUSED, WRITER_ACTIVE, USAGE, CONFIGURATION_INVALID */
export async function resetCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  write: (line: string) => void,
): Promise<void> {
  const { config, yes, given } = maintenanceArguments('reset', argv, env);
  const to = given.text('to');
  if ((to === undefined) === !given.has('all')) throw misuse('reset needs either --to or --all', usage);
  await withStream(config, 'reset', async (database) => {
    if (to === undefined) await all(database, config, yes, write);
    else await back(database, offsetOf(to), yes, write);
  });
}

function offsetOf(text: string): number {
  const offset = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(offset)) return offset;
  throw misuse(`"${text.slice(0, 40)}" is no offset`, usage);
}

async function back(database: Database, to: number, yes: boolean, write: (line: string) => void): Promise<void> {
  const command = `reset --to ${String(to)} --yes`;
  if (!yes) {
    const counts = await planReset(database, to);
    write(`going back to offset ${String(to)} would remove from schema "${database.schema}":`);
    for (const line of countLines(counts)) write(line);
    write(`nothing was changed; with the indexer stopped or parked, run: ledger-indexer ${command}`);
    return;
  }
  const removed = await asWriter(database, command, () => resetTo(database, to, writerName));
  write(`the checkpoint of schema "${database.schema}" is ${String(to)} again; removed:`);
  for (const line of countLines(removed)) write(line);
  write('a parked indexer follows from there within a minute, a stopped one when it is started');
}

async function all(database: Database, config: Config, yes: boolean, write: (line: string) => void): Promise<void> {
  const command = 'reset --all --yes';
  if (!yes) {
    write(`starting over would remove from schema "${database.schema}":`);
    for (const line of countLines(await planEmpty(database))) write(line);
    write(`nothing was changed; with the indexer stopped or parked, run: ledger-indexer ${command}`);
    return;
  }
  await asWriter(database, command, () => emptyHistory(database, anyParticipant(config), writerName));
  write(`schema "${database.schema}" is empty; start the indexer: it seeds, from whatever LEDGER_URL names then`);
}

/** A stream of this configuration before it knows its participant. */
export function anyParticipant({ ledger }: Config): StreamIdentity {
  const { json, hash } = filterFingerprint(ledger);
  return { participantId: undefined, filter: json, filterHash: hash, shape: ledger.shape };
}
