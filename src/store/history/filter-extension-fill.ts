/**
 * Adds contracts to the running stream that were active when a filter was extended. It uses many short transactions.
 * Each of them locks the stream row only while it writes the narrow rows. Contracts that the stream has ended in the
 * meantime are added as ended. The list of active contracts must have all contracts that the previous filter returned.
 * No contract is ended because it is missing from the list.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { insertEndedSql } from '../write/batch-writer.ts';
import { markUnhostedAgain } from '../write/departures.ts';
import { assertEpoch } from '../write/stream-row.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import type { Database } from '../connection/database.ts';
import { completeFilterParts } from './filter-parts.ts';
import { maintain, refusalError } from './maintenance.ts';
import { translatePositions } from './switched-positions.ts';
import { copyRows, collectStates, clearUnhosted, numberParties } from './staged-rows.ts';
import { stagingSchema } from './staging.ts';
import { dropFilterExtension, lockCurrentStream } from './filter-extension.ts';
import { updateJob } from './jobs.ts';
import { everything, noteChange } from '../projections/note-change.ts';

export interface FillProgress {
  /** Number of contracts in the list that were processed. */
  readonly done: number;
  readonly total: number;
}

/**
 * Returns the progress of the fill. The first call does all preparation that does not block the stream: it assigns
 * numbers to parties, determines the state of each listed contract, and checks that the list belongs to this history.
 * @throws IndexerError FILTER_EXTEND_MISMATCH, HISTORY_CHANGED
 */
export async function beginFill(database: Database): Promise<FillProgress> {
  return (await readFillProgress(database)) ?? prepareFill(database);
}

function prepareFill(database: Database): Promise<FillProgress> {
  return maintain(database, async (client) => {
    const staging = escapeIdentifier(stagingSchema(database.schema, 'filter_extend'));
    const fillTables = ['contract_parties_map', 'event_parties_map', 'wider', 'states', 'arrived', 'filled'];
    await client.query(`drop table if exists ${fillTables.map((name) => `${staging}.${name}`).join(', ')}`);
    for (const table of ['contract_parties', 'event_parties'] as const) {
      await numberParties(client, table, { staged: `${staging}.${table}`, map: `table ${staging}.${table}_map` });
    }
    await translatePositions(client, staging);
    await recreateKeys(client, staging);
    // The rows were just copied. Without statistics, the server would join entire tables for each range.
    await client.query(`analyze ${staging}.contracts, ${staging}.interface_views`);
    await collectStates(client, staging);
    await client.query(`alter table ${staging}.states add primary key ("offset", node_id); analyze ${staging}.states`);
    await verifyStaged(client, staging);
    await extendParties(client, staging);
    await client.query(
      `create table ${staging}.arrived ("offset" bigint, node_id integer, primary key ("offset", node_id));
       create table ${staging}.filled as
       select -1::bigint as "offset", -1 as node_id, 0::bigint as done, count(*) as total from ${staging}.states`,
    );
    const { rows } = await client.query<FillProgress>(`select done, total from ${staging}.filled`);
    return rows[0] ?? { done: 0, total: 0 };
  });
}

/**
 * Creates the primary keys again, which are used to find ranges. They are dropped if positions change after a switch.
 */
async function recreateKeys(client: ClientBase, staging: string): Promise<void> {
  for (const [table, columns] of [
    ['contracts', '"offset", node_id'],
    ['interface_views', '"offset", node_id, interface_pk'],
  ] as const) {
    const { rowCount } = await client.query(
      `select from pg_constraint where conrelid = $1::regclass and contype = 'p'`,
      [`${staging}.${table}`],
    );
    if (rowCount === 0) await client.query(`alter table ${staging}.${table} add primary key (${columns})`);
  }
}

/**
 * For contracts that both filters return, more parties may be visible now. Table `wider` has the number of the party
 * set that combines the stored parties and the listed ones. Witnesses reported by an update are kept, because a list
 * contains only stakeholders.
 */
