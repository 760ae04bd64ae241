/**
 * The list form of the stream endpoints: the first elements as one JSON array, with the participant's limit (413 above
 * it, unless the request asked for fewer) and its idle timer.
 */
import { Undecodable, listTooLong } from '../wire/failure.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Limits } from '../wire/limits.ts';

export interface ListOptions {
  /** Elements to take: one more than the limit when the request sets none, so that "too many" is noticed. */
  readonly take: number;
  /** Milliseconds of silence that end the answer. */
  readonly waitMs: number;
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const given = query.get(name);
  if (given === null) return undefined;
  if (!/^-?\d{1,18}$/.test(given)) throw new Undecodable(`query parameter ${name}`);
  return Number(given);
}

/** `limit` and `stream_idle_timeout_ms` of a request. */
export function listOptions(query: URLSearchParams, limits: Limits): ListOptions {
  const most = limits.listElements + 1;
  return {
    take: Math.min(numberIn(query, 'limit') ?? most, most),
    // The request is over before that; a longer wait would go on unseen, and for a timer be none at all.
    waitMs: Math.min(numberIn(query, 'stream_idle_timeout_ms') ?? limits.listWaitMs, 2 * limits.requestTimeoutMs),
  };
}

/** The elements as a JSON array; refuses more than the limit. */
export function listAnswer(elements: readonly string[], limits: Limits): string {
  if (elements.length > limits.listElements) throw listTooLong(limits.listElements);
  return `[${elements.join()}]`;
}

/** What a list is read from. */
interface Source {
  /** True when nothing is left to look at right now. */
  readonly caughtUp: boolean;
  /** True when nothing will ever be left to look at. */
  readonly finished: boolean;
  /** Everything up to this offset was looked at. */
  readonly position: number;
  read(): string[];
  checkpoint(): string;
}

/** A stream sends its first checkpoint that long after its begin. */
const firstCheckpointMs = 500;

/**
 * The elements of an open-ended list: until there are enough, or until none came for `waitMs`. Only elements count; what
 * else moves the ledger does not start the wait anew. A list that waited long enough ends with a checkpoint.
 */
export async function listed(ledger: Ledger, source: Source, { take, waitMs }: ListOptions): Promise<string[]> {
  const elements: string[] = [];
  let silentAt = performance.now() + waitMs;
  while (elements.length < take && !source.finished) {
    const found = source.read();
    elements.push(...found);
    if (found.length > 0) silentAt = performance.now() + waitMs;
    if (source.finished || !source.caughtUp) continue;
    if (await changed(ledger, silentAt - performance.now())) continue;
    if (waitMs >= firstCheckpointMs && source.position > 0) elements.push(source.checkpoint());
    break;
  }
  return elements.slice(0, Math.max(0, take));
}

/** Resolves with true when the ledger changed within the milliseconds. */
function changed(ledger: Ledger, milliseconds: number): Promise<boolean> {
  if (milliseconds <= 0) return Promise.resolve(false);
  return new Promise((resolve) => {
    const settle = (result: boolean): void => {
      clearTimeout(timer);
      unsubscribe();
      resolve(result);
    };
    const timer = setTimeout(() => settle(false), milliseconds);
    const unsubscribe = ledger.onChange(() => settle(true));
  });
}
