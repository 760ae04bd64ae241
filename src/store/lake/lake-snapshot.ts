/** The one snapshot that a lake is written from, and what decides which ranges are written and written anew. */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Redactions } from '../../model/redactions.ts';
import { type Database, rollBack } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import { loadRedactions } from '../retention/redaction-store.ts';
import { describe, type DescribedSource } from './described.ts';
import { lakeSources, type RedactedRows } from './lake-tables.ts';
import { rangeRows, type RowGroup } from './range-source.ts';
import { typedSources } from './typed-sources.ts';

export interface LakeFacts {
  readonly participant: string | null;
  readonly filterHash: string;
  readonly shape: string;
  readonly checkpoint: number;
  /** Updates up to this offset were pruned here; -1 when none were. */
  readonly keptOffset: number;
  readonly coverage: readonly { from: number; to: number | null; origin: string; recordedAt: string }[];
  /** Which views of interfaces there are, as one text. */
  readonly interfaces: string;
  /** Packages that contracts and exercises name and that nobody has read. */
  readonly unread: readonly string[];
  /** Updates that came late, with the epoch that stored them, in the order of their offsets. */
  readonly late: readonly { readonly offset: number; readonly epoch: number }[];
  /** Tells one list of redactions from another, whatever was pruned since. */
  readonly redactions: string;
  /** Offsets of redacted rows, in order. */
  readonly redacted: Readonly<Record<RedactedRows, readonly number[]>>;
  /** First and last offset at which contracts that have ended had lost all of their parties; undefined: none had. */
  readonly departed: { readonly from: number; readonly to: number } | undefined;
}

/** Whole ranges are read, for as long as it takes. In UTC, and every number with all of its digits. */
const settings = [
  'set local statement_timeout = 0',
  'set local idle_in_transaction_session_timeout = 0',
  reportPlanning,
  "set local work_mem = '64MB'",
  "set local time zone 'UTC'",
  "set local intervalstyle = 'iso_8601'",
].join('; ');

export interface LakeSnapshot {
  readonly facts: LakeFacts;
  /** The tables that every lake has, and the typed views that are wanted by name (`typed.NAME`), with their columns. */
  sources(isWanted: (name: string) => boolean): Promise<readonly DescribedSource[]>;
  /** Rows of a table in a range of offsets, both ends part of it. To be read to its end. */
  rows(source: DescribedSource, from: number, to: number): AsyncGenerator<RowGroup>;
  /**
   * Last offset of the range that begins after `after`: where a table has so many rows of it, or `until`. It depends on what
   * is stored after `after` and on nothing else, so that whoever is stopped goes on with the same ranges.
   */
  endOfRange(after: number, until: number, rows: number): Promise<number>;
  /** Everything that was ever redacted; undefined: nothing. */
  redactions(): Promise<Redactions | undefined>;
  /** Epoch of the newest batch that began before an offset; null where there is none: pruned, or of a seed. */
  epochAt(offset: number): Promise<number | null>;
}

/**
 * Lends `work` one REPEATABLE READ READ ONLY transaction, in which nothing is written: a standby has it too.
 * @throws IndexerError EXPORT_NOT_READY, LAKE_REFUSED
 */
export function inLakeSnapshot<T>(database: Database, work: (snapshot: LakeSnapshot) => Promise<T>): Promise<T> {
  return database.withClient(async (client) => {
    await client.query('begin transaction isolation level repeatable read, read only');
    try {
      await client.query(settings);
      const facts = await readFacts(client);
      return await work({
        facts,
        sources: async (isWanted) => {
          const sources: DescribedSource[] = [];
          const typed = await typedSources(client, database.schema, isWanted);
          for (const source of [...lakeSources, ...typed]) sources.push(await describe(client, source));
          return sources;
        },
        rows: (source, from, to) => rangeRows(client, source, [from, to], hasDeparted(facts, from, to)),
        endOfRange: (after, until, rows) => endOfRange(client, after, until, rows),
        redactions: () => loadRedactions(client),
        epochAt: (offset) => epochAt(client, offset),
      });
    } finally {
      await rollBack(client);
    }
  });
}

function hasDeparted({ departed }: LakeFacts, from: number, to: number): boolean {
  return departed !== undefined && departed.from <= to && departed.to >= from;
}

async function readFacts(client: ClientBase): Promise<LakeFacts> {
  await refuseLimited(client);
  const { rows } = await client.query<{
    participant: string | null;
    filterHash: string;
    shape: string;
    checkpoint: number | null;
    kept: number | null;
    seeded: boolean;
  }>(
    `select participant_id as participant, filter_hash as "filterHash", transaction_shape as shape, checkpoint,
            kept_offset as kept, seeded_at is not null as seeded from stream`,
  );
  const [stream] = rows;
  if (stream === undefined || !stream.seeded || stream.checkpoint === null) {
    throw new IndexerError('nothing is published in this schema yet: there is nothing to export', {
      code: 'EXPORT_NOT_READY',
    });
  }
  const { participant, filterHash, shape, checkpoint, kept } = stream;
  const marks = await readMarks(client);
  return { participant, filterHash, shape, checkpoint, keptOffset: kept ?? -1, ...marks };
}