async function extendParties(client: ClientBase, staging: string): Promise<void> {
  await client.query(
    `create table ${staging}.wider as
     select p.previous, p.listed, o.signatories, o.observers, null::integer as parties_pk,
            o.witness_parties || array(select w.party from unnest(n.witness_parties) with ordinality w (party, place)
                                        where w.party <> all (o.witness_parties) order by w.place) as witness_parties
       from (select distinct c.parties_pk as previous, s.parties_pk as listed
               from ${staging}.states s join contracts c using ("offset", node_id) where c.contract_id = s.contract_id) p
       join contract_parties o on o.parties_pk = p.previous
       join contract_parties n on n.parties_pk = p.listed
      where not n.witness_parties <@ o.witness_parties`,
  );
  const columns = 'signatories, observers, witness_parties';
  await client.query(
    `insert into contract_parties (parties_pk, ${columns})
     select (select least(min(parties_pk), 0) from contract_parties) - row_number() over (order by s.first), ${columns}
       from (select min(previous) as first, ${columns} from ${staging}.wider group by ${columns}) s
      where not exists (select from contract_parties m where (m.signatories, m.observers, m.witness_parties)
                                                          = (s.signatories, s.observers, s.witness_parties))`,
  );
  await client.query(
    `update ${staging}.wider w set parties_pk = m.parties_pk
       from contract_parties m
      where (m.signatories, m.observers, m.witness_parties) = (w.signatories, w.observers, w.witness_parties);
     alter table ${staging}.wider add primary key (previous, listed)`,
  );
}

const sameContractSql = 's."offset" = l."offset" and s.node_id = l.node_id and s.contract_id = l.contract_id';

/**
 * Checks that the list has all contracts that the previous filter returned as active at the offset of the list, at the
 * same positions.
 */
async function verifyStaged(client: ClientBase, staging: string): Promise<void> {
  const { rows } = await client.query<{ missing: number; ended: number; other: number; setAside: boolean }>(
    `with at as (select seed_offset as "offset" from ${staging}.stream)
     select (select count(*)
               from (select l."offset", l.node_id, l.contract_id from live l, at
                      where l.unhosted_since is null and l."offset" <= at."offset"
                     union all
                     select e."offset", e.node_id, e.contract_id from ended e, at
                      where e.ended_by <> 'w' and e.unhosted_since is null and e."offset" <= at."offset"
                        and e.ended_offset > at."offset") l
              where not exists (select from ${staging}.states s where ${sameContractSql})) as missing,
            (select count(*) from ended l join ${staging}.states s on ${sameContractSql}, at
              where s.ended_offset is null and l.ended_by <> 'w' and l.ended_offset <= at."offset") as ended,
            (select count(*) from ${staging}.contracts s join contracts c using ("offset", node_id)
              where c.contract_id <> s.contract_id) as other,
            exists (select from quarantine q, at where q."offset" <= at."offset") as "setAside"`,
  );
  const {
    missing: missingCount = 0,
    ended: endedCount = 0,
    other = 0,
    setAside: isQuarantined = false,
  } = rows[0] ?? {};
  if (other > 0) throw mismatchError(`${String(other)} contracts there are at the position of other contracts here`);
  // The check would fail, because contracts ended by a quarantined update are still active here.
  if (isQuarantined) return;
  if (endedCount > 0) throw mismatchError(`the ledger holds ${String(endedCount)} contracts as active that ended here`);
  if (missingCount > 0)
    throw mismatchError(`${String(missingCount)} contracts that are active here are not in the list`);
}

function mismatchError(problem: string): IndexerError {
  return new IndexerError(`the active contracts under the extended filter do not match those here: ${problem}`, {
    code: 'FILTER_EXTEND_MISMATCH',
  });
}

/** A range of positions in the list: after `after`, up to and including `upTo`. */
interface PositionRange {
  readonly after: readonly [number, number];
  readonly upTo: readonly [number, number];
}

