/**
 * The list form of the stream endpoints: the first elements as one JSON array. It has the participant's limit (413
 * above it, unless the request sets a lower limit) and its idle timer.
 */
import { UndecodableRequest, listTooLong } from '../wire/failure.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Limits } from '../wire/limits.ts';

export interface ListOptions {
  /**
   * Number of elements to read. If the request sets no limit, it is the default limit plus one, to detect longer lists.
   */
  readonly take: number;
  /** Milliseconds without an element after which the response ends. */
  readonly waitMs: number;
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (!/^-?\d{1,18}$/.test(value)) throw new UndecodableRequest(`query parameter ${name}`);
  return Number(value);
}

/** `limit` and `stream_idle_timeout_ms` of a request. */
export function listOptions(query: URLSearchParams, limits: Limits): ListOptions {
  const maxElements = limits.listElements + 1;
  return {
    take: Math.min(numberIn(query, 'limit') ?? maxElements, maxElements),
    // The request times out before twice its timeout. A longer wait would have no effect, and a longer timer would
    // fire at once.
    waitMs: Math.min(numberIn(query, 'stream_idle_timeout_ms') ?? limits.listWaitMs, 2 * limits.requestTimeoutMs),
  };
}

/** The elements as a JSON array; refuses more elements than the limit. */
export function listResponse(elements: readonly string[], limits: Limits): string {
  if (elements.length > limits.listElements) throw listTooLong(limits.listElements);
  return `[${elements.join()}]`;
}

/** Source of a list. */
interface Source {
  /** True if there is nothing to read right now. */
  readonly caughtUp: boolean;
  /** True if there will never be anything more to read. */
  readonly finished: boolean;
  /** Everything up to this offset was read. */
  readonly position: number;
  read(): string[];
  checkpoint(): string;
}

/** Milliseconds from the start of a stream to its first checkpoint. */
const firstCheckpointMs = 500;

/**
 * The elements of an open-ended list: until there are enough, or until none arrived for `waitMs`. Only elements restart
 * the wait, not other changes of the ledger. If the wait elapses, the list ends with a checkpoint.
 */
export async function collectElements(
  ledger: Ledger,
  source: Source,
  { take: elementLimit, waitMs }: ListOptions,
): Promise<string[]> {
  const elements: string[] = [];
  let silentAt = performance.now() + waitMs;
  while (elements.length < elementLimit && !source.finished) {
    const parsedElements = source.read();
    elements.push(...parsedElements);
    if (parsedElements.length > 0) silentAt = performance.now() + waitMs;
    if (source.finished || !source.caughtUp) continue;
    if (await waitForChange(ledger, silentAt - performance.now())) continue;
    if (waitMs >= firstCheckpointMs && source.position > 0) elements.push(source.checkpoint());
    break;
  }
  return elements.slice(0, Math.max(0, elementLimit));
}

/** Resolves with true if the ledger changed within the milliseconds. */
function waitForChange(ledger: Ledger, milliseconds: number): Promise<boolean> {
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
