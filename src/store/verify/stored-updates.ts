/** Digests of stored rows in a range of offsets, and the fields of one row if its digest differs. */
import type { ClientBase } from 'pg';
import { constantOne, tablesOf } from '../connection/query-builder.ts';
import { comparedFields, type RowKind } from '../../model/compared-rows.ts';
import { fieldExpressions, lineDigest, templateJoin } from './stored-lines.ts';

export interface StoredRowLine {
  readonly offset: number;
  /** Key in the same notation as for the ledger, see `ComparableRow`. */
  readonly key: string;
  readonly kind: RowKind;
  /** SHA-256 of the line, in hexadecimal. */
  readonly digest: string;
  readonly redacted: boolean;
}

interface Source {
  readonly kind: RowKind;
  readonly key: string;
  readonly redaction?: string;
  /** SQL: rows as `r` with `"offset"` from $1 (exclusive) to $2 (inclusive), with the joins that the fields need. */
  readonly from: string;
}

const inRangeSql = 'r."offset" > $1 and r."offset" <= $2';

const sources: readonly Source[] = [
  {
    kind: 'update',
    key: `'update'`,
    from: `decoded_updates r left join synchronizers s on s.synchronizer_pk = r.synchronizer_pk where ${inRangeSql}`,
  },
  {
    kind: 'contract',
    key: `'contract ' || r.contract_id`,
    redaction: 'r.redaction_id',
    from: `decoded_contracts r ${templateJoin}
           left join synchronizers s on s.synchronizer_pk = r.synchronizer_pk where ${inRangeSql} and r.origin <> 'seed'`,
  },
  {
    kind: 'view',
    key: `'view ' || coalesce(r.contract_id, 'node ' || r.node_id) || ' ' || t.package_id || ':' || t.module_name || ':' || t.entity_name`,
    redaction: 'r.redaction_id',
    // After a repeated seed, views of seeded contracts may be within the range.
    from: `decoded_interface_views r left join templates t on t.template_pk = r.interface_pk
           where ${inRangeSql} and not exists (select from contracts o where o."offset" = r."offset" and o.node_id = r.node_id
                                                       and o.origin = 's')`,
  },
  {
    kind: 'exercise',
    key: `'exercise ' || r.node_id`,
    redaction: 'r.redaction_id',
    from: `decoded_exercises r ${templateJoin} left join choices h on h.choice_pk = r.choice_pk
           left join templates i on i.template_pk = h.interface_pk where ${inRangeSql}`,
  },
  { kind: 'archive', key: `'archive ' || r.node_id`, from: `decoded_archives r ${templateJoin} where ${inRangeSql}` },
  {
    kind: 'reassignment',
    key: `r.kind || ' ' || r.contract_id`,
    from: `decoded_reassignments r ${templateJoin} left join synchronizers s on s.synchronizer_pk = r.source_pk
           left join synchronizers g on g.synchronizer_pk = r.target_pk where ${inRangeSql} and not r.incomplete`,
  },
  { kind: 'topology', key: `'topology ' || r.event_index`, from: `topology_events r where ${inRangeSql}` },
];

const linesSql = sources
  .map(({ kind, key, redaction, from }) => {
    const digest = `encode(${lineDigest(fieldExpressions(kind, redaction))}, 'hex')`;
    const redacted = redaction === undefined ? 'false' : `${redaction} is not null`;
    return `select r."offset", '${kind}' as kind, ${key} as key, ${digest} as digest, ${redacted} as redacted from ${from}`;
  })
  .join('\nunion all\n');

/** All rows with offsets after `from` up to and including `to`, without a defined order. */
export async function storedLines(client: ClientBase, from: number, to: number): Promise<readonly StoredRowLine[]> {
  const { rows } = await client.query<StoredRowLine>(linesSql, [from, to]);
  return rows;
}

/** Texts of the fields of one row, in order; undefined if the row does not exist. */
export async function storedFields(
  client: ClientBase,
  line: Pick<StoredRowLine, 'kind' | 'key' | 'offset'>,
): Promise<readonly (string | null)[] | undefined> {
  const source = sources.find(({ kind }) => kind === line.kind);
  if (source === undefined) return undefined;
  const names = comparedFields[line.kind].map((_, index) => `f${String(index)}`);
  const fields = fieldExpressions(line.kind, source.redaction).map((text, index) => `${text} as ${names[index] ?? ''}`);
  const { rows } = await client.query<Record<string, string | null>>(
    `select * from (select ${source.key} as key, ${fields.join(', ')} from ${source.from}) x where key = $3`,
    [line.offset - 1, line.offset, line.key],
  );
  const [row] = rows;
  return row === undefined ? undefined : names.map((name) => row[name] ?? null);
}

/** Quarantined offsets after `from` up to and including `to`. Only table `quarantine` has their rows. */
export async function quarantinedOffsets(client: ClientBase, from: number, to: number): Promise<ReadonlySet<number>> {
  const rows = await tablesOf(client)
    .selectFrom('quarantine')
    .select('offset')
    .where('offset', '>', from)
    .where('offset', '<=', to)
    .execute();
  return new Set(rows.map(({ offset }) => offset));
}

/** The offset before the newest `count` stored updates; 0 if there are no more updates. */
export async function tailBegin(client: ClientBase, count: number): Promise<number> {
  const row = await tablesOf(client)
    .selectFrom('updates')
    .select('offset')
    .orderBy('offset', 'desc')
    .offset(count)
    .limit(constantOne)
    .executeTakeFirst();
  return row?.offset ?? 0;
}

/** End of a range of limited size: offset of the last of the next `count` stored updates after `from`, at most `to`. */
export async function rangeEnd(client: ClientBase, from: number, to: number, count: number): Promise<number> {
  const row = await tablesOf(client)
    .selectFrom('updates')
    .select('offset')
    .where('offset', '>', from)
    .where('offset', '<=', to)
    .orderBy('offset')
    .offset(count - 1)
    .limit(constantOne)
    .executeTakeFirst();
  return row?.offset ?? to;
}

/**
 * Names of the packages of templates in the dictionary, by template in the ledger's notation; null if no event has
 * named the package.
 */
export async function storedPackageNames(client: ClientBase): Promise<ReadonlyMap<string, string | null>> {
  const rows = await tablesOf(client)
    .selectFrom('templates')
    .select(['package_id', 'module_name', 'entity_name', 'package_name'])
    .execute();
  return new Map(rows.map((row) => [`${row.package_id}:${row.module_name}:${row.entity_name}`, row.package_name]));
}

/** Names of the packages whose archives were read, by package id. */
export async function namesOfPackages(client: ClientBase): Promise<ReadonlyMap<string, string>> {
  const rows = await tablesOf(client).selectFrom('packages').select(['package_id', 'package_name']).execute();
  return new Map(rows.map((row) => [row.package_id, row.package_name]));
}