/** Progress of the fill; undefined before the preparation is complete. */
function readFillProgress(database: Database): Promise<FillProgress | undefined> {
  const staging = escapeIdentifier(stagingSchema(database.schema, 'filter_extend'));
  return database.withClient(async (client) => {
    const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [
      `${staging}.filled`,
    ]);
    if (rows[0]?.there !== true) return undefined;
    return (await client.query<FillProgress>(`select done, total from ${staging}.filled`)).rows[0];
  });
}

/**
 * Adds the next contracts of the list in one transaction.
 * @returns the progress; undefined when all contracts are stored
 * @throws IndexerError WRITER_FENCED (fenced) under another epoch
 */
export function fillStep(database: Database, epoch: number, contracts: number): Promise<FillProgress | undefined> {
  const staging = escapeIdentifier(stagingSchema(database.schema, 'filter_extend'));
  const pqs = escapeIdentifier(readSchemas(database.schema).pqs);
  return database.transaction(async (client) => {
    // Redactions and pruning wait for this lock. Once they have searched for rows, no matching rows may be added.
    await client.query(`select ${pqs}.__retention_lock()`);
    const range = await nextRange(client, staging, contracts);
    if (range === undefined) return undefined;
    await addContracts(client, staging, range);
    await addViews(client, staging, range);
    await addBlobs(client, staging, range);
    // From here on, the stream waits for this transaction.
    await assertEpoch(client, epoch);
    await activateWitnessed(client, staging, range);
    await changeParties(client, staging, range);
    await addStates(client, staging, range);
    await noteChange(client, everything);
    // Truncated instead of deleted: each later step would scan the dead rows.
    await client.query(`truncate ${staging}.arrived`);
    const { rows } = await client.query<FillProgress>(
      `update ${staging}.filled f
          set "offset" = $1, node_id = $2,
              done = f.done + (select count(*) from ${staging}.states s where ${withinRange('s', range)})
       returning done, total`,
      [...range.upTo],
    );
    return rows[0];
  });
}

async function nextRange(client: ClientBase, staging: string, contracts: number): Promise<PositionRange | undefined> {
  const { rows } = await client.query<{ after: number; afterNode: number; upTo: number | null; upToNode: number }>(
    `select f."offset" as after, f.node_id as "afterNode", n."offset" as "upTo", n.node_id as "upToNode"
       from ${staging}.filled f
       left join lateral (
            select p."offset", p.node_id
              from (select s."offset", s.node_id from ${staging}.states s
                     where (s."offset", s.node_id) > (f."offset", f.node_id)
                     order by s."offset", s.node_id limit $1) p
             order by p."offset" desc, p.node_id desc limit 1) n on true`,
    [contracts],
  );
  const [rangeRow] = rows;
  if (rangeRow === undefined || rangeRow.upTo === null) return undefined;
  return { after: [rangeRow.after, rangeRow.afterNode], upTo: [rangeRow.upTo, rangeRow.upToNode] };
}

/**
 * SQL: the condition for rows of a staging table in the range. Offsets are compared in addition to positions, because
 * the server estimates ranges of offsets well. For two comparisons of positions it assumes a quarter of all rows.
 */
function withinRange(alias: string, { after, upTo }: PositionRange): string {
  const position = `(${alias}."offset", ${alias}.node_id)`;
  return `${alias}."offset" between ${String(after[0])} and ${String(upTo[0])}
          and ${position} > (${after.join(', ')}) and ${position} <= (${upTo.join(', ')})`;
}

const redactedColumns = 'payload = null, contract_key = null, created_event_blob = null, redaction_id = r.redaction_id';

/** Adds wide rows that are not stored yet. Rows of a quarantined update are added when that update is stored. */
async function addContracts(client: ClientBase, staging: string, range: PositionRange): Promise<void> {
  const condition = `${withinRange('r', range)} and not exists (select from quarantine q where q."offset" = r."offset")`;
  await copyRows(client, staging, 'contracts', { where: condition, into: `${staging}.arrived` });
  await client.query(
    `update contracts c set ${redactedColumns}
       from ${staging}.arrived a, redacted_contracts r
      where c."offset" = a."offset" and c.node_id = a.node_id and r.contract_id = id_text(c.contract_id)
        and ${withinRange('c', range)}`,
  );
}

