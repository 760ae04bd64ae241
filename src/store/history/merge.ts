/**
 * The end of a reseed that keeps the history: the active contracts gathered, a list that is proven whole, meet those we
 * hold, in one transaction. What we hold and the ledger does not any more ended in the gap, what we lack is added as
 * seeded.
 */
import { sql } from 'kysely';
import { escapeIdentifier } from 'pg';
import type { ClientBase, PoolClient } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Merged, StreamIdentity, UpdateMark } from '../../model/stream.ts';
import { notifyStatement } from '../write/batch-writer.ts';
import type { Database } from '../connection/database.ts';
import { countRows, tablesOf, type Change } from '../connection/query-builder.ts';
import { openRange } from './coverage-ranges.ts';
import { lockStream, maintain, refused, type StreamFacts } from './maintenance.ts';
import { dropStaging, stagingSchema } from './staging.ts';

export interface Merge {
  readonly identity: StreamIdentity;
  /** The offset the active contracts were read at. */
  readonly offset: number;
  readonly anchor: UpdateMark | undefined;
  /** The checkpoint when the reseed began. */
  readonly checkpoint: number;
  /** Why there is a gap, for table `coverage`. */
  readonly reason: string;
  readonly writer: string;
  readonly notify: boolean;
}

/** To be called by the holder of the writer lock only. @throws IndexerError HISTORY_CHANGED, RESEED_REFUSED */
export function mergeStaging(database: Database, merge: Merge): Promise<Merged> {
  return maintain(database, async (client) => {
    const stream = await lockStream(client);
    if (stream?.checkpoint !== merge.checkpoint) {
      throw refused('reseed', 'the checkpoint moved while the reseed ran', 'run the command again');
    }
    const staged = escapeIdentifier(stagingSchema(database.schema));
    await mapDictionaries(client, staged);
    const kept = await provenHistory(client, staged, merge, stream);
    const ended = await endMissing(client, staged, merge.offset);
    await knowAgain(client, staged, merge.offset);
    await removeRedacted(client, staged);
    for (const table of ['contracts', 'interface_views', 'reassignments']) await copyRows(client, staged, table);
    const added = await addLifetimes(client, staged);
    const gathered = await countGathered(client, database.schema);
    const reason = `${merge.reason}; ${String(ended)} contracts ended and ${String(added)} began unseen`;
    await publish(client, gathered, stream, merge, reason);
    await dropStaging(client, database.schema);
    if (merge.notify) {
      const { text, values } = notifyStatement(database.schema, merge.offset);
      await client.query(text, [...(values ?? [])]);
    }
    return { ended, added, kept };
  });
}

/** Numbers of the staged dictionaries to numbers of ours, which grow by what is new. */
async function mapDictionaries(client: ClientBase, staged: string): Promise<void> {
  await client.query(
    `insert into synchronizers
     select (select coalesce(max(synchronizer_pk), 0) from synchronizers) + row_number() over (order by s.synchronizer_pk),
            s.synchronizer_id
       from ${staged}.synchronizers s
      where not exists (select from synchronizers m where m.synchronizer_id = s.synchronizer_id)`,
  );
  await client.query(
    `insert into templates (template_pk, package_id, module_name, entity_name, package_name)
     select (select coalesce(max(template_pk), 0) from templates) + row_number() over (order by s.template_pk),
            s.package_id, s.module_name, s.entity_name, s.package_name
       from ${staged}.templates s
     on conflict (package_id, module_name, entity_name) do update
       set package_name = coalesce(templates.package_name, excluded.package_name)`,
  );
  await client.query(
    `create table ${staged}.synchronizer_map as
     select s.synchronizer_pk as staged, m.synchronizer_pk as ours
       from ${staged}.synchronizers s join synchronizers m using (synchronizer_id)`,
  );
  await client.query(
    `create table ${staged}.template_map as
     select s.template_pk as staged, m.template_pk as ours
       from ${staged}.templates s join templates m using (package_id, module_name, entity_name)`,
  );
  await client.query(
    `alter table ${staged}.synchronizer_map add primary key (staged);
     alter table ${staged}.template_map add primary key (staged)`,
  );
  await client.query(
    `insert into template_interfaces (template_pk, interface_pk)
     select t.ours, i.ours
       from ${staged}.template_interfaces s
       join ${staged}.template_map t on t.staged = s.template_pk
       join ${staged}.template_map i on i.staged = s.interface_pk
     on conflict do nothing`,
  );
  await client.query(`update ${staged}.lifetimes l set synchronizer_pk = m.ours
                        from ${staged}.synchronizer_map m where m.staged = l.synchronizer_pk and m.ours <> m.staged`);
  await client.query(`analyze ${staged}.lifetimes`);
}

