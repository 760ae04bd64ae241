/**
 * `GET /update?offset=N`: one update for the page, without contents and parties. One read runs at a time, and few may
 * be pending.
 */
import { IndexerError } from '../../errors/indexer-error.ts';

export interface OutlineNode {
  readonly depth: number;
  /** created, archived, exercised, assigned, unassigned or topology. */
  readonly event: string;
  /** `package:Module:Entity` */
  readonly template: string | null;
  readonly choice: string | null;
  readonly contractId: string | null;
  /** Id of the contract that replaced this one, or that this one replaced; null if there is none. */
  readonly otherContractId: string | null;
}

export interface UpdateOutline {
  readonly offset: number;
  readonly kind: string;
  readonly updateId: string | null;
  readonly previousOffset: number | null;
  readonly nextOffset: number | null;
  /** ISO 8601, like the other times. */
  readonly effectiveAt: string | null;
  readonly recordTime: string | null;
  readonly indexedAt: string | null;
  readonly events: number;
  readonly paidTrafficCost: number | null;
  readonly traceId: string | null;
  readonly nodes: readonly OutlineNode[];
  /** Number of events that are not included. */
  readonly omitted: number;
}

/**
 * Reads the update from the database; undefined if there is none at the offset. It has limits of its own on time and
 * rows.
 */
export type ReadUpdateOutline = (offset: number) => Promise<UpdateOutline | undefined>;

/** Status and JSON body of a response. */
export interface OutlineResponse {
  readonly status: number;
  readonly body: UpdateOutline | { readonly error: string };
}

/** Maximum number of pending requests. */
const maxQueued = 8;

export class OutlineReader {
  readonly #read: ReadUpdateOutline;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(readOutline: ReadUpdateOutline) {
    this.#read = readOutline;
  }

  /** Responds to the query; never rejects. */
  async answer(query: string): Promise<OutlineResponse> {
    const offset = parseOffset(new URLSearchParams(query));
    if (offset === undefined) return { status: 400, body: { error: 'expected one parameter, offset, e.g. offset=42' } };
    if (this.#waiting >= maxQueued) return { status: 503, body: { error: 'too many requests: try again' } };
    this.#waiting += 1;
    const queuedRead = this.#last.then(() => this.#answerTo(offset));
    this.#last = queuedRead;
    try {
      return await queuedRead;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #answerTo(offset: number): Promise<OutlineResponse> {
    try {
      const outline = await this.#read(offset);
      if (outline === undefined)
        return { status: 404, body: { error: `no update is stored at offset ${String(offset)}` } };
      return { status: 200, body: outline };
    } catch (thrown) {
      const code = thrown instanceof IndexerError ? thrown.code : 'UNEXPECTED';
      return { status: 503, body: { error: `not readable: ${code}` } };
    }
  }
}

function parseOffset(query: URLSearchParams): number | undefined {
  const offsetText = query.get('offset') ?? '';
  if ([...query].length !== 1 || !/^\d{1,16}$/.test(offsetText) || !Number.isSafeInteger(Number(offsetText)))
    return undefined;
  return Number(offsetText);
}
