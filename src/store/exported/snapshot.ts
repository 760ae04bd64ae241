/** Snapshots of the database. A snapshot contains facts about the stream and the rows at one moment. */
import type { ClientBase } from 'pg';
import { IndexerError } from '../../errors/indexer-error.ts';
import { type Database, rollBack } from '../connection/database.ts';
import { reportPlanning } from '../connection/report-planning.ts';
import { toStoreError } from '../connection/store-error.ts';
import { loadRedactions } from '../retention/redaction-store.ts';
import { copyOut } from './copy-out.ts';
import { derivedTables } from './derived-tables.ts';
import { copyStatement, describe, descriptionOf, type ExportedTable } from './described.ts';
import type { ReadFacts, Reads, Snapshot } from './reads.ts';
import { storedTables } from './stored-tables.ts';
import { typedTables } from './typed-tables.ts';

/**
 * Settings of the transaction. It has no time limit, because reading an entire range may take long. Times are in UTC.
 */
const settings = [
  'set local statement_timeout = 0',
  'set local idle_in_transaction_session_timeout = 0',
  reportPlanning,
  "set local work_mem = '64MB'",
  "set local time zone 'UTC'",
  "set local intervalstyle = 'iso_8601'",
].join('; ');

/** The snapshots of a database. Nothing is written, so the database may be a standby. */
export function readsOf(database: Database): Reads {
  return { inSnapshot: (use) => inSnapshot(database, use) };
}

/** @throws IndexerError EXPORT_NOT_READY, EXPORT_REFUSED, STORE_ errors; any error of `use`, unchanged */
async function inSnapshot<T>(database: Database, use: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const failures: unknown[] = [];
  try {
    return await database.withClient(async (client) => {
      await client.query('begin transaction isolation level repeatable read, read only');
      try {
        await client.query(settings);
        const snapshot = snapshotOf(client, database.schema, await readExportFacts(client));
        return await use(snapshot).catch((thrown: unknown) => {
          failures.push(thrown);
          throw thrown;
        });
      } finally {
        await rollBack(client);
      }
    });
  } catch (thrown) {
    throw failures.length === 0 ? thrown : failures[0];
  }
}

function snapshotOf(client: ClientBase, schema: string, facts: ReadFacts): Snapshot {
  const exportedTables = new Map<string, ExportedTable>();
  const tables = async (isRequested: (name: string) => boolean) => {
    const requestedTables = [
      ...storedTables,
      ...(await typedTables(client, schema, isRequested)),
      ...(await derivedTables(client, schema, isRequested)),
    ];
    for (const table of requestedTables) exportedTables.set(table.name, await describe(client, table));
    return requestedTables.flatMap(({ name }) => descriptionOf(exportedTables.get(name)));
  };
  return {
    facts,
    tables: (isRequested) => withStoreErrors(tables(isRequested)),
    rows: (name, from, to) => {
      const table = exportedTables.get(name);
      if (table === undefined) throw new TypeError(`table ${name} was not described`);
      return copyOut(client, copyStatement(table, from, to, hasUnhosted(facts, from, to)));
    },
    endOfRange: (after, lastOffset, rows) => withStoreErrors(endOfRange(client, after, lastOffset, rows)),
    redactions: () => withStoreErrors(loadRedactions(client)),
    epochAt: (offset) => withStoreErrors(epochAt(client, offset)),
  };
}

/** Converts exceptions of the driver to store errors. */
async function withStoreErrors<T>(pendingResult: Promise<T>): Promise<T> {
  try {
    return await pendingResult;
  } catch (thrown) {
    throw toStoreError(thrown);
  }
}

function hasUnhosted({ unhostedRange }: ReadFacts, from: number, to: number): boolean {
  return unhostedRange !== undefined && unhostedRange.from <= to && unhostedRange.to >= from;
}

async function readExportFacts(client: ClientBase): Promise<ReadFacts> {
  await assertNotLimited(client);
  const { rows } = await client.query<{
    participant: string | null;
    filterHash: string;
    shape: string;
    checkpoint: number | null;
    kept: number | null;
    seeded: boolean;
  }>(
    `select participant_id as participant, filter_hash as "filterHash", transaction_shape as shape, checkpoint,
            pruned_to_offset as kept, seeded_at is not null as seeded from stream`,
  );
  const [stream] = rows;
  if (stream === undefined || !stream.seeded || stream.checkpoint === null) {
    throw new IndexerError('nothing is published in this schema yet: there is nothing to export', {
      code: 'EXPORT_NOT_READY',
    });
  }
  const { participant, filterHash, shape, checkpoint, kept: prunedOffset } = stream;
  const exportMarks = await readExportMarks(client);
  return { participant, filterHash, shape, checkpoint, prunedToOffset: prunedOffset ?? -1, ...exportMarks };
}

/**
 * Refuses roles that may not read all rows. With such a role, the files would lack rows although they claim to be
 * complete.
 */