const same = `s.contract_id = l.contract_id and s.synchronizer_pk = l.synchronizer_pk
              and s.activated_offset = l.activated_offset`;

/**
 * A contract id is a hash that no two ledgers share, an offset is one participant's own: contracts that both sides know
 * under the same offset prove that the offsets are ours, one under two offsets that they are not.
 * @returns how many both sides hold as active
 */
async function provenHistory(client: ClientBase, staged: string, merge: Merge, stream: StreamFacts): Promise<number> {
  const { rows } = await client.query<{ active: number; common: number; ended: number; moved: number }>(
    `select (select count(*) from lifetimes where deactivated_offset is null and unknown_since is null) as active,
            count(*) filter (where s.activated_offset = l.activated_offset and l.deactivated_offset is null) as common,
            count(*) filter (where s.activated_offset = l.activated_offset and l.deactivated_offset is not null
                               and s.deactivated_offset is null) as ended,
            count(*) filter (where s.activated_offset <> l.activated_offset and l.deactivated_offset is null
                               and s.activated_offset <= $1) as moved
       from ${staged}.lifetimes s join lifetimes l using (contract_id, synchronizer_pk)`,
    [merge.checkpoint],
  );
  const { active = 0, common = 0, ended = 0, moved = 0 } = rows[0] ?? {};
  if (ended > 0) throw otherHistory(`the ledger holds ${String(ended)} contracts as active that ended here`);
  if (moved > 0) throw otherHistory(`${String(moved)} contracts became active there at another offset than here`);
  const knownId = stream.participantId !== null && merge.identity.participantId === stream.participantId;
  if (!knownId && active > 0 && common === 0) {
    throw otherHistory('no contract that is active here is active there, and the participant id cannot be compared');
  }
  return common;
}

function otherHistory(found: string): IndexerError {
  return new IndexerError(`these are the offsets of another history: ${found}`, {
    code: 'HISTORY_CHANGED',
    retry: 'fatal',
    remedy:
      'index this ledger into a new POSTGRES_SCHEMA and keep this one, or give up this history: ledger-indexer reseed --yes',
  });
}

/**
 * When exactly a contract ended in the gap nobody knows any more: at the latest when it became active again elsewhere,
 * else at the end of the gap. A contract on its way between synchronizers ended when it left. Of a contract whose parties
 * left, a list that lacks it says nothing.
 */
async function endMissing(client: ClientBase, staged: string, offset: number): Promise<number> {
  const { rows } = await client.query<{ ended: number }>(
    `with ended as (
       update lifetimes l
          set deactivated_offset = coalesce(
                (select s.deactivated_offset from ${staged}.lifetimes s where ${same}),
                (select min(s.activated_offset) from ${staged}.lifetimes s
                  where s.contract_id = l.contract_id and s.activated_offset > l.activated_offset),
                $1)
        where l.deactivated_offset is null
          and not exists (select from ${staged}.lifetimes s where ${same} and s.deactivated_offset is null)
          and (l.unknown_since is null
               or exists (select from ${staged}.lifetimes s where s.contract_id = l.contract_id))
       returning l.template_pk),
     counted as (
       update active_counts a set deactivated = a.deactivated + e.ended
         from (select template_pk, count(*) as ended from ended group by 1) e where e.template_pk = a.template_pk)
     select count(*) as ended from ended`,
    [offset],
  );
  return rows[0]?.ended ?? 0;
}

/**
 * A contract whose parties had left is listed again: it is active if one of them is hosted again. For parties that it
 * does not host the participant may list what has ended long ago.
 */
async function knowAgain(client: ClientBase, staged: string, offset: number): Promise<void> {
  await client.query(
    `update lifetimes l set unknown_since = null
       from contracts c
      where l.unknown_since is not null and l.deactivated_offset is null
        and exists (select from ${staged}.lifetimes s where ${same} and s.deactivated_offset is null)
        and c.contract_id = l.contract_id and c."offset" = l.activated_offset
        and exists (select from unnest(c.witness_parties) w (party)
                     where (w.party = any (c.signatories) or w.party = any (c.observers))
                       and hosts(w.party, l.synchronizer_pk, $1))`,
    [offset],
  );
}

