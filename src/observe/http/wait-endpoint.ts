/**
 * `GET /wait?offset=N&timeout=S`: responds when everything up to the offset can be read from the database. An
 * application can use it to read its own writes without polling.
 */
import type { CheckpointWaiters } from '../health/checkpoint-waiters.ts';

/** Status and JSON body of a response. */
export interface WaitAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, string | number | null>>;
}

const defaultSeconds = 10;
const longestSeconds = 60;

interface WaitRequest {
  readonly offset: number;
  readonly timeoutMs: number;
}

/**
 * Waits for the requested offset.
 * @param closeSignal aborted when the client has disconnected, so that the response is never read
 */
export async function handleWait(
  waiters: CheckpointWaiters,
  query: string,
  closeSignal: AbortSignal,
): Promise<WaitAnswer> {
  const parsed = parse(new URLSearchParams(query));
  if (typeof parsed === 'string') return { status: 400, body: { error: parsed } };
  const end = await waiters.wait(parsed.offset, parsed.timeoutMs, closeSignal);
  const checkpoint = waiters.checkpoint ?? null;
  switch (end) {
    case 'reached':
      return { status: 200, body: { checkpoint } };
    case 'timeout': {
      const error = `the checkpoint did not reach ${parsed.offset} within ${parsed.timeoutMs / 1000} s`;
      return { status: 504, body: { error, checkpoint } };
    }
    case 'full':
      return { status: 503, body: { error: 'too many requests are waiting: try again', checkpoint } };
    case 'stopping':
    case 'gone':
    default:
      return { status: 503, body: { error: 'the indexer is stopping', checkpoint } };
  }
}

/** Parses the request. @returns an error message if the request is invalid */
function parse(query: URLSearchParams): WaitRequest | string {
  for (const name of query.keys()) {
    if (name !== 'offset' && name !== 'timeout')
      return `unknown parameter "${name.slice(0, 40)}"; known: offset, timeout`;
    if (query.getAll(name).length > 1) return `${name} is given more than once`;
  }
  const offset = query.get('offset') ?? '';
  if (!/^\d{1,16}$/.test(offset) || !Number.isSafeInteger(Number(offset)))
    return 'offset must be an offset of the ledger, e.g. 42';
  const timeout = query.get('timeout') ?? String(defaultSeconds);
  if (!/^\d{1,2}(?:\.\d{1,3})?$/.test(timeout) || Number(timeout) > longestSeconds) {
    return `timeout must be seconds between 0 and ${longestSeconds}`;
  }
  return { offset: Number(offset), timeoutMs: Number(timeout) * 1000 };
}
