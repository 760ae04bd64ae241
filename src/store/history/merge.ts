/**
 * The end of a reseed: merges staged active contracts, from a list that is verified complete, with the stored contracts
 * in one transaction. Stored contracts that are no longer on the ledger ended in the gap. Missing contracts are added
 * as seeded.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase, PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { MergeResult, StreamIdentity, UpdateMark } from '../../model/stream.ts';
import { insertEndedSql } from '../write/batch-writer.ts';
import { CommitNotices } from '../write/commit-notices.ts';
import type { Database } from '../connection/database.ts';
import { type Change, countRows, sql, tablesOf } from '../connection/query-builder.ts';
import { openRange } from './coverage-ranges.ts';
import { recordFilterParts } from './filter-parts.ts';
import { lockStream, maintain, refusalError, type StreamFacts } from './maintenance.ts';
import { translatePositions } from './switched-positions.ts';
import {
  copyRows,
  collectStates,
  clearUnhosted,
  mapSynchronizers,
  mapTemplates,
  removeRedacted,
} from './staged-rows.ts';
import { dropStaging, stagingSchema } from './staging.ts';
import { dropFilterExtension } from './filter-extension.ts';
import { everything, noteChange } from '../projections/note-change.ts';

export interface Merge {
  readonly identity: StreamIdentity;
  /** Interfaces whose views were read with the contracts. */
  readonly interfaces: readonly string[];
  /** The offset at which the active contracts were read. */
  readonly offset: number;
  readonly anchor: UpdateMark | undefined;
  /** The checkpoint at the start of the reseed. */
  readonly checkpoint: number;
  /** Reason of the gap, for table `coverage`. */
  readonly reason: string;
  readonly writer: string;
  readonly notify: boolean;
}

/**
 * Merges the staged contracts. Only the holder of the writer lock calls it.
 * @throws IndexerError HISTORY_CHANGED, RESEED_REFUSED
 */
export async function mergeStaging(database: Database, merge: Merge): Promise<MergeResult> {
  const mergeResult = await maintain(database, async (client) => {
    const stream = await lockStream(client);
    if (stream?.checkpoint !== merge.checkpoint) {
      throw refusalError('reseed', 'the checkpoint moved while the reseed ran', 'run the command again');
    }
    const stagingName = escapeIdentifier(stagingSchema(database.schema, 'reseed'));
    await mapDictionaries(client, stagingName);
    await translatePositions(client, stagingName);
    await collectStates(client, stagingName);
    const keptCount = await countCommonHistory(client, stagingName, merge, stream);
    const endedCount = await endMissingContracts(client, stagingName, merge.offset);
    await clearUnhosted(client, stagingName, merge.offset);
    await removeRedacted(client, stagingName);
    for (const table of ['contracts', 'interface_views', 'reassignments'] as const)
      await copyRows(client, stagingName, table);
    const addedCount = await addStates(client, stagingName);
    await noteChange(client, everything);
    const stagedStream = await readStagedStream(client, database.schema);
    const reason = `${merge.reason}; ${String(endedCount)} contracts ended and ${String(addedCount)} began unseen`;
    await publish(client, stagedStream, stream, merge, reason);
    await recordViews(client, merge);
    await dropStaging(client, database.schema, 'reseed');
    await dropStaging(client, database.schema, 'interfaces');
    await recordFilterParts(client, stream, merge.identity.filter, { from: merge.offset, completeFrom: merge.offset });
    await dropFilterExtension(client, database.schema);
    return { ended: endedCount, added: addedCount, kept: keptCount };
  });
  if (merge.notify) await new CommitNotices(database).notifyCommit(merge.offset);
  return mergeResult;
}

/** Maps numbers of the staged dictionaries to those of this schema, and adds new entries to its dictionaries. */
async function mapDictionaries(client: ClientBase, stagingName: string): Promise<void> {
  await mapSynchronizers(client, stagingName);
  await mapTemplates(client, stagingName);
  await mapParties(client, stagingName, 'contract_parties', 'signatories, observers, witness_parties');
  await mapParties(client, stagingName, 'event_parties', 'acting_parties, witness_parties, implemented_interfaces');
}

/**
 * Maps numbers of party sets. If a party set is stored several times, its lowest number is used. Missing sets get the
 * next numbers.
 */