async function addLifetimes(client: ClientBase, staged: string): Promise<number> {
  const { rows } = await client.query<{ added: number }>(
    `with added as (
       insert into lifetimes (contract_id, synchronizer_pk, activated_offset, template_pk, deactivated_offset)
       select s.contract_id, s.synchronizer_pk, s.activated_offset, m.ours, s.deactivated_offset
         from ${staged}.lifetimes s join ${staged}.template_map m on m.staged = s.template_pk
        where not exists (select from lifetimes l where ${same})
       returning template_pk, deactivated_offset),
     counted as (
       insert into active_counts as a (template_pk, activated, deactivated)
       select template_pk, count(*), count(deactivated_offset) from added group by 1
       on conflict (template_pk) do update
         set activated = a.activated + excluded.activated, deactivated = a.deactivated + excluded.deactivated)
     select count(*) as added from added`,
  );
  return rows[0]?.added ?? 0;
}

const mapOf: Readonly<Record<string, string>> = {
  template_pk: 'template_map',
  interface_pk: 'template_map',
  synchronizer_pk: 'synchronizer_map',
  source_pk: 'synchronizer_map',
  target_pk: 'synchronizer_map',
};

/** What was redacted while active contracts were gathered, or since a reseed was cut, has its contents in the staging yet. */
async function removeRedacted(client: ClientBase, staged: string): Promise<void> {
  for (const [table, contents] of [
    ['contracts', 'payload = null, contract_key = null, created_event_blob = null'],
    ['interface_views', 'view = null, status_message = null, status_details = null'],
  ] as const) {
    await client.query(
      `update ${staged}.${table} s set ${contents}, redaction_id = r.redaction_id
         from redacted_contracts r where r.contract_id = s.contract_id and s.redaction_id is null`,
    );
  }
  await client.query(
    `update ${staged}.reassignments s set created_event = null
       from redacted_contracts r where r.contract_id = s.contract_id and s.created_event is not null`,
  );
}

/** All rows that are not here yet, with our numbers. */
async function copyRows(client: ClientBase, staged: string, table: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select attname::text as name from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  );
  const values = rows.map(({ name }) => {
    const column = `r.${escapeIdentifier(name)}`;
    const map = mapOf[name];
    return map === undefined ? column : `(select m.ours from ${staged}.${map} m where m.staged = ${column})`;
  });
  await client.query(
    `insert into ${table} (${rows.map(({ name }) => escapeIdentifier(name)).join(', ')})
     select ${values.join(', ')} from ${staged}.${table} r on conflict do nothing`,
  );
}

async function countGathered(client: ClientBase, schema: string): Promise<number> {
  const staged = tablesOf(client).withSchema(stagingSchema(schema));
  return (await staged.selectFrom('contracts').select(countRows).executeTakeFirstOrThrow()).count;
}

/** @param gathered contracts of the list */
async function publish(
  client: PoolClient,
  gathered: number,
  stream: StreamFacts,
  merge: Merge,
  reason: string,
): Promise<void> {
  const { offset, identity, anchor } = merge;
  const { filter, filterHash, shape } = identity;
  await openRange(client, stream.checkpoint ?? 0, { from: offset, origin: 'reseed', filterHash, shape, reason });
  const mark: Change<'stream'> = provesOn(stream, merge)
    ? {}
    : { checkpoint_update_offset: anchor?.offset ?? null, checkpoint_update_id: anchor?.updateId ?? null };
  const participantId = stream.participantId ?? identity.participantId ?? null;
  await tablesOf(client)
    .updateTable('stream')
    .set({ seed_offset: offset, checkpoint: offset, seed_token: null, seed_contracts: gathered })
    .set(mark)
    .set({ participant_id: participantId, filter, filter_hash: filterHash, transaction_shape: shape })
    .set({ writer: merge.writer, seeded_at: sql`now()` })
    .set('epoch', (e) => e('epoch', '+', 1))
    .execute();
}

/** The stored update proves the history as long as no newer one does, if the filter in force still shows it. */
function provesOn({ filterHash, lastUpdate }: StreamFacts, { identity, anchor }: Merge): boolean {
  if (filterHash !== identity.filterHash) return false;
  return anchor === undefined || (lastUpdate !== undefined && lastUpdate.offset >= anchor.offset);
}
