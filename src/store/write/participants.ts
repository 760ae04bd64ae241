/** The current participant if the stream was switched to it: its range, from table `participants`. */
import type { ClientBase } from 'pg';
import type { ParticipantRange, StreamState } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { constantOne, tablesOf } from '../connection/query-builder.ts';

/** Range of the current participant; undefined if the stream never switched participants. */
export async function currentParticipant(client: ClientBase): Promise<ParticipantRange | undefined> {
  const row = await tablesOf(client)
    .selectFrom('participants')
    .select([
      'participant_number as number',
      'from_offset as from',
      'offset_shift as shift',
      'overlap_offsets as overlaps',
      'common_offset',
      'common_update_id',
    ])
    .orderBy('participant_number', 'desc')
    .limit(constantOne)
    .executeTakeFirst();
  if (row === undefined || row.common_offset === null || row.common_update_id === null) return undefined;
  const { number, from, shift, overlaps, common_offset: participantOffset, common_update_id: updateId } = row;
  const commonUpdate = { offset: participantOffset + shift, updateId };
  return { number, from, shift, overlaps: overlaps as Readonly<Record<string, number>>, common: commonUpdate };
}

export function readParticipant(database: Database): Promise<ParticipantRange | undefined> {
  return database.withClient(currentParticipant);
}

/**
 * Replaces the last update of a state by one with an offset of the current participant, for comparing histories:
 * updates of previous participants have other offsets there.
 */
export function withParticipantMark<S extends Pick<StreamState, 'lastUpdate'>>(
  state: S,
  participantRange: ParticipantRange | undefined,
) {
  const { lastUpdate } = state;
  const isFromPreviousParticipant =
    participantRange !== undefined && lastUpdate !== undefined && lastUpdate.offset <= participantRange.from;
  return { ...state, lastUpdate: isFromPreviousParticipant ? participantRange.common : lastUpdate, participantRange };
}
