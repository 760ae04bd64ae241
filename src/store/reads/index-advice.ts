/**
 * Finds payload expressions that slow statements filter on, so that an index can speed them up. The statements are read
 * from pg_stat_statements, which stores their text without parameters.
 */
import { createHash } from 'node:crypto';
import { DatabaseError, escapeIdentifier, escapeLiteral } from 'pg';
import type { Database } from '../connection/database.ts';

/** One recommended index. */
export interface IndexAdvice {
  /**
   * Expression over a column of contracts, e.g. `payload ->> 'owner'`, or `payload ->> ?` if pg_stat_statements
   * replaced the name of the field.
   */
  readonly expression: string;
  /** The most expensive statement with this expression, on one line; only set if the name of the field is missing. */
  readonly statement?: string;
  readonly calls: number;
  /** Mean time of the statements that filter on the expression, milliseconds. */
  readonly meanMs: number;
}

/** Statements that take less than this many milliseconds need no index. */
const slowMs = 10;

interface StatementRow {
  readonly query: string;
  readonly calls: number;
  readonly mean: number;
}

/**
 * The recommended indexes, ordered by the cost of their statements, most expensive first. Undefined if
 * pg_stat_statements is not installed or may not be read.
 */
export async function adviseIndexes(database: Database): Promise<readonly IndexAdvice[] | undefined> {
  return database.withClient(async (client) => {
    const { rows: extensionSchemas } = await client.query<{ schema: string }>(
      `select n.nspname::text as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace
        where e.extname = 'pg_stat_statements'`,
    );
    const [extension] = extensionSchemas;
    if (extension === undefined) return undefined;
    try {
      const { rows } = await client.query<StatementRow>(
        `select query, calls::float8 as calls, mean_exec_time as mean
           from ${escapeIdentifier(extension.schema)}.pg_stat_statements
          where dbid = (select oid from pg_database where datname = current_database())
            and mean_exec_time >= $1 and query ~* '^\\s*(select|with)\\y' and query ~ '->>'
          order by total_exec_time desc limit 500`,
        [slowMs],
      );
      return indexAdviceOf(rows);
    } catch (thrown) {
      // Only superusers may read shared_preload_libraries, so this cannot be checked in advance.
      if (thrown instanceof DatabaseError && thrown.code === notLoadedState) return undefined;
      throw thrown;
    }
  });
}

/** SQLSTATE that is returned when the view is read but the server has not loaded the library. */
const notLoadedState = '55000';

/**
 * Matches `payload ->> 'owner'` compared with a value, or `payload #>> '{a,b}'`, with or without a qualifier before the
 * column. pg_stat_statements treats the field name as any other constant, and replaces it by `$1`.
 */
const filter =
  /\b(payload|argument|result)\s*(->>|#>>)\s*('(?:[^']|'')*'|\$\d+)\s*\)*\s*(?:::\s*\w+\s*\)*\s*)?(?:=|<|>|in\b|between\b|like\b)/gi;

/** The filtered expressions, with the totals of their statements. Pure. */
export function indexAdviceOf(statements: readonly StatementRow[]): readonly IndexAdvice[] {
  const adviceByExpression = new Map<string, { calls: number; totalMs: number; statement?: string }>();
  for (const { query, calls, mean: meanMs } of statements) {
    const condition = query.slice(Math.max(0, query.search(/\bwhere\b|\bon\b/i)));
    const expressions = new Set(
      [...condition.matchAll(filter)].map(
        ([, column = '', arrow = '', path = '']) =>
          `${column.toLowerCase()} ${arrow} ${path.startsWith('$') ? '?' : path}`,
      ),
    );
    for (const expression of expressions) {
      const statementText = expression.endsWith('?') ? { statement: query.replaceAll(/\s+/g, ' ').trim() } : {};
      const sum = adviceByExpression.get(expression) ?? { calls: 0, totalMs: 0, ...statementText };
      adviceByExpression.set(expression, { ...sum, calls: sum.calls + calls, totalMs: sum.totalMs + calls * meanMs });
    }
  }
  return [...adviceByExpression]
    .sort(([, a], [, b]) => b.totalMs - a.totalMs)
    .map(([expression, { totalMs, ...rest }]) => ({ expression, ...rest, meanMs: totalMs / rest.calls }));
}

/**
 * Both methods accept texts of any length. A b-tree would reject texts of more than 2,700 bytes that do not compress,
 * so the update could not be stored.
 */
export type PayloadIndexMethod = 'spgist' | 'hash';

/** An index on a payload expression, over all contracts with a value for it. */
export interface PayloadIndex {
  readonly name: string;
  /** The SQL after `create index concurrently name`. */
  readonly definition: string;
  /** The SQL after `create statistics if not exists name_values`. */
  readonly statistics: string;
}

/**
 * Builds the SQL of an index that is limited to rows with a value. Postgres can derive this condition from any query
 * that compares the expression. It could not derive a condition on the template. The statistics are a separate object,
 * because Postgres keeps no statistics for a partial index on an expression.
 */
export function payloadIndex(expression: string, method: PayloadIndexMethod): PayloadIndex {
  const definition = `on contracts using ${method} ((${expression})) where (${expression}) is not null`;
  const nameWords = expression
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 40);
  const hashSuffix = createHash('sha256').update(definition).digest('hex').slice(0, 8);
  return { name: `own_${nameWords}_${hashSuffix}`, definition, statistics: `on (${expression}) from contracts` };
}

/** Statements for psql that create the index and its statistics. */
export function printedIndex(schema: string, { name, definition, statistics }: PayloadIndex): readonly string[] {
  return [
    `set search_path to ${escapeIdentifier(schema)};`,
    `create index concurrently ${name} ${definition};`,
    `create statistics if not exists ${name}_values ${statistics};`,
    'analyze contracts;',
  ];
}

/**
 * The SQL of `payload.owner`, `payload.meta.id` or an expression such as `payload ->> 'owner'`. Undefined for any other
 * text, so that a statement can only contain an expression over a payload.
 */
export function payloadExpression(expression: string): string | undefined {
  const sql = /^\s*payload\s*(->>|#>>)\s*('(?:[^']|'')*')\s*$/i.exec(expression);
  if (sql !== null) return `payload ${sql[1] ?? ''} ${sql[2] ?? ''}`;
  const [column, ...path] = expression.split('.');
  if (column !== 'payload' || path.length === 0 || path.some((step) => !/^[A-Za-z_]\w*$/.test(step))) return undefined;
  return path.length === 1
    ? `payload ->> ${escapeLiteral(path[0] ?? '')}`
    : `payload #>> ${escapeLiteral(`{${path.join(',')}}`)}`;
}
