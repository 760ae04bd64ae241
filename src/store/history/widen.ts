/**
 * A filter that is widened while the stream runs, as the database knows it: what was asked for, the filter in force and
 * those that may stand in for it, and the moment at which another one comes into force.
 */
import { escapeIdentifier } from 'pg';
import type { ClientBase, PoolClient } from 'pg';
import type { StoredFilter, WantedWidening, WorkProgress } from '../../model/stream.ts';
import type { Database } from '../connection/database.ts';
import { fenced } from '../write/stream-row.ts';
import { openRange } from './coverage-ranges.ts';
import { noteParts } from './filter-parts.ts';
import { lockStream, maintain, refused, type StreamFacts } from './maintenance.ts';
import { mapSynchronizers, mapTemplates } from './staged-rows.ts';
import { dropStaging, stagingSchema } from './staging.ts';
import { findWork, noteWork } from './works.ts';

/** Name of its row in `retention_holds`: what ended since it began must not go before it is gathered. */
const holdName = 'widen';

/** What there is to do. */
export interface DueWidening {
  readonly wanted: WantedWidening;
  /** It waits until it is resumed. */
  readonly isStopped: boolean;
  /** The filter is in force already. */
  readonly isSet: boolean;
  /** What was active at an earlier offset is of no use; undefined: nothing is missing. */
  readonly notBefore: number | undefined;
}

/** The filter in force; undefined when nothing was ever indexed here. */
export function storedFilter(database: Database): Promise<StoredFilter | undefined> {
  return database.withClient(async (client) => {
    const { rows } = await client.query<StoredFilter>(
      `select s.filter::text as filter, s.filter_hash as "filterHash", s.widened_from as "widenedFrom",
              (select w.wanted ->> 'filterHash' from works w
                where w.name = 'widen' and w.state in ('asked', 'working', 'stopped')
                  and w.wanted ->> 'from' = s.filter_hash) as coming
         from stream s`,
    );
    return rows[0];
  });
}

/** What was asked for and is not finished. */
export function dueWidening(database: Database): Promise<DueWidening | undefined> {
  return database.withClient(async (client) => {
    const work = await findWork(client, 'widen');
    if (work === undefined || work.state === 'done' || work.state === 'failed') return undefined;
    const wanted = work.wanted as WantedWidening;
    const { rows } = await client.query<{ hash: string; since: number | null }>(
      `select filter_hash as hash, (select max(from_offset) from filter_parts where complete_from is null) as since from stream`,
    );
    const { hash, since } = rows[0] ?? {};
    return {
      wanted,
      isStopped: work.state === 'stopped',
      isSet: hash === wanted.filterHash,
      notBefore: wanted.listAt ?? since ?? undefined,
    };
  });
}

/** @throws IndexerError WIDEN_REFUSED unless this role may change stored contracts, and gather others in a schema */
export async function assertMayWiden(database: Database): Promise<void> {
  const staging = stagingSchema(database.schema, 'widen');
  const { rows } = await database.withClient((client) =>
    client.query<{ role: string; mayCreate: boolean; mayChange: boolean }>(
      `select current_user::text as role,
              exists (select from pg_namespace where nspname = $1)
                or has_database_privilege(current_database(), 'create') as "mayCreate",
              has_table_privilege('contracts', 'update') and has_table_privilege('stream', 'update')
                and has_table_privilege('filter_parts', 'insert') as "mayChange"`,
      [staging],
    ),
  );
  const { role = '', mayCreate = true, mayChange = true } = rows[0] ?? {};
  if (!mayChange) {
    throw refused(
      'widen',
      `role "${role}" may add rows to this stream and change none, and a wider filter changes what is known of contracts`,
      'start the indexer as the owner of the tables (the migrator), run ledger-indexer works resume widen, and start it as ' +
        'this role again when ledger-indexer works says that it is done',
    );
  }
  if (mayCreate) return;
  throw refused(
    'widen',
    `role "${role}" may not create schema "${staging}", in which contracts are gathered`,
    `let the owner of the database run: create schema ${escapeIdentifier(staging)} authorization ${escapeIdentifier(role)}`,
  );
}

/** How far it is. */
export type WideningNote = Partial<WorkProgress> & { readonly state?: 'working' | 'done' | 'failed' };

/** Says how far it is; false when it was stopped or given up. */
export function noteWidening(database: Database, progress: WideningNote): Promise<boolean> {
  return database.withClient((client) => noteWork(client, 'widen', progress));
}