async function mapParties(client: ClientBase, stagingName: string, table: string, columns: string): Promise<void> {
  await client.query(
    `insert into ${table} (parties_pk, ${columns})
     select (select greatest(max(parties_pk), 0) from ${table}) + row_number() over (order by s.first), ${columns}
       from (select min(parties_pk) as first, ${columns} from ${stagingName}.${table} group by ${columns}) s
      where not exists (select from ${table} m where (${columns}) = (${columns.replaceAll(/\w+/g, 's.$&')}))`,
  );
  await client.query(
    `create table ${stagingName}.${table}_map as
     select s.parties_pk as staged, min(m.parties_pk) as ours
       from ${stagingName}.${table} s join ${table} m using (${columns}) group by 1;
     alter table ${stagingName}.${table}_map add primary key (staged)`,
  );
}

const sameContractSql = 's."offset" = l."offset" and s.node_id = l.node_id and s.contract_id = l.contract_id';

/**
 * Checks that the offsets of both sides belong to the same history. A contract id is a hash that never occurs on two
 * ledgers, and an offset belongs to one participant. If both sides have a contract at the same offset, this confirms
 * the history. If they have a contract at different offsets, the histories differ.
 * @returns number of contracts that are active on both sides
 */
async function countCommonHistory(
  client: ClientBase,
  stagingName: string,
  merge: Merge,
  stream: StreamFacts,
): Promise<number> {
  const { rows } = await client.query<{ active: number; common: number; ended: number; moved: number; other: number }>(
    `select (select count(*) from live where unhosted_since is null) as active,
            count(*) filter (where s."offset" = l."offset" and l.ended_offset is null) as common,
            count(*) filter (where s."offset" = l."offset" and l.ended_offset is not null
                               and s.ended_offset is null) as ended,
            count(*) filter (where s."offset" <> l."offset" and l.ended_offset is null and s."offset" <= $1) as moved,
            (select count(*) from ${stagingName}.contracts s join contracts c using ("offset", node_id)
              where c.contract_id <> s.contract_id) as other
       from ${stagingName}.states s
       join (select "offset", contract_id, synchronizer_pk, null::bigint as ended_offset from live
             union all
             select "offset", contract_id, synchronizer_pk, ended_offset from ended where ended_by <> 'w') l
            using (contract_id, synchronizer_pk)`,
    [merge.checkpoint],
  );
  const {
    active = 0,
    common: commonCount = 0,
    ended: endedCount = 0,
    moved: movedCount = 0,
    other = 0,
  } = rows[0] ?? {};
  if (endedCount > 0)
    throw otherHistoryError(`the ledger holds ${String(endedCount)} contracts as active that ended here`);
  if (movedCount > 0)
    throw otherHistoryError(`${String(movedCount)} contracts became active there at another offset than here`);
  if (other > 0)
    throw otherHistoryError(`${String(other)} contracts there are at the position of other contracts here`);
  const isKnownParticipant = stream.participantId !== null && merge.identity.participantId === stream.participantId;
  if (!isKnownParticipant && active > 0 && commonCount === 0) {
    throw otherHistoryError(
      'no contract that is active here is active there, and the participant id cannot be compared',
    );
  }
  return commonCount;
}

function otherHistoryError(problem: string): IndexerError {
  return new IndexerError(`these are the offsets of another history: ${problem}`, {
    code: 'HISTORY_CHANGED',
    retry: 'fatal',
    remedy:
      'index this ledger into a new POSTGRES_SCHEMA and keep this one, or delete everything stored here: ledger-indexer reset --all --yes',
  });
}

/**
 * Ends stored contracts that are missing in the list. Their exact end in the gap is unknown. The latest possible end is
 * used: when the contract became active again on another synchronizer, or otherwise the end of the gap. A contract in
 * flight between synchronizers ended when it left. A contract whose parties left the participant is not ended, because
 * the list would not contain it even if it were active.
 */
