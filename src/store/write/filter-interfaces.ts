/** Table `filter_interfaces`: requested interfaces, each with the offset from which its views are stored. */
import type { ClientBase } from 'pg';
import type { RequestedInterface } from '../../model/stream.ts';
import { assertEpoch } from './stream-row.ts';

/** The stored interfaces, ordered by id. */
export async function readRequestedInterfaces(client: ClientBase): Promise<readonly RequestedInterface[]> {
  const { rows } = await client.query<RequestedInterface>(
    `select interface_id as id, state, complete_from as "completeFrom", unknown_at_offset as "unknownAt"
       from filter_interfaces order by interface_id`,
  );
  return rows;
}

/**
 * Replaces the requested interfaces. Runs in the caller's transaction. If an interface was requested before, the stored
 * start of its views stays: the background backfill may have changed it since the session read it.
 * @throws IndexerError WRITER_FENCED (fenced) if the epoch is no longer in force
 */
export async function storeFilterInterfaces(
  client: ClientBase,
  epoch: number,
  interfaces: readonly RequestedInterface[],
): Promise<void> {
  await assertEpoch(client, epoch);
  const ids = interfaces.map(({ id }) => id);
  await client.query('delete from filter_interfaces where interface_id <> all ($1)', [ids]);
  await client.query(
    `insert into filter_interfaces (interface_id, state, complete_from, unknown_at_offset)
     select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
     on conflict (interface_id) do update
        set state = excluded.state, unknown_at_offset = excluded.unknown_at_offset,
            complete_from = case when filter_interfaces.state = excluded.state
              then coalesce(filter_interfaces.complete_from, excluded.complete_from) else excluded.complete_from end,
            updated_at = case when filter_interfaces.state = excluded.state then filter_interfaces.updated_at else now() end
      where (filter_interfaces.state, filter_interfaces.complete_from, filter_interfaces.unknown_at_offset)
            is distinct from (excluded.state, excluded.complete_from, excluded.unknown_at_offset)`,
    [
      ids,
      interfaces.map(({ state }) => state),
      interfaces.map(({ completeFrom }) => completeFrom),
      interfaces.map(({ unknownAt }) => unknownAt),
    ],
  );
}
