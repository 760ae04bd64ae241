/**
 * The list form of the stream endpoints: the first elements as one JSON array, with the participant's limit (413 above
 * it, unless the request asked for fewer) and its idle timer.
 */
import { Undecodable, listTooLong } from './failure.ts';
import type { Ledger } from './ledger.ts';
import type { Limits } from './participant.ts';

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
    waitMs: numberIn(query, 'stream_idle_timeout_ms') ?? limits.listWaitMs,
  };
}

/** The elements as a JSON array; refuses more than the limit. */
export function listAnswer(elements: readonly string[], limits: Limits): string {
  if (elements.length > limits.listElements) throw listTooLong(limits.listElements);
  return `[${elements.join()}]`;
}

/** Resolves with true when the ledger changed within the milliseconds. */
export function changed(ledger: Ledger, milliseconds: number): Promise<boolean> {
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