async function addViews(client: ClientBase, staging: string, range: PositionRange): Promise<void> {
  const condition = `${withinRange('r', range)} and exists (select from contracts c where c."offset" = r."offset" and c.node_id = r.node_id)`;
  await copyRows(client, staging, 'interface_views', { where: condition });
  await client.query(
    `update interface_views v set view = null, status_message = null, status_details = null, redaction_id = c.redaction_id
       from contracts c
      where c."offset" = v."offset" and c.node_id = v.node_id and c.redaction_id is not null and v.redaction_id is null
        and ${withinRange('c', range)}`,
  );
}

async function addBlobs(client: ClientBase, staging: string, range: PositionRange): Promise<void> {
  await client.query(
    `with new as materialized (
       select s."offset", s.node_id, s.created_event_blob from ${staging}.contracts s
        where ${withinRange('s', range)} and s.created_event_blob is not null)
     update contracts c set created_event_blob = n.created_event_blob
       from new n
      where c."offset" = n."offset" and c.node_id = n.node_id and c.created_event_blob is null and c.redaction_id is null`,
  );
}

/**
 * Activates contracts that the previous filter returned only to witnesses and that are active for a party of the
 * extended filter.
 */
async function activateWitnessed(client: ClientBase, staging: string, range: PositionRange): Promise<void> {
  await client.query(
    `with gone as (
       delete from ended e using ${staging}.states s
        where ${withinRange('s', range)} and id_text(e.contract_id) = id_text(s.contract_id)
          and e."offset" = s."offset" and e.node_id = s.node_id and e.ended_by = 'w'
       returning e."offset", e.node_id),
     active as (
       update contracts c set acs_delta = true from gone g
        where c."offset" = g."offset" and c.node_id = g.node_id and c.acs_delta = false)
     insert into ${staging}.arrived select "offset", node_id from gone`,
  );
}

/** Stores the extended party sets of contracts of which more parties are visible now. */
async function changeParties(client: ClientBase, staging: string, range: PositionRange): Promise<void> {
  const byId = 'id_text(l.contract_id) = id_text(n.contract_id) and l."offset" = n."offset" and l.node_id = n.node_id';
  await client.query(
    `with new as materialized (
       select s."offset", s.node_id, s.contract_id, w.parties_pk
         from ${staging}.states s
         join contracts c on c."offset" = s."offset" and c.node_id = s.node_id
         join ${staging}.wider w on w.previous = c.parties_pk and w.listed = s.parties_pk
        where ${withinRange('s', range)} and ${withinRange('c', range)}),
     alive as (update live l set parties_pk = n.parties_pk from new n where ${byId}),
     gone as (update ended l set parties_pk = n.parties_pk from new n where ${byId})
     update contracts c set parties_pk = n.parties_pk from new n where c."offset" = n."offset" and c.node_id = n.node_id`,
  );
}

