/**
 * Switches the stream to another participant: reads the stored updates of the overlap, and changes the participant that
 * the indexer reads in one transaction. No stored update is changed.
 */
import type { ClientBase, PoolClient } from 'pg';
import type { UpdateMark } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { constantOne, sql, tablesOf } from '../connection/query-builder.ts';
import { markUnhostedAgain } from '../write/departures.ts';
import { withParticipantMark, readParticipant } from '../write/participants.ts';
import { lockStream, maintain, readStream, refusalError } from './maintenance.ts';
import { dropStaging } from './staging.ts';

/**
 * Reads the stream while no indexer writes, with the updates and contracts that confirm that the stream belongs to its
 * participant. Returns undefined if nothing was indexed.
 */
export async function readStanding(database: Database) {
  const stream = await readStream(database);
  return stream === undefined ? undefined : withParticipantMark(stream, await readParticipant(database));
}

/** The newest stored update of a synchronizer. */
export interface SynchronizerMark extends UpdateMark {
  readonly synchronizerId: string;
  /** Everything of the synchronizer up to this record time is stored; null if not reported. */
  readonly completeTo: string | null;
}

/** One entry for each synchronizer with a stored update. */
export function newestUpdates(database: Database): Promise<readonly SynchronizerMark[]> {
  return maintain(database, async (client) => {
    const { rows } = await client.query<SynchronizerMark>(
      `select s.synchronizer_id as "synchronizerId", u."offset", id_text(u.update_id) as "updateId",
              st.record_times ->> s.synchronizer_id as "completeTo"
         from synchronizers s cross join stream st cross join lateral (
           select "offset", update_id from updates u
            where u.synchronizer_pk = s.synchronizer_pk and u.update_id is not null
            order by u."offset" desc limit 1) u
        order by u."offset"`,
    );
    return rows;
  });
}

/**
 * The stored update that has exactly `newerCount` updates after it, or the oldest update with an id. Undefined if no
 * update has an id.
 */
export function updateBefore(database: Database, newerCount: number): Promise<UpdateMark | undefined> {
  return database.withClient((client) =>
    tablesOf(client)
      .selectFrom((e) =>
        e
          .selectFrom('updates')
          .select(['offset', sql<string>`id_text(update_id)`.as('updateId')])
          .where('update_id', 'is not', null)
          .orderBy('offset', 'desc')
          .limit(newerCount + 1)
          .as('newest'),
      )
      .selectAll()
      .orderBy('offset')
      .limit(constantOne)
      .executeTakeFirst(),
  );
}

/**
 * Returns those ids that belong to stored updates.
 * @param after offset after which the search begins, because most ids are those of the newest updates
 */
export function storedIds(database: Database, ids: readonly string[], after: number): Promise<ReadonlySet<string>> {
  return maintain(database, async (client) => {
    const foundIds = new Set<string>();
    for (const minOffset of [after, -1]) {
      const remainingIds = ids.filter((id) => !foundIds.has(id));
      if (remainingIds.length === 0) break;
      const { rows } = await client.query<{ id: string }>(
        `select id_text(u.update_id) as id from updates u
          where u."offset" > $2 and u.update_id is not null and id_text(u.update_id) = any ($1)`,
        [remainingIds, minOffset],
      );
      for (const { id } of rows) foundIds.add(id);
    }
    return foundIds;
  });
}

/** The original frames of the quarantined updates. */
export async function readQuarantinedFrames(database: Database): Promise<readonly Buffer[]> {
  const rows = await database.withClient((client) =>
    tablesOf(client).selectFrom('quarantine').select('frame').execute(),
  );
  return rows.map(({ frame }) => frame);
}

/**
 * The first update after which contracts became unhosted because their parties left, and are still unhosted. Undefined
 * if there is none.
 */
export function firstDeparture(database: Database): Promise<UpdateMark | undefined> {
  return database.withClient((client) =>
    tablesOf(client)
      .selectFrom('live as l')
      .innerJoin('updates as u', 'u.offset', 'l.unhosted_since')
      .select(['u.offset', sql<string>`id_text(u.update_id)`.as('updateId')])
      .where('l.unhosted_since', 'is not', null)
      .where('u.update_id', 'is not', null)
      .orderBy('l.unhosted_since')
      .limit(constantOne)
      .executeTakeFirst(),
  );
}

/** Result of the check. Offsets are those of the new participant unless stated otherwise. */
export interface ParticipantSwitch {
  readonly participantId: string | undefined;
  /** Checkpoint and epoch at the time of the check. */
  readonly checkpoint: number;
  readonly epoch: number;
  readonly shift: number;
  /** End of the overlap by synchronizer, in offsets of the stream. */
  readonly overlaps: Readonly<Record<string, number>>;
  readonly common: UpdateMark;
  /**
   * Departures of parties at or after this offset of the stream are checked again, because no update was missed since
   * then. Undefined if there are none.
   */
  readonly anewFrom: number | undefined;
  readonly reason: string;
  readonly writer: string;
}

