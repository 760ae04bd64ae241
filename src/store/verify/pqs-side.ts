/**
 * One of two databases that are compared. Both databases are read with the same queries, through the functions of PQS,
 * which exist in a PQS database and in our schema. The queries use no table of either database. All reads are within
 * the given snapshot.
 */
import { escapeIdentifier, type ClientBase } from 'pg';

/** Kinds of rows that are counted: contracts active at an offset, and three kinds of events in a span. */
export const pqsKinds = ['active', 'creates', 'archives', 'exercises'] as const;
export type PqsKind = (typeof pqsKinds)[number];

/** Range of offsets whose history a database has. */
export interface OffsetReach {
  /**
   * Events at this offset are not compared, because it is the offset of a seed or the offset up to which history was
   * pruned.
   */
  readonly oldest: number;
  readonly latest: number;
}

/** A range of offsets, both inclusive, divided into parts of equal length. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly parts: number;
}

/** Identifies a count. */
export interface CountSubject {
  readonly kind: PqsKind;
  /** `package-name:Module:Entity` of the template, or of the interface whose views are counted. */
  readonly name: string;
  readonly type: 'template' | 'interface';
  /** For exercises `package-name:Module:Entity:Choice`; empty for other kinds. */
  readonly choice: string;
  /** Index of the part within the span, starting at 0; always 0 for active contracts. */
  readonly part: number;
}

export interface Count extends CountSubject {
  readonly count: number;
  /** Sum of hashes, equal if the same rows were counted. */
  readonly sum: string;
}

/**
 * Keys of the rows of one count. A key is an id, or an offset and an id. If contents are compared, a space and the hash
 * of the contents follow.
 */
export type Keys = AsyncIterable<readonly string[]>;

/** Offset and id of an update. */
export type UpdateId = readonly [offset: number, updateId: string];

const requiredFunctions = ['active', 'creates', 'archives', 'exercises', 'latest_offset', 'oldest_offset'] as const;
const keysPerPage = 5_000;

export class PqsSide {
  readonly #client: ClientBase;
  readonly #schema: string;
  readonly #name: string;
  readonly #contents: boolean;

  /** @param contents whether to compare payloads, arguments and results as well */
  constructor(client: ClientBase, schema: string, contents: boolean) {
    this.#client = client;
    this.#name = schema;
    this.#schema = escapeIdentifier(schema);
    this.#contents = contents;
  }

  /** Names of PQS functions that the schema lacks. */
  async missing(): Promise<readonly string[]> {
    const { rows } = await this.#client.query<{ name: string }>(
      `select name from unnest($1::text[]) name
        where not exists (select from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                           where n.nspname = $2 and p.proname = name)`,
      [requiredFunctions, this.#name],
    );
    return rows.map(({ name }) => name);
  }