/** Adds narrow rows of the added contracts: active, or ended by an update that the stream has stored since. */
async function addStates(client: ClientBase, staging: string, range: PositionRange): Promise<void> {
  await client.query(
    `with new as materialized (
       select s."offset", s.node_id, s.contract_id, s.template_pk, s.synchronizer_pk, c.parties_pk, s.ended_offset,
              s.ended_by, s.ended_at, s.ended_node_id, (select g.seed_offset from ${staging}.stream g) as listed
         from ${staging}.arrived a
         join ${staging}.states s on s."offset" = a."offset" and s.node_id = a.node_id
         join contracts c on c."offset" = a."offset" and c.node_id = a.node_id
        where ${withinRange('s', range)} and ${withinRange('c', range)}),
     ends as (
       select n.contract_id, u.synchronizer_pk, e."offset" as ended_offset, e.node_id as ended_node_id,
              'a'::"char" as ended_by, coalesce(u.effective_at, u.record_time) as ended_at
         from new n
         join exercises e on id_text(e.contract_id) = id_text(n.contract_id)
         join updates u on u."offset" = e."offset"
        where e.consuming and e.acs_delta is distinct from false and e."offset" > n.listed
       union all
       select n.contract_id, u.synchronizer_pk, a."offset", a.node_id, 'a', coalesce(u.effective_at, u.record_time)
         from new n
         join archives a on id_text(a.contract_id) = id_text(n.contract_id)
         join updates u on u."offset" = a."offset"
        where a."offset" > n.listed
       union all
       select n.contract_id, r.source_pk, r."offset", null, 'r', u.record_time
         from new n
         join reassignments r on id_text(r.contract_id) = id_text(n.contract_id)
         join updates u on u."offset" = r."offset"
        where r.kind = 'u' and not r.incomplete and r."offset" > n.listed),
     first as (
       select distinct on (contract_id, synchronizer_pk) * from ends order by contract_id, synchronizer_pk, ended_offset),
     known as materialized (
       select n."offset", n.node_id, n.template_pk, n.synchronizer_pk, n.parties_pk, n.contract_id,
              coalesce(n.ended_offset, f.ended_offset) as ended_offset,
              case when n.ended_offset is null then f.ended_by else n.ended_by end as ended_by,
              case when n.ended_offset is null then f.ended_at else n.ended_at end as ended_at,
              case when n.ended_offset is null then f.ended_node_id else n.ended_node_id end as ended_node_id,
              null::bigint as unhosted_since
         from new n
         left join first f on f.contract_id = n.contract_id and f.synchronizer_pk = n.synchronizer_pk),
     alive as (
       insert into live ("offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id)
       select "offset", node_id, template_pk, synchronizer_pk, parties_pk, contract_id from known where ended_offset is null),
     gone as (${insertEndedSql('known where ended_offset is not null')})
     insert into active_counts as a (template_pk, activated, deactivated)
     select template_pk, count(*), count(ended_offset) from known group by 1
     on conflict (template_pk) do update
       set activated = a.activated + excluded.activated, deactivated = a.deactivated + excluded.deactivated`,
  );
}

/**
 * The last step: adds contracts in flight, marks contracts that are hosted again, and records from which offset the
 * addition is complete. Then it drops the staging schema and marks the job as done.
 * @returns the offset from which the addition is complete
 * @throws IndexerError WRITER_FENCED (fenced), FILTER_EXTEND_REFUSED if the job was paused or cancelled meanwhile
 */
export function finishFill(database: Database, epoch: number): Promise<number> {
  const staging = escapeIdentifier(stagingSchema(database.schema, 'filter_extend'));
  return maintain(database, async (client) => {
    const stream = await lockCurrentStream(client, { epoch });
    const { rows } = await client.query<{ at: number }>(`select seed_offset as at from ${staging}.stream`);
    const listOffset = rows[0]?.at ?? 0;
    await copyRows(client, staging, 'reassignments', { where: 'true' });
    await client.query(
      `update reassignments d set created_event = null
         from redacted_contracts r where r.contract_id = id_text(d.contract_id) and d.created_event is not null`,
    );
    await clearUnhosted(client, staging, listOffset);
    await markUnhostedAgain(client, listOffset + 1);
    await noteChange(client, everything);
    await completeFilterParts(client, stream, listOffset);
    // Contracts in flight that are missing from this list are now missing from the stream.
    await client.query(
      `update stream set seed_release = s.seed_release, seed_has_in_flight = false
         from ${staging}.stream s where s.seed_has_in_flight is false`,
    );
    const doneState = { state: 'done', step: null, perSecond: null, problem: null } as const;
    if (!(await updateJob(client, 'filter-extend', doneState)))
      throw refusalError('filter extend', 'the job was paused or cancelled', 'jobs resume filter-extend');
    await dropFilterExtension(client, database.schema);
    return listOffset;
  });
}
