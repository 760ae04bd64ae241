/** Table `filter_interfaces`: whose views are wanted, and from where on they are here. */
import type { ClientBase } from 'pg';
import type { WantedInterface } from '../../model/stream.ts';
import { assertEpoch } from './stream-row.ts';

/** What is stored, by id. */
export async function wantedInterfaces(client: ClientBase): Promise<readonly WantedInterface[]> {
  const { rows } = await client.query<WantedInterface>(
    'select interface_id as id, complete_from as "completeFrom" from filter_interfaces order by interface_id',
  );
  return rows;
}

/**
 * These are wanted now, and no others. Part of the caller's transaction.
 * @throws IndexerError CHECKPOINT_MOVED (fenced) when the epoch is not in force any more
 */
export async function noteInterfaces(
  client: ClientBase,
  epoch: number,
  wanted: readonly WantedInterface[],
): Promise<void> {
  await assertEpoch(client, epoch);
  const ids = wanted.map(({ id }) => id);
  await client.query('delete from filter_interfaces where interface_id <> all ($1)', [ids]);
  await client.query(
    `insert into filter_interfaces (interface_id, complete_from) select * from unnest($1::text[], $2::bigint[])
     on conflict (interface_id) do update set complete_from = excluded.complete_from, noted_at = now()
      where filter_interfaces.complete_from is distinct from excluded.complete_from`,
    [ids, wanted.map(({ completeFrom }) => completeFrom)],
  );
}
