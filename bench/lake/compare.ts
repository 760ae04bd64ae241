/**
 * Compares a lake with Postgres by one hash per table over its rows as texts: from the views of schema explore, and
 * from the files. The readers share no code with the writer of the files.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { escapeIdentifier } from 'pg';
import type { AsyncBuffer } from 'hyparquet';

export interface LakeColumn {
  readonly name: string;
  readonly type: string;
}

export interface LakeFile {
  readonly table: string;
  readonly path: string | null;
  readonly rows: number;
  readonly bytes: number;
}

export interface LakeManifest {
  readonly until: number;
  readonly tables: Readonly<Record<string, { readonly columns: readonly LakeColumn[] }>>;
  readonly files: readonly LakeFile[];
}

/** The manifest of a lake with the ranges and files of all of its segments. */
export function readManifest(dir: string): object {
  const textOf = (name: string): string => readFileSync(join(dir, name), 'utf8');
  const {
    segments,
    previousSegments: _previousSegments,
    ...head
  } = JSON.parse(textOf('manifest.json')) as {
    segments: readonly { path: string }[];
    previousSegments: unknown;
  };
  const segmentFiles = segments.map(
    ({ path }) => JSON.parse(textOf(path)) as Record<'ranges' | 'files', readonly object[]>,
  );
  const lists = {
    ranges: segmentFiles.flatMap(({ ranges }) => ranges),
    files: segmentFiles.flatMap(({ files }) => files),
  };
  return { ...head, ...lists };
}

export interface TableHash {
  readonly rows: number;
  readonly md5: string;
}

/** SQL for the rows of each table from the views for readers, with all columns of the lake. `$until` is substituted. */
function expectedSql(table: string, explore: string, typedSchema: string): string {
  const sql: Readonly<Record<string, string>> = {
    updates: `select * from ${explore}.updates where "offset" <= $until`,
    contracts: `select * from ${explore}.contracts where created_at_offset <= $until`,
    contract_ends: `
      select l.ended_offset as "offset", l.kind, l.ended_node_id, l.ended_at, t.template_fqn, t.package_name,
             t.module_name, t.entity_name, t.package_id, l.activated_offset as created_at_offset, l.node_id, s.synchronizer_id
        from (select s.*, s.deactivated_offset as ended_offset, case s.ended_by when 'a' then 'archived'
                     when 'r' then 'unassigned' when 'e' then 'ended' when 'w' then 'witnessed' end as kind
                from contract_states s where s.ended_by is not null
              union all
              select contract_id, synchronizer_pk, activated_offset, node_id, template_pk, parties_pk, null, unhosted_since, null,
                     null, null, unhosted_since, 'unhosted' from contract_states where unhosted_since is not null) l
        join templates p on p.template_pk = l.template_pk
        join ${explore}.templates t on t.package_id = p.package_id and t.module_name = p.module_name
                                   and t.entity_name = p.entity_name
        join synchronizers s on s.synchronizer_pk = l.synchronizer_pk
       where l.ended_offset <= $until`,
    exercises: `select * from ${explore}.exercises where "offset" <= $until`,
    interface_views: `
      select v.*, r.node_id, i.package_id || ':' || i.module_name || ':' || i.entity_name as interface_id
        from interface_views r
        join contracts c on c."offset" = r."offset" and c.node_id = r.node_id
        join templates i on i.template_pk = r.interface_pk
        left join packages p on p.package_id = i.package_id
        join ${explore}.interface_views v on v."offset" = r."offset" and v.contract_id = id_text(c.contract_id)
         and v.interface_fqn = concat_ws(':', coalesce(i.package_name, p.package_name, i.package_id), i.module_name, i.entity_name)
         and v.implementation_package_id is not distinct from r.implementation_package_id
       where r."offset" <= $until`,
    reassignments: `select * from ${explore}.reassignments where "offset" <= $until`,
    topology_events: `select y.*, u.record_time, u.synchronizer_id from topology_events y
                        left join ${explore}.updates u using ("offset") where "offset" <= $until`,
  };
  const tableQuery = sql[table];
  if (tableQuery !== undefined) return tableQuery;
  const name = table.slice('typed.'.length);
  return `select * from ${typedSchema}.${escapeIdentifier(name)}`;
}

export interface Schemas {
  readonly storage: string;
  readonly explore: string;
  readonly typed: string;
}