/**
 * Makes the new participant the one that the indexer reads, and raises the epoch. Only the holder of the writer lock
 * calls it.
 * @throws IndexerError SWITCH_REFUSED if the stream has moved since the check
 */
export function switchTo(database: Database, change: ParticipantSwitch): Promise<void> {
  return maintain(database, async (client) => {
    const stream = await lockStream(client);
    if (stream?.checkpoint !== change.checkpoint || stream.epoch !== change.epoch) {
      throw refusalError(
        'switch-participant',
        'the stream moved while the overlap was verified',
        'run the command again',
      );
    }
    await refuseUnfinishedJobs(client);
    await addParticipant(client, change, stream.participantId);
    await tablesOf(client)
      .updateTable('stream')
      .set({
        participant_id: change.participantId ?? null,
        ledger_end: null,
        participant_pruned_offset: null,
        writer: change.writer,
      })
      .set('epoch', (e) => e('epoch', '+', 1))
      .execute();
    await truncateCompletions(client, change);
    if (change.anewFrom !== undefined) await clearUnhosted(client, change.anewFrom);
    // The staged rows have offsets of the previous participant.
    for (const stagingKind of ['interfaces', 'reseed'] as const)
      await dropStaging(client, database.schema, stagingKind);
  });
}

/**
 * Refuses the switch while jobs are unfinished. Their staged rows, and the offsets that they still have to read, belong
 * to the previous participant.
 */
async function refuseUnfinishedJobs(client: ClientBase): Promise<void> {
  const job = await tablesOf(client)
    .selectFrom('jobs')
    .select('name')
    .where('state', 'in', ['requested', 'working', 'paused'])
    .limit(constantOne)
    .executeTakeFirst();
  if (job === undefined) return;
  const remedy = `wait for it (ledger-indexer jobs), or cancel it: ledger-indexer jobs cancel ${job.name}`;
  throw refusalError('switch-participant', `job ${job.name} is not finished`, remedy);
}

async function addParticipant(
  client: PoolClient,
  change: ParticipantSwitch,
  previousParticipantId: string | null,
): Promise<void> {
  const { participantId = null, checkpoint, shift, overlaps, common: commonUpdate, reason } = change;
  await client.query(
    `insert into participants (participant_number, participant_id, from_offset, offset_shift, overlap_to_offset)
     select 1, $1, 0, 0, 0 where not exists (select from participants)`,
    [previousParticipantId],
  );
  await tablesOf(client)
    .insertInto('participants')
    .values((e) => ({
      participant_number: sql<number>`(select max(participant_number) + 1 from participants)`,
      participant_id: participantId,
      from_offset: checkpoint,
      offset_shift: shift,
      overlap_offsets: JSON.stringify(overlaps),
      overlap_to_offset: e.val(Math.max(checkpoint, ...Object.values(overlaps))),
      common_offset: commonUpdate.offset,
      common_update_id: commonUpdate.updateId,
      reason,
    }))
    .execute();
}

/**
 * Starts a new range of completions. Only the participant that received a command returns its completion, so
 * completions that were not read before the switch are missing.
 */
async function truncateCompletions(
  client: ClientBase,
  { checkpoint, participantId }: ParticipantSwitch,
): Promise<void> {
  await client.query(
    `insert into completion_ranges (from_offset, to_offset, parties, reason)
     select $1, $1, r.parties, $2 from completion_ranges r order by r.from_offset desc limit 1
     on conflict (from_offset) do update set reason = excluded.reason, recorded_at = now()`,
    [
      checkpoint,
      `completions of commands submitted through ${participantId ?? 'another participant'} are read from here on`,
    ],
  );
}

/**
 * Contracts of parties that left the previous participant may be hosted by the new participant, because no update of
 * these parties was missed since then.
 */
async function clearUnhosted(client: ClientBase, from: number): Promise<void> {
  for (const table of ['live', 'ended'] as const) {
    await tablesOf(client)
      .updateTable(table)
      .set({ unhosted_since: null })
      .where('unhosted_since', '>=', from)
      .execute();
  }
  await markUnhostedAgain(client, from);
}

/**
 * Restores the previous participant if the stream is reset to an offset before a switch. Runs in the caller's
 * transaction.
 */
export async function dropParticipantsAfter(client: ClientBase, to: number): Promise<void> {
  const { numDeletedRows } = await tablesOf(client)
    .deleteFrom('participants')
    .where('from_offset', '>', to)
    .executeTakeFirst();
  if (numDeletedRows === 0n) return;
  await client.query(
    'update stream set participant_id = (select participant_id from participants order by participant_number desc limit 1)',
  );
}