async function endMissingContracts(client: ClientBase, stagingName: string, offset: number): Promise<number> {
  const { rows } = await client.query<{ ended: number }>(
    `with gone as (
       delete from live l
        where not exists (select from ${stagingName}.states s where ${sameContractSql} and s.ended_offset is null)
          and (l.unhosted_since is null
               or exists (select from ${stagingName}.states s where s.contract_id = l.contract_id))
       returning l.*),
     known as (
       select l.*, coalesce(s.ended_by, 'e') as ended_by, s.ended_at, s.ended_node_id,
              coalesce(s.ended_offset, (select min(n."offset") from ${stagingName}.states n
                                         where n.contract_id = l.contract_id and n."offset" > l."offset"), $1) as ended_offset
         from gone l left join ${stagingName}.states s on ${sameContractSql}),
     moved as (${insertEndedSql('known')}),
     counted as (
       update active_counts a set deactivated = a.deactivated + e.ended
         from (select template_pk, count(*) as ended from gone group by 1) e where e.template_pk = a.template_pk)
     select count(*) as ended from gone`,
    [offset],
  );
  return rows[0]?.ended ?? 0;
}

/** @returns number of new activations */
async function addStates(client: ClientBase, stagingName: string): Promise<number> {
  const { rows } = await client.query<{ added: number }>(
    `with added as materialized (
       select s.*, null::bigint as unhosted_since from ${stagingName}.states s
        where not exists (select from live l where ${sameContractSql}) and not exists (select from ended l where ${sameContractSql})),
     alive as (
       insert into live ("offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
       select "offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id
         from added where ended_offset is null),
     gone as (${insertEndedSql('added where ended_offset is not null')}),
     counted as (
       insert into active_counts as a (template_pk, activated, deactivated)
       select template_pk, count(*), count(ended_offset) from added group by 1
       on conflict (template_pk) do update
         set activated = a.activated + excluded.activated, deactivated = a.deactivated + excluded.deactivated)
     select count(*) as added from added`,
  );
  return rows[0]?.added ?? 0;
}

/** Records that views which were not stored before are complete from the offset of the staged contracts on. */
async function recordViews(client: ClientBase, { interfaces, offset }: Merge): Promise<void> {
  await client.query(
    `insert into filter_interfaces as i (interface_id, state, complete_from)
     select id, 'followed', $2 from unnest($1::text[]) id
     on conflict (interface_id) do update
        set state = 'followed', updated_at = now(),
            complete_from = case when i.unknown_at_offset >= $2 then coalesce(i.complete_from, 0) else $2 end
      where i.state <> 'followed'`,
    [interfaces, offset],
  );
}

/** Number of contracts in the list, and the version of the participant that returned it. */
async function readStagedStream(client: ClientBase, schema: string): Promise<Change<'stream'>> {
  const stagingTables = tablesOf(client).withSchema(stagingSchema(schema, 'reseed'));
  const { count } = await stagingTables.selectFrom('contracts').select(countRows).executeTakeFirstOrThrow();
  const source = await stagingTables
    .selectFrom('stream')
    .select(['seed_release', 'seed_has_in_flight'])
    .executeTakeFirst();
  return { seed_contracts: count, ...source };
}

async function publish(
  client: PoolClient,
  stagedStream: Change<'stream'>,
  stream: StreamFacts,
  merge: Merge,
  reason: string,
): Promise<void> {
  const { offset, identity, anchor: anchorMark } = merge;
  const { filter, filterHash, shape } = identity;
  await openRange(client, stream.checkpoint ?? 0, { from: offset, origin: 'reseed', filterHash, shape, reason });
  const markChange: Change<'stream'> = canKeepMark(stream, merge)
    ? {}
    : { checkpoint_update_offset: anchorMark?.offset ?? null, checkpoint_update_id: anchorMark?.updateId ?? null };
  const participantId = stream.participantId ?? identity.participantId ?? null;
  await tablesOf(client)
    .updateTable('stream')
    .set({ seed_offset: offset, checkpoint: offset, seed_token: null })
    .set(stagedStream)
    .set(markChange)
    .set({
      participant_id: participantId,
      filter,
      filter_hash: filterHash,
      transaction_shape: shape,
      filter_extended_from: [],
    })
    .set({ writer: merge.writer, seeded_at: sql`now()` })
    .set('epoch', (e) => e('epoch', '+', 1))
    .execute();
}

/**
 * Whether the stored update can still be used to compare histories, until a newer one is stored. The filter in force
 * must still return that update.
 */
function canKeepMark({ filterHash, lastUpdate }: StreamFacts, { identity, anchor: anchorMark }: Merge): boolean {
  if (filterHash !== identity.filterHash) return false;
  return anchorMark === undefined || (lastUpdate !== undefined && lastUpdate.offset >= anchorMark.offset);
}
