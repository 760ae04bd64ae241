/**
 * Filter extension of a running stream, as stored in the database: the request, the filter in force, the filters that
 * may replace it, and the change of the filter in force.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase, PoolClient } from 'pg';
import type { StoredFilter, FilterExtensionRequest, JobProgress } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { fencedError } from '../write/stream-row.ts';
import { openRange } from './coverage-ranges.ts';
import { recordFilterParts } from './filter-parts.ts';
import { lockStream, maintain, refusalError, type StreamFacts } from './maintenance.ts';
import { mapSynchronizers, mapTemplates } from './staged-rows.ts';
import { dropStaging, stagingSchema } from './staging.ts';
import { getJob, updateJob } from './jobs.ts';

/**
 * Name of the row of the job in `retention_holds`: contracts that ended since the job began must not be pruned before
 * they are staged.
 */
const holdName = 'filter-extend';

/** The next step of the job. */
export interface DueFilterExtension {
  readonly request: FilterExtensionRequest;
  /** Whether the job is paused until an operator resumes it. */
  readonly isPaused: boolean;
  /** Whether the requested filter is in force already. */
  readonly isSet: boolean;
  /** Lists of active contracts before this offset cannot be used; undefined if nothing is missing. */
  readonly notBefore: number | undefined;
}

/** The filter in force; undefined if nothing was ever indexed here. */
export function storedFilter(database: Database): Promise<StoredFilter | undefined> {
  return database.withClient(async (client) => {
    const { rows } = await client.query<StoredFilter>(
      `select s.filter::text as filter, s.filter_hash as "filterHash", s.filter_extended_from as "extendedFrom",
              (select j.request ->> 'filterHash' from jobs j
                where j.name = 'filter-extend' and j.state in ('requested', 'working', 'paused')
                  and j.request ->> 'from' = s.filter_hash) as coming
         from stream s`,
    );
    return rows[0];
  });
}

/** The extension if it was requested and is unfinished. */
export function dueFilterExtension(database: Database): Promise<DueFilterExtension | undefined> {
  return database.withClient(async (client) => {
    const job = await getJob(client, 'filter-extend');
    if (job === undefined || job.state === 'done' || job.state === 'failed') return undefined;
    const request = job.request as FilterExtensionRequest;
    const { rows } = await client.query<{ hash: string; since: number | null }>(
      `select filter_hash as hash, (select max(from_offset) from filter_additions where complete_from is null) as since from stream`,
    );
    const { hash, since } = rows[0] ?? {};
    return {
      request,
      isPaused: job.state === 'paused',
      isSet: hash === request.filterHash,
      notBefore: request.listAt ?? since ?? undefined,
    };
  });
}

/**
 * @throws IndexerError FILTER_EXTEND_REFUSED unless this role may change stored contracts and stage contracts in a
 * schema of their own
 */
export async function assertCanExtendFilter(database: Database): Promise<void> {
  const staging = stagingSchema(database.schema, 'filter_extend');
  const { rows } = await database.withClient((client) =>
    client.query<{ role: string; mayCreate: boolean; mayChange: boolean }>(
      `select current_user::text as role,
              exists (select from pg_namespace where nspname = $1)
                or has_database_privilege(current_database(), 'create') as "mayCreate",
              has_table_privilege('contracts', 'update') and has_table_privilege('stream', 'update')
                and has_table_privilege('filter_additions', 'insert') as "mayChange"`,
      [staging],
    ),
  );
  const { role = '', mayCreate: canCreate = true, mayChange: canChange = true } = rows[0] ?? {};
  if (!canChange) {
    throw refusalError(
      'filter extend',
      `role "${role}" may add rows to this stream but not change them, and an extended filter changes stored contracts`,
      'start the indexer as the owner of the tables (the migrator), run ledger-indexer jobs resume filter-extend, and start it as ' +
        'this role again when ledger-indexer jobs lists it as done',
    );
  }
  if (canCreate) return;
  throw refusalError(
    'filter extend',
    `role "${role}" may not create schema "${staging}", in which contracts are staged`,
    `let the owner of the database run: create schema ${escapeIdentifier(staging)} authorization ${escapeIdentifier(role)}`,
  );
}

/** Progress of the job. */
export type FilterExtensionNote = Partial<JobProgress> & { readonly state?: 'working' | 'done' | 'failed' };

/** Stores progress; false if the job was paused or cancelled. */
export function updateExtensionJob(database: Database, progress: FilterExtensionNote): Promise<boolean> {
  return database.withClient((client) => updateJob(client, 'filter-extend', progress));
}

/** Position of the stream. */
export interface StreamPosition {
  readonly checkpoint: number;
  readonly epoch: number;
}

