/**
 * Handles a filter that differs from the stored one: accepts it if nothing would be lost, and otherwise refuses it with
 * the differences.
 */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { differenceOf } from './filter-difference.ts';
import { parseFilter, type StreamIdentity } from '../../model/stream.ts';

/** Progress of the stream under the stored filter. */
export interface SeedState {
  readonly seeded: boolean;
  readonly checkpoint: number | null;
  /** Number of contracts received by the seed that is in progress. */
  readonly seedContracts: number;
}

/**
 * Whether the stream can be used with a different configuration: nothing is published, and no entry of a seed is
 * stored.
 */
export function isUnused({ seeded, checkpoint, seedContracts }: SeedState): boolean {
  return !seeded && checkpoint === null && seedContracts === 0;
}

/** Makes the filter the filter in force of an unused stream. */
export async function storeFilter(client: ClientBase, { filter, filterHash, shape }: StreamIdentity): Promise<void> {
  await client.query(
    `update stream set filter = $1, filter_hash = $2, transaction_shape = $3, seed_offset = null, seed_token = null`,
    [filter, filterHash, shape],
  );
}

/** The differences between two filters, each in the format of the stream row, as one sentence. */
export function describeFilterChange(previousFilter: string, newFilter: string): string {
  const { lines } = differenceOf(JSON.parse(previousFilter) as object, parseFilter(newFilter));
  return lines.map((line) => (line.length > longestLine ? `${line.slice(0, longestLine)}…` : line)).join('; ');
}

const longestLine = 300;

/**
 * The error with the differences. Its remedy begins with the option that loses the least.
 * @param newFilter the configured filter, as it would be stored
 */
export async function filterChanged(
  client: ClientBase,
  stream: SeedState & { readonly filter: string },
  newFilter: string,
): Promise<IndexerError> {
  const { rows } = await client.query<{ stored: boolean }>(
    'select exists (select 1 from contracts) or exists (select 1 from updates) as stored',
  );
  const isEmpty = rows[0]?.stored !== true;
  const emptyNote = isEmpty ? ', under which nothing is stored' : '';
  return new IndexerError(
    `the configured filter or shape differs from the one of this schema${emptyNote}: ${describeFilterChange(stream.filter, newFilter)}`,
    { code: 'FILTER_CHANGED', remedy: remedy(stream.seeded, isEmpty) },
  );
}

function remedy(seeded: boolean, isEmpty: boolean): string {
  const restore = 'restore the previous LEDGER_* filter options';
  if (!seeded) return `${restore}; or begin the seed again under the new ones: ledger-indexer reset --all --yes`;
  const extend = `${restore} (after a rebuild: set those that it had), and add to them while it runs with ledger-indexer filter extend`;
  if (isEmpty) {
    return (
      'begin again under the configured filter, with the active contracts: ledger-indexer reset --all --yes; or ' +
      `${extend}; not filter accept, which omits contracts that were active at the checkpoint`
    );
  }
  return (
    `${extend}; or use the new ones from the checkpoint on, and read all active contracts again: ledger-indexer ` +
    'reseed --yes (without earlier active contracts: ledger-indexer filter accept --yes; with the complete history: ' +
    'ledger-indexer rebuild --yes)'
  );
}
