/** The participant that is read, where it is not the one that the stream began with: its stretch, from table `hosts`. */
import type { ClientBase } from 'pg';
import type { HostStretch, StreamState } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { one, tablesOf } from '../connection/query-builder.ts';

/** The stretch that is being read; undefined while the stream was never moved. */
export async function currentHost(client: ClientBase): Promise<HostStretch | undefined> {
  const row = await tablesOf(client)
    .selectFrom('hosts')
    .select(['host as number', 'from_offset as from', 'shift', 'levels', 'common_offset', 'common_update_id'])
    .orderBy('host', 'desc')
    .limit(one)
    .executeTakeFirst();
  if (row === undefined || row.common_offset === null || row.common_update_id === null) return undefined;
  const { number, from, shift, levels, common_offset: theirs, common_update_id: updateId } = row;
  const common = { offset: theirs + shift, updateId };
  return { number, from, shift, levels: levels as Readonly<Record<string, number>>, common };
}

export function readHost(database: Database): Promise<HostStretch | undefined> {
  return database.withClient(currentHost);
}

/** What proves the history to the participant that is read now: of what others told it has offsets of its own. */
export function provenByHost<S extends Pick<StreamState, 'lastUpdate'>>(state: S, host: HostStretch | undefined) {
  const { lastUpdate } = state;
  const isFormer = host !== undefined && lastUpdate !== undefined && lastUpdate.offset <= host.from;
  return { ...state, lastUpdate: isFormer ? host.common : lastUpdate, host };
}
