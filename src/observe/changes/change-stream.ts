/**
 * Sends one client the changes after its cursor, as they are committed. Between two pages, only the cursor of the
 * client is kept. It needs no snapshot and no database connection.
 */
import { toIndexerError } from '../../errors/indexer-error.ts';
import { formatCursor, type ChangeCursor, type ChangesRequest } from '../../model/push/changes.ts';
import type { Pace } from '../../config/pace.ts';
import type { CheckpointWaiters } from '../health/checkpoint-waiters.ts';
import type { ChangeForm, ChangePages, SharedPage } from './change-pages.ts';

/** Why a stream ended before its client disconnected. */
export type StreamEnd = 'pruned' | 'reset' | 'stopping';

export type StreamRequest = Omit<ChangesRequest, 'after'> & {
  /** Undefined if the stream starts after the newest change. */
  readonly after: ChangeCursor | undefined;
  /** The reader whose turns are used to read pages. The number of streams of a reader is limited. */
  readonly reader: string;
};

/** Start of a stream, and the range of history in the database at that time. */
export interface Begun extends Pick<SharedPage, 'checkpoint' | 'availableAfter'> {
  readonly after: ChangeCursor;
}

interface Read {
  readonly after: ChangeCursor;
  readonly page: SharedPage;
}

export interface StreamedTo {
  readonly form: ChangeForm;
  /**
   * Resolves when the client accepts more data, usually at once. Rejects if the client does not accept it in time, or
   * has disconnected.
   */
  readonly send: (part: string | Buffer) => Promise<void>;
  readonly gone: AbortSignal;
}

/** Maximum time without data, in milliseconds. It is short enough that proxies keep the connection open. */
const heartbeatMs = 15_000;

export class ChangeStream {
  readonly #pages: ChangePages;
  readonly #waiters: CheckpointWaiters;
  readonly #checkpoint: () => Promise<number | null>;
  readonly #pace: Pace;

  /**
   * @param waiters notified of each commit of this process
   * @param checkpoint reads the newest checkpoint from the database; null before the first one
   */
  constructor(pages: ChangePages, waiters: CheckpointWaiters, checkpoint: () => Promise<number | null>, pace: Pace) {
    this.#pages = pages;
    this.#waiters = waiters;
    this.#checkpoint = checkpoint;
    this.#pace = pace;
  }

  /**
   * Reads the first page, which is kept in the cache for the stream that follows. Resolves to undefined if it cannot be
   * read now.
   * @throws IndexerError STORE_NOT_PERMITTED
   */
  async begin(request: StreamRequest, form: ChangeForm): Promise<Begun | undefined> {
    const read = await this.#read(request, form);
    // The page itself is not kept, because a stream may last for days.
    return read && { after: read.after, checkpoint: read.page.checkpoint, availableAfter: read.page.availableAfter };
  }

  async #read(request: StreamRequest, form: ChangeForm): Promise<Read | undefined> {
    try {
      const after = request.after ?? { offset: (await this.#checkpoint()) ?? 0, node: null };
      return { after, page: await this.#pages.page({ ...request, after }, form, request.reader) };
    } catch (thrown) {
      return afterFailure(thrown);
    }
  }

  /**
   * Sends changes until the client disconnects or history is interrupted. While the database is unavailable, the stream
   * stays open and the client waits. An error response would end the stream of a browser permanently.
   * @param first result of `begin`
   * @throws IndexerError STORE_NOT_PERMITTED; the errors of `send`
   */
  async run(request: StreamRequest, to: StreamedTo, first: Begun | undefined): Promise<StreamEnd | 'gone'> {
    const after = first?.after ?? request.after;
    const wasThere = first !== undefined && isThere(first.after, first);
    const position: ChangePosition = { after, lastSent: after, sentAt: performance.now(), wasThere };
    while (!to.gone.aborted) {
      const step = await this.#step(request, to, position);
      if (step === 'reset' || step === 'pruned') return step;
      if (step !== 'sent' && (await this.#wait(step, position, to.gone)) === 'stopping') return 'stopping';
    }
    return 'gone';
  }

  /** Sends the next page if it has changes. While the stream waits for the next page, it keeps no page in memory. */
  async #step(request: StreamRequest, { form, send }: StreamedTo, position: ChangePosition): Promise<Step> {
    const read = await this.#read({ ...request, after: position.after }, form);
    const isDue = performance.now() - position.sentAt >= heartbeatMs;
    if (read === undefined) {
      if (!isDue) return 'not read';
      await send(heartbeat(form));
      position.sentAt = performance.now();
      return 'not read';
    }
    const { after, page } = read;
    position.lastSent ??= after;
    // If the cursor is ahead of history, the stream waits. If history had already reached the cursor and is now behind
    // it, history was reset.
    const isHere = isThere(after, page);
    if (position.wasThere && !isHere) return 'reset';
    if (page.availableAfter !== null && after.offset < page.availableAfter) return 'pruned';
    position.wasThere = isHere;
    if (page.bytes.length > 0 || isDue) {
      const noChange = isPassed(page, position.lastSent) ? placeOnly(form, page.next) : heartbeat(form);
      await send(page.bytes.length > 0 ? page.bytes : noChange);
      [position.lastSent, position.sentAt] = [page.next, performance.now()];
    }
    position.after = page.next;
    return page.atEnd ? 'at the end' : 'sent';
  }

  #wait(
    step: 'not read' | 'at the end',
    { after }: ChangePosition,
    gone: AbortSignal,
  ): ReturnType<CheckpointWaiters['wait']> {
    const { checkpoint } = this.#waiters;
    if (step === 'not read' || after === undefined) return this.#waiters.wait(Infinity, this.#pace.commitsMs, gone);
    // If another process writes, this process is not notified of commits. If this process writes, it is still not
    // notified of a reset or a prune.
    const limitMs = checkpoint === undefined ? this.#pace.commitsMs : this.#pace.resetsMs;
    return this.#waiters.wait(after.offset + 1, limitMs, gone);
  }
}

/** Position of a stream. */
interface ChangePosition {
  /** Undefined if the stream starts after the newest change of the first successful read. */
  after: ChangeCursor | undefined;
  /** The cursor last sent to the client. */
  lastSent: ChangeCursor | undefined;
  /** Time at which data was last sent, by `performance.now()`. */
  sentAt: number;
  /** Whether history has reached the cursor. */
  wasThere: boolean;
}

type Step = 'sent' | 'at the end' | 'not read' | 'reset' | 'pruned';

/** Rethrows only failures that a retry cannot fix. */
function afterFailure(thrown: unknown): undefined {
  const failure = toIndexerError(thrown);
  if (failure.code === 'STORE_NOT_PERMITTED') throw failure;
}

/** Whether history has reached the cursor. */
function isThere(after: ChangeCursor, { checkpoint }: Pick<SharedPage, 'checkpoint'>): boolean {
  return after.offset <= (checkpoint ?? -1);
}

function isPassed({ next }: SharedPage, lastSent: ChangeCursor): boolean {
  return next.offset > lastSent.offset;
}

/**
 * Moves the client's cursor past changes that the filter skipped. If an event has an id but no data, a browser stores
 * the id and dispatches no event.
 */
function placeOnly(form: ChangeForm, next: ChangeCursor): string {
  return form === 'sse' ? `id: ${formatCursor(next)}\n\n` : '\n';
}

function heartbeat(form: ChangeForm): string {
  return form === 'sse' ? ': still here\n\n' : '\n';
}
