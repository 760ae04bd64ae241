/**
 * `filter accept`: replaces the filter from the checkpoint on with the configured one. Without `--yes` it only compares
 * them.
 */
import type { Config } from '../../config/config.ts';
import { filterFingerprint, type RequestedFilter } from '../../ledger/api/request-format.ts';
import { differenceOf, type FilterDifference } from '../../store/write/filter-difference.ts';
import { parseFilter } from '../../model/stream.ts';
import type { Database } from '../../store/connection/database.ts';
import type { PrintLine } from '../command-line/command.ts';
import { withWriterLock, writerName } from '../database/maintenance.ts';

/** @throws IndexerError FILTER_ACCEPT_REFUSED, WRITER_ACTIVE */
export async function acceptConfiguredFilter(
  database: Database,
  config: Config,
  isConfirmed: boolean,
  print: PrintLine,
): Promise<void> {
  const { json: filter, hash: filterHash } = filterFingerprint(config.ledger);
  const { readStream } = await import('../../store/history/maintenance.ts');
  const stream = await readStream(database);
  if (stream?.filterHash === filterHash) {
    print('the configured filter is the one in force: nothing to do');
    return;
  }
  const { isUnused } = await import('../../store/write/filter-changed.ts');
  if (!isConfirmed && stream !== undefined && isUnused(stream)) {
    print('nothing is stored under the filter of a previous start: start the indexer, it uses the configured one');
    return;
  }
  const difference = filterDifference(stream?.filter ?? '{}', config.ledger);
  print(`the filter of schema "${database.schema}" and the configured one differ:`);
  for (const line of difference.lines) print(`  ${line}`);
  for (const line of changeWarnings(difference)) print(line);
  if (!isConfirmed) {
    print('nothing was changed; with the indexer stopped or parked, run: ledger-indexer filter accept --yes');
    return;
  }
  const identity = { participantId: undefined, filter, filterHash, shape: config.ledger.shape };
  const reason = `the operator accepted another filter: ${difference.lines.join('; ')}`;
  const { acceptFilter } = await import('../../store/history/filter-change.ts');
  const change = { identity, reason, allVisible: !difference.removes, writer: writerName };
  const checkpoint = await withWriterLock(database, 'filter accept --yes', () => acceptFilter(database, change));
  print(`in force after offset ${String(checkpoint)}, recorded in table coverage; start the indexer with this filter`);
}

function changeWarnings({ adds: hasAdditions, removes: hasRemovals }: FilterDifference): readonly string[] {
  const lines: string[] = [];
  if (hasAdditions) {
    lines.push(
      'data that only the configured filter selects is missing up to the checkpoint, including active contracts;',
      'to add its active contracts as well, run instead: ledger-indexer filter extend (while the indexer runs), or reseed',
    );
  }
  if (hasRemovals) {
    lines.push(
      'data that only the previous filter selects stays stored but is no longer followed: its contracts stay as they are at the checkpoint',
    );
  }
  return lines;
}

/** @param storedJson the filter of the stream row, as JSON */
export function filterDifference(storedJson: string, configuredFilter: RequestedFilter): FilterDifference {
  return differenceOf(JSON.parse(storedJson) as object, parseFilter(filterFingerprint(configuredFilter).json));
}
