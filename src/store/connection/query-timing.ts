/** How long queries take, told to whoever wants to know: two readings of the clock for each, none per row. */
import type { Client } from 'pg';

/**
 * What a query is for. `batch` is a whole batch in one round trip; where batches overlap, `copy` are its rows, sent ahead,
 * and `finish` is the rest with its COMMIT. `commit` ends any other transaction.
 */
export type QueryOp = 'batch' | 'copy' | 'finish' | 'commit' | 'read' | 'write' | 'ddl' | 'session';

/** Told when a query has ended, well or not. Must not throw. */
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

/** What a statement is for, by how it begins. */
export function opOfText(text: string): QueryOp {
  const word = /^\s*([a-z]+)/i.exec(text)?.[1]?.toLowerCase() ?? '';
  const op = bySpelling.get(word) ?? 'ddl';
  if (op !== 'read') return op;
  if (ofSession.test(text)) return 'session';
  return word === 'with' && changing.test(text) ? 'write' : 'read';
}

/** From now on every query of this client is timed. */
export function timeQueries(client: Client, onQuery: OnQuery): void {
  const query = client.query.bind(client) as (...given: unknown[]) => unknown;
  const timed = (...given: unknown[]): unknown => {
    const startedMs = performance.now();
    const op = opOf(given[0]);
    const ended = (): void => onQuery(op, (performance.now() - startedMs) / 1000);
    const told = withCallback(given, ended);
    const result = query(...given);
    // A failure is for whoever asked.
    if (!told && result instanceof Promise) result.catch(() => undefined).finally(ended);
    return result;
  };
  client.query = timed as Client['query'];
}

/** A query that is told its end by a callback, as an argument or of its own, tells us first. */
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