/** Hash of a table in Postgres. @param view name of a view in schema typed, if it is not the name of the table */
export async function hashInPostgres(
  client: Client,
  { until: untilOffset, tables }: LakeManifest,
  table: string,
  { storage: storageSchema, explore, typed: typedSchema }: Schemas,
  view?: string,
): Promise<TableHash> {
  await client.query(`set search_path = ${storageSchema}; set time zone 'UTC'; set intervalstyle = 'iso_8601'`);
  const columns = tables[table]?.columns ?? [];
  const rows = expectedSql(view ?? table, explore, typedSchema).replaceAll('$until', String(untilOffset));
  const texts = columns.map((column) => `coalesce(${postgresText(column)}, '∅')`);
  const { rows: hashRow } = await client.query<TableHash>(
    `select count(*)::int as rows, coalesce(md5(string_agg(m, '' order by m collate "C")), '') as md5
       from (select md5(concat_ws('|', ${texts.join(', ')})) as m from (${rows}) x) y`,
  );
  return hashRow[0] ?? { rows: 0, md5: '' };
}

function postgresText({ name, type }: LakeColumn): string {
  const column = `x.${escapeIdentifier(name)}`;
  if (type === 'timestamp') return `(extract(epoch from ${column}) * 1000000)::numeric(30)::text`;
  if (type === 'texts') return `'[' || array_to_string(${column}, ';') || ']'`;
  if (type === 'decimal') return `trim_scale(${column})::text`;
  return `${column}::text`;
}

/** Hash that DuckDB computes from the files in the manifest. @param query runs a statement and returns the first row */
export async function hashInDuckDb(
  query: (sql: string) => Promise<Record<string, unknown> | undefined>,
  folder: string,
  manifest: LakeManifest,
  table: string,
): Promise<TableHash> {
  const paths = pathsOf(folder, manifest, table).map((path) => `'${path.replaceAll("'", "''")}'`);
  const columns = manifest.tables[table]?.columns ?? [];
  const texts = columns.map((column) => `coalesce(${duckText(column)}, '∅')`);
  const hashResult = await query(
    `select count(*)::int as rows, coalesce(md5(string_agg(m, '' order by m)), '') as md5
       from (select md5(concat_ws('|', ${texts.join(', ')})) as m from read_parquet([${paths.join(', ')}]) x) y`,
  );
  return { rows: Number(hashResult?.['rows']), md5: String(hashResult?.['md5']) };
}

function duckText({ name, type }: LakeColumn): string {
  const column = `x."${name.replaceAll('"', '""')}"`;
  if (type === 'timestamp') return `epoch_us(${column})::varchar`;
  if (type === 'texts')
    return `'[' || coalesce(array_to_string(${column}, ';'), case when ${column} is not null then '' end) || ']'`;
  if (type === 'decimal')
    return `regexp_replace(regexp_replace(${column}::varchar, '(\\.\\d*?)0+$', '\\1'), '\\.$', '')`;
  return `${column}::varchar`;
}

/** Hash computed with hyparquet, which reads one file at a time. */
export async function hashInHyparquet(folder: string, manifest: LakeManifest, table: string): Promise<TableHash> {
  const { asyncBufferFromFile, parquetReadObjects } = await import('hyparquet');
  const { compressors } = await import('hyparquet-compressors');
  const columns = manifest.tables[table]?.columns ?? [];
  const hashes: string[] = [];
  for (const path of pathsOf(folder, manifest, table)) {
    const file: AsyncBuffer = await asyncBufferFromFile(path);
    const parsers = { timestampFromMicroseconds: (value: bigint) => value };
    for (const row of await parquetReadObjects({ file, compressors, parsers })) {
      const texts = columns.map(({ name }) => scriptText(row[name] as Value));
      hashes.push(createHash('md5').update(texts.join('|')).digest('hex'));
    }
  }
  if (hashes.length === 0) return { rows: 0, md5: '' };
  return { rows: hashes.length, md5: createHash('md5').update(hashes.sort().join('')).digest('hex') };
}

type Value = string | number | bigint | boolean | readonly string[] | null | undefined;

/** hyparquet reads decimals as floats, so tables with decimals are compared only by the other readers. */
function scriptText(value: Value): string {
  if (value === null || value === undefined) return '∅';
  return typeof value === 'object' ? `[${value.join(';')}]` : String(value);
}

function pathsOf(folder: string, { files }: LakeManifest, table: string): readonly string[] {
  return files.flatMap((file) => (file.table === table && file.path !== null ? [join(folder, file.path)] : []));
}
