/**
 * Replaces the filter in force. History stays unchanged, and `coverage` records the offset from which the new filter
 * applies.
 */
import type { StreamIdentity } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { tablesOf, type Change } from '../connection/query-builder.ts';
import { openRange } from './coverage-ranges.ts';
import { recordFilterParts } from './filter-parts.ts';
import { lockStream, maintain, refusalError } from './maintenance.ts';
import { dropFilterExtension } from './filter-extension.ts';

export interface FilterChange {
  readonly identity: StreamIdentity;
  /** Reason of the change, for table `coverage`. */
  readonly reason: string;
  /**
   * Whether everything that was visible stays visible under the new filter. If false, the newest update can no longer
   * be used to compare histories.
   */
  readonly allVisible: boolean;
  readonly writer: string;
}

/**
 * Closes the range of the filter in force at the checkpoint, opens a range of the new filter, and raises the epoch.
 * Only the holder of the writer lock calls it. Resolves to the checkpoint.
 * @throws IndexerError FILTER_ACCEPT_REFUSED
 */
export function acceptFilter(database: Database, change: FilterChange): Promise<number> {
  const { identity, reason, allVisible: isAllVisible, writer } = change;
  return maintain(database, async (client) => {
    const stream = await lockStream(client);
    if (stream?.checkpoint === undefined || stream.checkpoint === null || !stream.seeded) {
      const hasSeedContracts = stream !== undefined && stream.seedContracts > 0;
      const remedy = hasSeedContracts
        ? 'begin the seed again under the configured filter: ledger-indexer reset --all --yes'
        : 'start the indexer: it uses the configured filter';
      throw refusalError('filter accept', 'nothing is published in this schema yet', remedy);
    }
    const { checkpoint } = stream;
    const { filter, filterHash, shape } = identity;
    await openRange(client, checkpoint, { from: checkpoint, origin: 'filter', filterHash, shape, reason });
    await recordFilterParts(client, stream, filter, { from: checkpoint, completeFrom: null });
    await dropFilterExtension(client, database.schema);
    const markChange: Change<'stream'> = isAllVisible
      ? {}
      : { checkpoint_update_offset: null, checkpoint_update_id: null };
    await tablesOf(client)
      .updateTable('stream')
      .set({ filter, filter_hash: filterHash, transaction_shape: shape, filter_extended_from: [], writer })
      .set(markChange)
      .set('epoch', (e) => e('epoch', '+', 1))
      .execute();
    return checkpoint;
  });
}