/** Where the stream stands. */
export interface Standing {
  readonly checkpoint: number;
  readonly epoch: number;
}

/**
 * Brings the wider filter into force at the checkpoint. To be called by the holder of the writer lock only; the epoch rises.
 * @param followed interfaces that the stream asks for from here on, although views of earlier contracts are missing
 * @throws IndexerError CHECKPOINT_MOVED (fenced), WIDEN_REFUSED when another filter is in force than was widened
 */
export function setWidening(
  database: Database,
  wanted: WantedWidening,
  at: Standing,
  followed: readonly string[],
): Promise<void> {
  return maintain(database, async (client) => {
    const stream = await standing(client, at);
    if (stream.filterHash === wanted.filterHash) return;
    if (stream.filterHash !== wanted.from) throw otherFilter();
    const { checkpoint } = at;
    const { filter, filterHash, from } = wanted;
    const { shape } = stream;
    const reason = 'the operator widened the filter';
    const lacks = await noteParts(client, stream, filter, { from: checkpoint, completeFrom: null });
    const range = { from: checkpoint, origin: 'widen', filterHash, shape, reason } as const;
    await openRange(client, checkpoint, lacks ? { ...range, complete: false } : range);
    await client.query(
      `update stream set filter = $1, filter_hash = $2, widened_from = array_append(widened_from, $3), epoch = epoch + 1`,
      [filter, filterHash, from],
    );
    await client.query(
      `insert into filter_interfaces (interface_id, state) select id, 'followed' from unnest($1::text[]) id
       on conflict do nothing`,
      [followed],
    );
    if (lacks) await hold(client, checkpoint);
  });
}

/** Nothing after the offset is pruned here until the contracts are gathered. */
export async function hold(client: ClientBase, offset: number): Promise<void> {
  await client.query(
    `insert into retention_holds (name, "offset", reason) values ($1, $2, 'contracts of a wider filter are gathered')
     on conflict (name) do update set "offset" = excluded."offset", moved_at = now()`,
    [holdName, offset],
  );
}

/** The stream row, locked, where it must be. @throws IndexerError CHECKPOINT_MOVED (fenced) */
export async function standing(
  client: PoolClient,
  { epoch, checkpoint }: Pick<Standing, 'epoch'> & Partial<Standing>,
): Promise<StreamFacts> {
  const stream = await lockStream(client);
  if (stream?.epoch === epoch && (checkpoint === undefined || stream.checkpoint === checkpoint)) return stream;
  throw fenced('the stream moved while its filter was widened');
}

/** The filter that was to be widened is not in force any more. */
export function otherFilter(): Error {
  return refused(
    'widen',
    'another filter is in force than the one that was to be widened',
    'look at what is wanted now, and ask again: ledger-indexer widen',
  );
}

/**
 * Gives what was gathered our numbers of templates, interfaces and synchronizers. Between two sessions, because the writer
 * numbers new ones in memory; the epoch rises.
 */
export function nameStaged(database: Database, epoch: number): Promise<void> {
  return maintain(database, async (client) => {
    await standing(client, { epoch });
    const staged = escapeIdentifier(stagingSchema(database.schema, 'widen'));
    await client.query(`drop table if exists ${staged}.template_map, ${staged}.synchronizer_map`);
    await mapSynchronizers(client, staged);
    await mapTemplates(client, staged);
    await client.query('update stream set epoch = epoch + 1');
  });
}

/** Whether what was gathered has our numbers. */
export function isNamed(database: Database): Promise<boolean> {
  const name = `${escapeIdentifier(stagingSchema(database.schema, 'widen'))}.template_map`;
  return database.withClient(async (client) => {
    const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [name]);
    return rows[0]?.there === true;
  });
}

/** Removes what was gathered, and the hold with it. Part of the caller's transaction. */
export async function dropWidening(client: ClientBase, schema: string): Promise<void> {
  await dropStaging(client, schema, 'widen');
  await client.query('delete from retention_holds where name = $1', [holdName]);
}

/** What was gathered for a widening that nobody wants any more goes. */
export function tidyWidening(database: Database): Promise<void> {
  return maintain(database, async (client) => {
    const { rows } = await client.query(
      `select from works where name = 'widen' and state in ('asked', 'working', 'stopped') for update`,
    );
    if (rows.length === 0) await dropWidening(client, database.schema);
  });
}
