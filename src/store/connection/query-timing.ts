/** Reports the duration of queries. It reads the clock twice per query and never per row. */
import type { Client } from 'pg';

/**
 * Purpose of a query. `batch` sends a complete batch in one round trip. If batches overlap, `copy` sends the rows of a
 * batch ahead, and `finish` sends the rest with its COMMIT. `commit` ends any other transaction.
 */
export type QueryOp = 'batch' | 'copy' | 'finish' | 'commit' | 'read' | 'write' | 'ddl' | 'session';

/** Called when a query has ended, successful or not. Must not throw. */
export type OnQuery = (op: QueryOp, seconds: number) => void;

const opsByKeyword: ReadonlyMap<string, QueryOp> = new Map([
  ['select', 'read'],
  ['with', 'read'],
  ['explain', 'read'],
  ['insert', 'write'],
  ['update', 'write'],
  ['delete', 'write'],
  ['copy', 'write'],
  ['commit', 'commit'],
  ['begin', 'session'],
  ['rollback', 'session'],
  ['set', 'session'],
  ['listen', 'session'],
]);
const sessionStatement = /^\s*select\s+(?:set_config|pg_\w*advisory\w*|pg_notify)\s*\(/i;
const writeStatement = /\b(?:insert\s+into|update|delete\s+from)\s/i;

/** The purpose of a statement, by its first word. */
export function queryOpOfText(text: string): QueryOp {
  const keyword = /^\s*([a-z]+)/i.exec(text)?.[1]?.toLowerCase() ?? '';
  const op = opsByKeyword.get(keyword) ?? 'ddl';
  if (op !== 'read') return op;
  if (sessionStatement.test(text)) return 'session';
  return keyword === 'with' && writeStatement.test(text) ? 'write' : 'read';
}

/** Measures every later query of this client. */
export function timeQueries(client: Client, onQuery: OnQuery): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const timedQuery = (...args: unknown[]): unknown => {
    const startedAtMs = performance.now();
    const op = queryOpOf(args[0]);
    const onEnd = (): void => onQuery(op, (performance.now() - startedAtMs) / 1000);
    const hasCallback = withCallback(args, onEnd);
    const result = query(...args);
    // Rejections are ignored only here; the caller handles them.
    if (!hasCallback && result instanceof Promise) result.catch(() => undefined).finally(onEnd);
    return result;
  };
  client.query = timedQuery as Client['query'];
}

/**
 * Replaces the callback, which is an argument or a property of the query, with one that first calls `onDone`. Returns
 * false if there is no callback.
 */
function withCallback(args: unknown[], onDone: () => void): boolean {
  const last = args.at(-1);
  if (typeof last === 'function') {
    args[args.length - 1] = after(onDone, last);
    return true;
  }
  const [query] = args;
  if (typeof query !== 'object' || query === null || !('callback' in query)) return false;
  if (typeof query.callback !== 'function') return false;
  query.callback = after(onDone, query.callback);
  return true;
}

function after(onDone: () => void, callback: object) {
  return (...args: unknown[]): unknown => {
    onDone();
    return (callback as (...args: unknown[]) => unknown)(...args);
  };
}

function queryOpOf(query: unknown): QueryOp {
  if (typeof query === 'string') return queryOpOfText(query);
  if (typeof query !== 'object' || query === null) return 'ddl';
  if ('op' in query) return query.op as QueryOp;
  return 'text' in query && typeof query.text === 'string' ? queryOpOfText(query.text) : 'ddl';
}
