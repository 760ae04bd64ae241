/** Table `filter_additions`: what was added to the filter while the stream was there, and from where on it is complete. */
import type { ClientBase } from 'pg';
import { addedParts, bringsContracts, keptFilter, partsOf } from '../../model/stream.ts';
import type { StreamFacts } from './maintenance.ts';

/** How the new parts of a filter begin. */
export interface PartsBegin {
  /** Exclusive: updates after this offset are asked for with them. */
  readonly from: number;
  /** What was active at this offset is here; null: it is missing, at least for now. */
  readonly completeFrom: number | null;
}

/**
 * Notes what a filter has that the stream's had not, and forgets what it has no more. Part of the caller's transaction.
 * @returns whether any of it may lack contracts that were active before
 */
export async function noteParts(
  client: ClientBase,
  { filter: former }: Pick<StreamFacts, 'filter'>,
  filter: string,
  { from, completeFrom }: PartsBegin,
): Promise<boolean> {
  const wider = keptFilter(filter);
  const kept = partsOf(wider);
  await client.query(
    `delete from filter_additions p
      where not exists (select from unnest($1::text[], $2::text[]) k (kind, name) where k.kind = p.kind and k.name = p.name)`,
    [kept.map(({ kind }) => kind), kept.map(({ name }) => name)],
  );
  const added = addedParts(keptFilter(former), wider);
  const lacking = added.map((part) => bringsContracts(part, wider));
  await client.query(
    `insert into filter_additions (kind, name, from_offset, complete_from)
     select kind, name, $3, case when lacks then $4::bigint else $3 end
       from unnest($1::text[], $2::text[], $5::boolean[]) p (kind, name, lacks)
     on conflict (kind, name) do update
       set from_offset = excluded.from_offset, complete_from = excluded.complete_from, updated_at = now()`,
    [added.map(({ kind }) => kind), added.map(({ name }) => name), from, completeFrom, lacking],
  );
  return lacking.includes(true);
}

/** Goes back to an offset: what was added after it counts from there, without what was active then. */
export async function cutParts(client: ClientBase, at: number): Promise<void> {
  await client.query(
    `update filter_additions
        set from_offset = least(from_offset, $1), complete_from = case when complete_from <= $1 then complete_from end
      where from_offset > $1 or complete_from > $1`,
    [at],
  );
}
