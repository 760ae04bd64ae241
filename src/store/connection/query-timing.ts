/** Reports how long queries take: two clock readings for each query, none per row. */
import type { Client } from 'pg';

/**
 * Purpose of a query. `batch` is a complete batch in one round trip; if batches overlap, `copy` is their rows, sent
 * ahead, and `finish` is the rest with its COMMIT. `commit` ends any other transaction.
 */
export type QueryOp = 'batch' | 'copy' | 'finish' | 'commit' | 'read' | 'write' | 'ddl' | 'session';

/** Called when a query has ended, successful or not. Must not throw. */
export type OnQuery = (op: QueryOp, seconds: number) => void;

const bySpelling: ReadonlyMap<string, QueryOp> = new Map([
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
const ofSession = /^\s*select\s+(?:set_config|pg_\w*advisory\w*|pg_notify)\s*\(/i;
const changing = /\b(?:insert\s+into|update|delete\s+from)\s/i;

/** The purpose of a statement, by its first word. */
export function opOfText(text: string): QueryOp {
  const word = /^\s*([a-z]+)/i.exec(text)?.[1]?.toLowerCase() ?? '';
  const op = bySpelling.get(word) ?? 'ddl';
  if (op !== 'read') return op;
  if (ofSession.test(text)) return 'session';
  return word === 'with' && changing.test(text) ? 'write' : 'read';
}

/** Times every later query of this client. */
export function timeQueries(client: Client, onQuery: OnQuery): void {
  const query = client.query.bind(client) as (...given: unknown[]) => unknown;
  const timed = (...given: unknown[]): unknown => {
    const startedMs = performance.now();
    const op = opOf(given[0]);
    const ended = (): void => onQuery(op, (performance.now() - startedMs) / 1000);
    const told = withCallback(given, ended);
    const result = query(...given);
    // The caller handles failures.
    if (!told && result instanceof Promise) result.catch(() => undefined).finally(ended);
    return result;
  };
  client.query = timed as Client['query'];
}

/**
 * Replaces a callback, an argument or a property of the query, with one that calls `done` first; false if there is
 * none.
 */
function withCallback(given: unknown[], done: () => void): boolean {
  const last = given.at(-1);
  if (typeof last === 'function') {
    given[given.length - 1] = after(done, last);
    return true;
  }
  const [query] = given;
  if (typeof query !== 'object' || query === null || !('callback' in query)) return false;
  if (typeof query.callback !== 'function') return false;
  query.callback = after(done, query.callback);
  return true;
}

function after(done: () => void, callback: object) {
  return (...given: unknown[]): unknown => {
    done();
    return (callback as (...given: unknown[]) => unknown)(...given);
  };
}

function opOf(query: unknown): QueryOp {
  if (typeof query === 'string') return opOfText(query);
  if (typeof query !== 'object' || query === null) return 'ddl';
  if ('op' in query) return query.op as QueryOp;
  return 'text' in query && typeof query.text === 'string' ? opOfText(query.text) : 'ddl';
}