  /** The range of stored history; undefined if the database is empty. */
  async reach(): Promise<OffsetReach | undefined> {
    const { rows } = await this.#client.query<{ oldest: number | null; latest: number | null }>(
      `select ${this.#schema}.oldest_offset()::float8 as oldest, ${this.#schema}.latest_offset()::float8 as latest`,
    );
    const { oldest, latest: latestOffset } = rows[0] ?? { oldest: null, latest: null };
    return oldest === null || latestOffset === null ? undefined : { oldest, latest: latestOffset };
  }

  /** The newest updates of a span, at most `maxUpdates`. */
  async updates({ from, to }: Span, maxUpdates: number): Promise<readonly UpdateId[]> {
    return this.#ids('t."offset" between $1::bigint and $2::bigint order by t."offset" desc limit $3', [
      from,
      to,
      maxUpdates,
    ]);
  }

  /** The existing updates at these offsets. */
  async updatesAt(offsets: readonly number[]): Promise<readonly UpdateId[]> {
    return this.#ids('t."offset" = any ($1::bigint[])', [offsets]);
  }

  async #ids(condition: string, values: readonly unknown[]): Promise<readonly UpdateId[]> {
    const { rows } = await this.#client.query<{ at: number; id: string }>(
      `select t."offset"::float8 as at, t.transaction_id as id from ${this.#schema}.transactions t where ${condition}`,
      [...values],
    );
    return rows.map(({ at: offset, id }) => [offset, id]);
  }

  /** All counts of a kind, without counts of zero. Reads all rows of the kind. */
  async counts(kind: PqsKind, span: Span): Promise<readonly Count[]> {
    const { source, values, choice, type, at: offsetColumn, hashed: hashedColumns } = this.#reading(kind, span, null);
    const partExpression =
      kind === 'active'
        ? '0'
        : `(${offsetColumn} - $1::bigint) * ${String(span.parts)} / ($2::bigint - $1::bigint + 1)`;
    const sum = `sum(('x' || substr(md5(${hashedColumns}), 1, 15))::bit(60)::bigint)::text`;
    const { rows } = await this.#client.query<Count>(
      `select '${kind}' as kind, r.template_fqn as name, ${type} as type, ${choice} as choice, (${partExpression})::float8 as part,
              count(*)::float8 as count, ${sum} as sum
         from ${source} r group by 2, 3, 4, 5`,
      values,
    );
    return rows;
  }

  /** The keys of the rows of one count, in byte order. */
  async *keys(countSubject: CountSubject, span: Span): Keys {
    const { kind, name, type: subjectType, choice: subjectChoice } = countSubject;
    const {
      source,
      values,
      type,
      choice,
      hashed: hashedColumns,
    } = this.#reading(kind, span, kind === 'exercises' ? subjectChoice : name);
    const cursor = escapeIdentifier(`keys of ${kind}`);
    const subjectParameters = [subjectType, subjectChoice, name].map(
      (_, index) => `$${String(values.length + index + 1)}`,
    );
    await this.#client.query(
      `declare ${cursor} no scroll cursor for
        select ${hashedColumns} collate "C" as key from ${source} r
         where ${type} = ${subjectParameters[0] ?? ''} and ${choice} = ${subjectParameters[1] ?? ''} and r.template_fqn = ${subjectParameters[2] ?? ''}
         order by 1`,
      [...values, subjectType, subjectChoice, name],
    );
    for (;;) {
      const { rows } = await this.#client.query<{ key: string }>(`fetch ${String(keysPerPage)} from ${cursor}`);
      if (rows.length > 0) yield rows.map(({ key }) => key);
      if (rows.length < keysPerPage) break;
    }
    await this.#client.query(`close ${cursor}`);
  }

  /** The SQL that reads the rows of a kind. @param qname template, interface or choice; null for all */
  #reading(kind: PqsKind, { from, to }: Span, qname: string | null): PqsReading {
    const offsetValues = kind === 'active' ? [to] : [from, to];
    const offsetColumns = {
      active: '',
      creates: 'r.created_at_offset',
      archives: 'r.archived_at_offset',
      exercises: 'r.exercised_at_offset',
    }[kind];
    const rowKey =
      kind === 'active' ? 'r.contract_id' : `lpad(${offsetColumns}::text, 19, '0') || ' ' || r.contract_id`;
    const contents = this.#contents ? contentColumns[kind] : undefined;
    const offsets = offsetValues.map((_, index) => `$${String(index + 1)}::bigint`).join(', ');
    const rows = `${this.#schema}.${kind}($${String(offsetValues.length + 1)}::text, ${offsets})`;
    return {
      source: kind === 'archives' ? `(select * from ${rows} l where ${notTransientSql})` : rows,
      values: [...offsetValues, qname],
      at: offsetColumns,
      choice: kind === 'exercises' ? 'r.choice_fqn' : `''`,
      type: kind === 'exercises' ? `'template'` : 'r.payload_type',
      hashed: contents === undefined ? `(${rowKey})` : `(${rowKey} || ' ' || md5(${contents}))`,
    };
  }
}

interface PqsReading {
  readonly source: string;
  readonly values: unknown[];
  /** SQL expressions over a row `r`: the offset, the choice, the type, and the key of the row. */
  readonly at: string;
  readonly choice: string;
  readonly type: string;
  readonly hashed: string;
}

/**
 * SQL condition that excludes contracts that were created and archived by the same update. Such a contract was never
 * active. Our database has no archive event for it and has only the exercise that consumed it.
 */
const notTransientSql = 'l.created_at_offset < l.archived_at_offset';

/**
 * SQL: contents without nulls. PQS writes a field that is None as null. The ledger and our database omit trailing
 * fields that are None.
 */
const contentColumns: Readonly<Record<PqsKind, string | undefined>> = {
  active: `coalesce(jsonb_strip_nulls(r.payload)::text, '')`,
  creates: undefined,
  archives: undefined,
  exercises: `coalesce(jsonb_strip_nulls(r.argument)::text, '') || coalesce(jsonb_strip_nulls(r.result)::text, '')`,
};