/**
 * Makes the extended filter the filter in force at the checkpoint, and raises the epoch. Only the holder of the writer
 * lock calls it.
 * @param followedIds interfaces that the stream requests from now on, although views of earlier contracts are missing
 * @throws IndexerError WRITER_FENCED (fenced), FILTER_EXTEND_REFUSED if the filter in force is not the one that was
 * extended
 */
export function setFilterExtension(
  database: Database,
  request: FilterExtensionRequest,
  position: StreamPosition,
  followedIds: readonly string[],
): Promise<void> {
  return maintain(database, async (client) => {
    const stream = await lockCurrentStream(client, position);
    if (stream.filterHash === request.filterHash) return;
    if (stream.filterHash !== request.from) throw otherFilter();
    const { checkpoint } = position;
    const { filter, filterHash, from } = request;
    const { shape } = stream;
    const reason = 'the operator extended the filter';
    const isMissingContracts = await recordFilterParts(client, stream, filter, {
      from: checkpoint,
      completeFrom: null,
    });
    const range = { from: checkpoint, origin: 'filter-extend', filterHash, shape, reason } as const;
    await openRange(client, checkpoint, isMissingContracts ? { ...range, complete: false } : range);
    await client.query(
      `update stream set filter = $1, filter_hash = $2, filter_extended_from = array_append(filter_extended_from, $3), epoch = epoch + 1`,
      [filter, filterHash, from],
    );
    await client.query(
      `insert into filter_interfaces (interface_id, state) select id, 'followed' from unnest($1::text[]) id
       on conflict do nothing`,
      [followedIds],
    );
    if (isMissingContracts) await hold(client, checkpoint);
  });
}

/** Places the hold: updates after the offset are not pruned here until the contracts are staged. */
export async function hold(client: ClientBase, offset: number): Promise<void> {
  await client.query(
    `insert into retention_holds (name, "offset", reason) values ($1, $2, 'active contracts of an extended filter are being added')
     on conflict (name) do update set "offset" = excluded."offset", moved_at = now()`,
    [holdName, offset],
  );
}

/**
 * Locks the stream row and returns it if it is at the expected position.
 * @throws IndexerError WRITER_FENCED (fenced)
 */
export async function lockCurrentStream(
  client: PoolClient,
  { epoch, checkpoint }: Pick<StreamPosition, 'epoch'> & Partial<StreamPosition>,
): Promise<StreamFacts> {
  const stream = await lockStream(client);
  if (stream?.epoch === epoch && (checkpoint === undefined || stream.checkpoint === checkpoint)) return stream;
  throw fencedError('the stream moved while its filter was extended');
}

/** The error if the filter that was to be extended is no longer in force. */
export function otherFilter(): Error {
  return refusalError(
    'filter extend',
    'another filter is in force than the one that was to be extended',
    'check the configured filter, then run again: ledger-indexer filter extend',
  );
}

/**
 * Maps numbers of templates, interfaces and synchronizers in staged rows to those of this schema. Runs between two
 * sessions, because the writer assigns numbers from memory. Raises the epoch.
 */
export function registerStagedNames(database: Database, epoch: number): Promise<void> {
  return maintain(database, async (client) => {
    await lockCurrentStream(client, { epoch });
    const stagingName = escapeIdentifier(stagingSchema(database.schema, 'filter_extend'));
    await client.query(`drop table if exists ${stagingName}.template_map, ${stagingName}.synchronizer_map`);
    await mapSynchronizers(client, stagingName);
    await mapTemplates(client, stagingName);
    await client.query('update stream set epoch = epoch + 1');
  });
}

/** Whether staged rows have the numbers of this schema. */
export function isNamed(database: Database): Promise<boolean> {
  const name = `${escapeIdentifier(stagingSchema(database.schema, 'filter_extend'))}.template_map`;
  return database.withClient(async (client) => {
    const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [name]);
    return rows[0]?.there === true;
  });
}

/** Drops the staging schema and releases the hold. Runs in the caller's transaction. */
export async function dropFilterExtension(client: ClientBase, schema: string): Promise<void> {
  await dropStaging(client, schema, 'filter_extend');
  await client.query('delete from retention_holds where name = $1', [holdName]);
}

/** Drops the staging schema of a filter extension that was cancelled. */
export function tidyFilterExtension(database: Database): Promise<void> {
  return maintain(database, async (client) => {
    const { rows } = await client.query(
      `select from jobs where name = 'filter-extend' and state in ('requested', 'working', 'paused') for update`,
    );
    if (rows.length === 0) await dropFilterExtension(client, database.schema);
  });
}
