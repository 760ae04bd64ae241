/** `accept-filter`: takes the configured filter into force from the checkpoint on; without `--yes` only compares. */
import type { Config } from '../../config/config.ts';
import { filterFingerprint } from '../../ledger/api/request-format.ts';
import type { Database } from '../../store/connection/database.ts';
import { acceptFilter } from '../../store/history/filter-change.ts';
import { readStream } from '../../store/history/maintenance.ts';
import { filterDifference, type FilterDifference } from './filter-difference.ts';
import { asWriter, maintenanceArguments, withStream, writerName } from '../database/maintenance.ts';

/** @throws IndexerError ACCEPT_FILTER_REFUSED, WRITER_ACTIVE, CONFIGURATION_INVALID */
export async function acceptFilterCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  write: (line: string) => void,
): Promise<void> {
  const { config, yes } = maintenanceArguments('accept-filter', argv, env);
  await withStream(config, 'accept-filter', (database) => accept(database, config, yes, write));
}

async function accept(database: Database, config: Config, yes: boolean, write: (line: string) => void): Promise<void> {
  const { json: filter, hash: filterHash } = filterFingerprint(config.ledger);
  const stream = await readStream(database);
  if (stream?.filterHash === filterHash) {
    write('the configured filter is the one in force: nothing to do');
    return;
  }
  const difference = filterDifference(stream?.filter ?? '{}', config.ledger);
  write(`the filter of schema "${database.schema}" and the configured one differ:`);
  for (const line of difference.lines) write(`  ${line}`);
  for (const line of consequences(difference)) write(line);
  if (!yes) {
    write('nothing was changed; with the indexer stopped or parked, run: ledger-indexer accept-filter --yes');
    return;
  }
  const identity = { participantId: undefined, filter, filterHash, shape: config.ledger.shape };
  const reason = `the operator accepted another filter: ${difference.lines.join('; ')}`;
  const change = { identity, reason, allVisible: !difference.narrows, writer: writerName };
  const checkpoint = await asWriter(database, 'accept-filter --yes', () => acceptFilter(database, change));
  write(`in force after offset ${String(checkpoint)}, recorded in table coverage; start the indexer with this filter`);
}

function consequences({ widens, narrows }: FilterDifference): readonly string[] {
  const lines: string[] = [];
  if (widens) {
    lines.push(
      'what only the configured filter shows is missing up to the checkpoint, contracts that are still active included;',
      'to have those as well, run instead: ledger-indexer reseed --keep-history',
    );
  }
  if (narrows) {
    lines.push(
      'what only the former filter shows stays stored and is followed no longer: its contracts stay as they are at the checkpoint',
    );
  }
  return lines;
}