/** Rows that a role does not see would be missing from files that say they are whole. */
async function refuseLimited(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ limited: boolean }>(
    `select row_security_active('contracts') and exists (
       select from pg_policy p, unnest(p.polroles) r (oid)
        where p.polrelid = 'contracts'::regclass and not p.polpermissive and (r.oid = 0 or pg_has_role(r.oid, 'usage'))) as limited`,
  );
  if (rows[0]?.limited !== true) return;
  throw new IndexerError('nothing was exported: this role sees the rows of certain parties only', {
    code: 'LAKE_REFUSED',
    remedy: 'connect as the owner of the tables, or as a reader of everything (grant-reader without --party)',
  });
}

type Marks = Omit<LakeFacts, 'participant' | 'filterHash' | 'shape' | 'checkpoint' | 'keptOffset'>;

async function readMarks(client: ClientBase): Promise<Marks> {
  const coverage = await client.query<LakeFacts['coverage'][number]>(
    `select from_offset as from, to_offset as to, origin,
            to_char(greatest(recorded_at, (select max(noted_at) from filter_parts)),
                    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "recordedAt"
       from coverage order by from_offset, recorded_at`,
  );
  const interfaces = await client.query<{ mark: string }>(
    `select coalesce(md5(string_agg(concat_ws(' ', interface_id, state, complete_from), ',' order by interface_id)), '') as mark
       from filter_interfaces`,
  );
  const unread = await client.query<{ id: string }>(
    `select distinct t.package_id as id from templates t
      where not exists (select from packages p where p.package_id = t.package_id) order by 1`,
  );
  const late = await client.query<LakeFacts['late'][number]>(
    'select -batch_offset as "offset", epoch from batches where batch_offset < 0 order by 1',
  );
  const departed = await client.query<{ from: number | null; to: number | null }>(
    'select min(unknown_since) as from, max(unknown_since) as to from ended where unknown_since is not null',
  );
  // Sums of hashes, so that no order of the list matters.
  const redactions = await client.query<{ mark: string }>(
    `select concat_ws(' ',
              (select concat_ws(' ', count(*), sum(hashtextextended(concat_ws(' ', contract_id, exercises), 0)::numeric)) from redacted_contracts),
              (select concat_ws(' ', count(*), sum(hashtextextended(concat_ws(' ', "offset", node_id, update_id), 0)::numeric)) from redacted_exercises)) as mark`,
  );
  const { from = null, to = null } = departed.rows[0] ?? {};
  return {
    coverage: coverage.rows,
    interfaces: interfaces.rows[0]?.mark ?? '',
    unread: unread.rows.map(({ id }) => id),
    late: late.rows,
    redactions: redactions.rows[0]?.mark ?? '',
    redacted: await readRedacted(client),
    departed: from === null || to === null ? undefined : { from, to },
  };
}

/** By the ids and places that were redacted: they are few beside the rows, and there are indexes for them. */
async function readRedacted(client: ClientBase): Promise<LakeFacts['redacted']> {
  const places = `from redacted_contracts r join contract_states s on s.contract_id = r.contract_id`;
  const offsets = async (sql: string): Promise<readonly number[]> => {
    const { rows } = await client.query<{ offset: number }>(sql);
    return rows.map(({ offset }) => offset);
  };
  return {
    contracts: await offsets(
      `select c."offset" ${places} join contracts c on c."offset" = s.activated_offset and c.node_id = s.node_id
        where c.redaction_id is not null order by 1`,
    ),
    interface_views: await offsets(
      `select v."offset" ${places} join interface_views v on v."offset" = s.activated_offset and v.node_id = s.node_id
        where v.redaction_id is not null order by 1`,
    ),
    exercises: await offsets(
      `select "offset" from (
         select e."offset", e.node_id from redacted_contracts r join exercises e on id_text(e.contract_id) = r.contract_id
          where r.exercises and e.redaction_id is not null
         union
         select e."offset", e.node_id from redacted_exercises r join exercises e using ("offset", node_id)
          where e.redaction_id is not null) x order by 1`,
    ),
  };
}

async function endOfRange(client: ClientBase, after: number, until: number, rows: number): Promise<number> {
  const nth = (table: string): string =>
    `(select "offset" from ${table} where "offset" > $1 order by "offset" offset $3 limit 1)`;
  const found = await client.query<{ end: number }>(
    `select least($2, ${nth('updates')}, ${nth('contracts')}, ${nth('exercises')}) as end`,
    [after, until, rows - 1],
  );
  return found.rows[0]?.end ?? until;
}

async function epochAt(client: ClientBase, offset: number): Promise<number | null> {
  const { rows } = await client.query<{ epoch: number }>(
    `select epoch from batches where batch_offset >= 0 and batch_offset < $1 order by batch_offset desc limit 1`,
    [offset],
  );
  return rows[0]?.epoch ?? null;
}