async function assertNotLimited(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ limited: boolean }>(
    `select row_security_active('contracts') and exists (
       select from pg_policy p, unnest(p.polroles) r (oid)
        where p.polrelid = 'contracts'::regclass and not p.polpermissive and (r.oid = 0 or pg_has_role(r.oid, 'usage'))) as limited`,
  );
  if (rows[0]?.limited !== true) return;
  throw new IndexerError('nothing was exported: this role may see the rows of certain parties only', {
    code: 'EXPORT_REFUSED',
    remedy: 'connect as the owner of the tables, or as a reader of everything (grant-reader without --party)',
  });
}

type ExportMarks = Omit<ReadFacts, 'participant' | 'filterHash' | 'shape' | 'checkpoint' | 'prunedToOffset'>;

async function readExportMarks(client: ClientBase): Promise<ExportMarks> {
  const coverageRows = await client.query<ReadFacts['coverage'][number]>(
    `select from_offset as from, to_offset as to, origin,
            to_char(greatest(recorded_at, (select max(updated_at) from filter_additions)),
                    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "recordedAt"
       from coverage order by from_offset, recorded_at`,
  );
  const interfaces = await client.query<{ mark: string }>(
    `select coalesce(md5(string_agg(concat_ws(' ', interface_id, state, complete_from), ',' order by interface_id)), '') as mark
       from filter_interfaces`,
  );
  const unreadPackages = await client.query<{ id: string }>(
    `select distinct t.package_id as id from templates t
      where not exists (select from packages p where p.package_id = t.package_id) order by 1`,
  );
  const lateUpdates = await client.query<ReadFacts['lateUpdates'][number]>(
    'select -batch_offset as "offset", epoch from batches where batch_offset < 0 order by 1',
  );
  const departed = await client.query<{ from: number | null; to: number | null }>(
    'select min(unhosted_since) as from, max(unhosted_since) as to from ended where unhosted_since is not null',
  );
  const redactions = await readRedactionMarks(client);
  const { from = null, to = null } = departed.rows[0] ?? {};
  return {
    coverage: coverageRows.rows,
    interfacesFingerprint: interfaces.rows[0]?.mark ?? '',
    unreadPackages: unreadPackages.rows.map(({ id }) => id),
    lateUpdates: lateUpdates.rows,
    ...redactions,
    redacted: await readRedactedOffsets(client),
    unhostedRange: from === null || to === null ? undefined : { from, to },
  };
}

/** The sum of the hashes is used because it does not depend on the order of the rows. */
async function readRedactionMarks(
  client: ClientBase,
): Promise<Pick<ReadFacts, 'redactionsFingerprint' | 'prunedRedactionsFingerprint'>> {
  const contractMark = `concat_ws(' ', count(*), sum(hashtextextended(concat_ws(' ', contract_id, exercises), 0)::numeric))`;
  const exerciseMark = `concat_ws(' ', count(*), sum(hashtextextended(concat_ws(' ', "offset", node_id, update_id), 0)::numeric))`;
  const { rows } = await client.query<{ all: string; pruned: string }>(
    `select concat_ws(' ', (select ${contractMark} from redacted_contracts), (select ${exerciseMark} from redacted_exercises)) as all,
            concat_ws(' ',
              (select ${contractMark} from redacted_contracts r
                where not exists (select from contract_states s where s.contract_id = r.contract_id)),
              (select ${exerciseMark} from redacted_exercises r
                where not exists (select from exercises e where e."offset" = r."offset" and e.node_id = r.node_id))) as pruned`,
  );
  return { redactionsFingerprint: rows[0]?.all ?? '', prunedRedactionsFingerprint: rows[0]?.pruned ?? '' };
}

/**
 * Finds redacted rows by the ids and positions in the redactions. There are few redactions, and the searched columns
 * are indexed.
 */
async function readRedactedOffsets(client: ClientBase): Promise<ReadFacts['redacted']> {
  const redactedSource = `from redacted_contracts r join contract_states s on s.contract_id = r.contract_id`;
  const offsets = async (sql: string): Promise<readonly number[]> => {
    const { rows } = await client.query<{ offset: number }>(sql);
    return rows.map(({ offset }) => offset);
  };
  return {
    contracts: await offsets(
      `select c."offset" ${redactedSource} join contracts c on c."offset" = s.activated_offset and c.node_id = s.node_id
        where c.redaction_id is not null order by 1`,
    ),
    interface_views: await offsets(
      `select v."offset" ${redactedSource} join interface_views v on v."offset" = s.activated_offset and v.node_id = s.node_id
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

async function endOfRange(client: ClientBase, after: number, lastOffset: number, rows: number): Promise<number> {
  const nth = (table: string): string =>
    `(select "offset" from ${table} where "offset" > $1 order by "offset" offset $3 limit 1)`;
  const rangeEnd = await client.query<{ end: number }>(
    `select least($2, ${nth('updates')}, ${nth('contracts')}, ${nth('exercises')}) as end`,
    [after, lastOffset, rows - 1],
  );
  return rangeEnd.rows[0]?.end ?? lastOffset;
}

async function epochAt(client: ClientBase, offset: number): Promise<number | null> {
  const { rows } = await client.query<{ epoch: number }>(
    `select epoch from batches where batch_offset >= 0 and batch_offset < $1 order by batch_offset desc limit 1`,
    [offset],
  );
  return rows[0]?.epoch ?? null;
}
