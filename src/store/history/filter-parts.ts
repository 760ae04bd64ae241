/**
 * Table `filter_additions`: additions to the filter of a running stream, each with the offset from which it is
 * complete.
 */
import type { ClientBase } from 'pg';
import { addedParts, canAddContracts, parseFilter, filterEntries } from '../../model/stream.ts';
import { openRange } from './coverage-ranges.ts';
import type { StreamFacts } from './maintenance.ts';

/** Where the added parts of a filter begin. */
export interface FilterPartsStart {
  /** Exclusive: updates after this offset are requested with the added parts. */
  readonly from: number;
  /** Contracts active at this offset are stored; null if they are missing for now. */
  readonly completeFrom: number | null;
}

/**
 * Stores parts that the stream's filter did not have, and deletes parts that it no longer has. Runs in the caller's
 * transaction.
 * @returns true if contracts that were active before may be missing for some part
 */
export async function recordFilterParts(
  client: ClientBase,
  { filter: previousFilter }: Pick<StreamFacts, 'filter'>,
  filter: string,
  { from, completeFrom }: FilterPartsStart,
): Promise<boolean> {
  const widerFilter = parseFilter(filter);
  const keptParts = filterEntries(widerFilter);
  await client.query(
    `delete from filter_additions p
      where not exists (select from unnest($1::text[], $2::text[]) k (kind, name) where k.kind = p.kind and k.name = p.name)`,
    [keptParts.map(({ kind }) => kind), keptParts.map(({ name }) => name)],
  );
  const newParts = addedParts(parseFilter(previousFilter), widerFilter);
  const needsContracts = newParts.map((filterPart) => canAddContracts(filterPart, widerFilter));
  await client.query(
    `insert into filter_additions (kind, name, from_offset, complete_from)
     select kind, name, $3, case when lacks then $4::bigint else $3 end
       from unnest($1::text[], $2::text[], $5::boolean[]) p (kind, name, lacks)
     on conflict (kind, name) do update
       set from_offset = excluded.from_offset, complete_from = excluded.complete_from, updated_at = now()`,
    [newParts.map(({ kind }) => kind), newParts.map(({ name }) => name), from, completeFrom, needsContracts],
  );
  return needsContracts.includes(true);
}

/**
 * Resets the additions to an offset: additions that begin later now begin at this offset, without the contracts active
 * at that time.
 */
export async function truncateFilterParts(client: ClientBase, at: number): Promise<void> {
  await client.query(
    `update filter_additions
        set from_offset = least(from_offset, $1), complete_from = case when complete_from <= $1 then complete_from end
      where from_offset > $1 or complete_from > $1`,
    [at],
  );
}

/** Records that the contracts of all added parts are stored from an offset on. Runs in the caller's transaction. */
export async function completeFilterParts(
  client: ClientBase,
  { filterHash, shape }: StreamFacts,
  at: number,
): Promise<void> {
  const updatedParts = await client.query('update filter_additions set complete_from = $1 where complete_from > $1', [
    at,
  ]);
  await client.query('update filter_additions set complete_from = $1 where complete_from is null', [at]);
  const { rowCount } = await client.query(
    `update coverage set complete = true where from_offset = $1 and origin = 'filter-extend'`,
    [at],
  );
  // The list has a later offset for one of two reasons. The participant had pruned past the offset at which the filter
  // was extended, or the stream was reset to before that offset. If contracts were already known from a later offset,
  // the history job is reading them and records this at its end.
  if ((updatedParts.rowCount ?? 0) > 0) return;
  const reason = 'contracts active under the extended filter are known from here on';
  if (rowCount === 0) await openRange(client, at, { from: at, origin: 'filter-extend', filterHash, shape, reason });
  await client.query(
    `update filter_interfaces set complete_from = $1, updated_at = now() where state = 'followed' and complete_from is null`,
    [at],
  );
}
