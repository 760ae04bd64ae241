/**
 * Lists over HTTP: the same elements as on the WebSocket of the same path, collected by the node into one array. For
 * small results only: the node refuses more than 200 elements (LEDGER_REQUEST_INVALID, HTTP 413) unless `limit` is at
 * most 200, and then it truncates without saying so.
 */
import type { Query } from '../transport/endpoint-url.ts';

export interface ListOptions {
  /** Largest number of elements. */
  readonly limit?: number;
  /**
   * The node answers when it had nothing to add for so many milliseconds; 500 unless given, for lists that have no end
   * of their own. Keep it below the request timeouts of both sides (20 s at the node).
   */
  readonly streamIdleTimeoutMs?: number;
}

/** The query parameters of a list. */
export function listQuery({ limit, streamIdleTimeoutMs }: ListOptions): Query {
  return { limit, stream_idle_timeout_ms: streamIdleTimeoutMs };
}
