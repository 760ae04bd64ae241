/**
 * Sends one client the changes after its cursor, as they are committed. Between two pages, only the cursor of the
 * client is kept. It needs no snapshot and no database connection.
 */
import type { ErrorCode } from '../../errors/catalogue.ts';
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { formatCursor, isOfOtherSelect, type ChangeCursor, type ChangesRequest } from '../../model/push/changes.ts';
import type { PollIntervals } from '../../config/pace.ts';
import type { CheckpointWaiters } from '../health/checkpoint-waiters.ts';
import type { ChangeForm, ChangePages, SharedPage } from './change-pages.ts';

/** Why a stream ended before its client disconnected. */
export type StreamEnd = 'complete' | 'pruned' | 'reset' | 'stopping' | RequestEnd;

/** Why the rows of a projection cannot be followed any more. */
export type ProjectionEnd = 'dropped' | 'failed' | 'refused' | 'replaced';

/** Why the request of a stream cannot be answered any more. */
export type RequestEnd = ProjectionEnd | 'invalid';

export type StreamRequest = Omit<ChangesRequest, 'after'> & {
  /** Undefined if the stream starts after the newest change. */
  readonly after: ChangeCursor | undefined;
  /** The reader whose turns are used to read pages. The number of streams of a reader is limited. */
  readonly reader: string;
};

/** Start of a stream, and the range of history in the database at that time. */
export interface BegunStream extends Pick<SharedPage, 'checkpoint' | 'availableAfter'> {
  readonly after: ChangeCursor;
  /** Whether the cursor has the number of a row of another SELECT. */
  readonly isReplaced: boolean;
  /** Whether all changes up to the requested end precede the cursor. */
  readonly isComplete: boolean;
}

interface ChangesRead {
  readonly after: ChangeCursor;
  readonly page: SharedPage;
}

export interface StreamTarget {
  readonly form: ChangeForm;
  /**
   * Resolves when the client accepts more data, usually at once. Rejects if the client does not accept it in time, or
   * has disconnected.
   */
  readonly send: (chunk: string | Buffer) => Promise<void>;
  readonly gone: AbortSignal;
}

/** Maximum time without data, in milliseconds. It is short enough that proxies keep the connection open. */
const heartbeatMs = 15_000;

export class ChangeStream {
  readonly #pages: ChangePages;
  readonly #waiters: CheckpointWaiters;
  readonly #checkpoint: () => Promise<number | null>;
  readonly #pace: PollIntervals;

  /**
   * @param waiters notified of each commit of this process
   * @param checkpoint reads the newest checkpoint from the database; null before the first one
   */
  constructor(
    pages: ChangePages,
    waiters: CheckpointWaiters,
    checkpoint: () => Promise<number | null>,
    pace: PollIntervals,
  ) {
    this.#pages = pages;
    this.#waiters = waiters;
    this.#checkpoint = checkpoint;
    this.#pace = pace;
  }

  /**
   * Reads the first page, which is kept in the cache for the stream that follows. Resolves to undefined if it cannot be
   * read now.
   * @throws IndexerError STORE_NOT_PERMITTED; the codes of {@link requestEnds}
   */
  async begin(request: StreamRequest, format: ChangeForm): Promise<BegunStream | undefined> {
    const firstRead = await this.#read(request, format);
    // The page itself is not kept, because a stream may last for days.
    return (
      firstRead && {
        after: firstRead.after,
        checkpoint: firstRead.page.checkpoint,
        availableAfter: firstRead.page.availableAfter,
        isReplaced: isOfOtherSelect(firstRead.after, firstRead.page),
        isComplete: isCompleteWithout(firstRead.page),
      }
    );
  }

  async #read(request: StreamRequest, format: ChangeForm): Promise<ChangesRead | undefined> {
    try {
      const after = request.after ?? { offset: (await this.#checkpoint()) ?? 0, node: null };
      return { after, page: await this.#pages.page({ ...request, after }, format, request.reader) };
    } catch (thrown) {
      return rethrowPermanent(thrown);
    }
  }

  /**
   * Sends changes until the client disconnects or history is interrupted. While the database is unavailable, the stream
   * stays open and the client waits. An error response would end the stream of a browser permanently.
   * @param first result of `begin`
   * @throws IndexerError STORE_NOT_PERMITTED; the errors of `send`
   */
  async run(request: StreamRequest, to: StreamTarget, first: BegunStream | undefined): Promise<StreamEnd | 'gone'> {
    const after = first?.after ?? request.after;
    const wasStored = first !== undefined && isOffsetStored(first.after, first);
    const position: ChangePosition = { after, lastSent: after, sentAt: performance.now(), wasThere: wasStored };
    while (!to.gone.aborted) {
      const step = await this.#step(request, to, position).catch(endOrRethrow);
      if (step !== 'sent' && step !== 'at the end' && step !== 'not read') return step;
      if (step !== 'sent' && (await this.#wait(step, position, to.gone)) === 'stopping') return 'stopping';
    }
    return 'gone';
  }

  /** Sends the next page if it has changes. While the stream waits for the next page, it keeps no page in memory. */
  async #step(request: StreamRequest, { form: format, send }: StreamTarget, position: ChangePosition): Promise<Step> {
    const nextRead = await this.#read({ ...request, after: position.after }, format);
    const isDue = performance.now() - position.sentAt >= heartbeatMs;
    if (nextRead === undefined) {
      if (!isDue) return 'not read';
      await send(heartbeat(format));
      position.sentAt = performance.now();
      return 'not read';
    }
    const { after, page } = nextRead;
    position.lastSent ??= after;
    // If the cursor is ahead of history, the stream waits. If history had already reached the cursor and is now behind
    // it, history was reset.
    const isStored = isOffsetStored(after, page);
    if (position.wasThere && !isStored) return 'reset';
    if (isOfOtherSelect(after, page)) return 'replaced';
    if (page.availableAfter !== null && after.offset < page.availableAfter) return 'pruned';
    position.wasThere = isStored;
    if (page.bytes.length > 0 || isDue || page.isComplete === true) {
      const idleMessage = isPassed(page, position.lastSent) ? cursorMessage(format, page.next) : heartbeat(format);
      await send(page.bytes.length > 0 ? page.bytes : idleMessage);
      [position.lastSent, position.sentAt] = [page.next, performance.now()];
    }
    position.after = page.next;
    // The cursor is the end of the stream also if the last changes did not match.
    if (page.isComplete === true && page.bytes.length > 0) await send(cursorMessage(format, page.next));
    if (page.isComplete === true) return 'complete';
    return page.atEnd ? 'at the end' : 'sent';
  }

  #wait(
    step: 'not read' | 'at the end',
    { after }: ChangePosition,
    closeSignal: AbortSignal,
  ): ReturnType<CheckpointWaiters['wait']> {
    const { checkpoint } = this.#waiters;
    if (step === 'not read' || after === undefined)
      return this.#waiters.wait(Infinity, this.#pace.commitsMs, closeSignal);
    // If another process writes, this process is not notified of commits. If this process writes, it is still not
    // notified of a reset or a prune.
    const limitMs = checkpoint === undefined ? this.#pace.commitsMs : this.#pace.resetsMs;
    return this.#waiters.wait(after.offset + 1, limitMs, closeSignal);
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

type Step = 'sent' | 'at the end' | 'not read' | 'complete' | 'reset' | 'pruned' | RequestEnd;

/** Error codes of requests that a retry does not fix, and how they end a stream that has begun. */
const requestEnds: Readonly<Partial<Record<ErrorCode, RequestEnd>>> = {
  FIELD_UNKNOWN: 'invalid',
  FILTER_INVALID: 'invalid',
  PROJECTION_NOT_FOUND: 'dropped',
  PROJECTION_REFUSED: 'refused',
  PROJECTION_SELECT_FAILED: 'failed',
};

/** Rethrows only failures that a retry cannot fix. */
function rethrowPermanent(thrown: unknown): undefined {
  const failure = toIndexerError(thrown);
  if (failure.code === 'STORE_NOT_PERMITTED' || failure.code in requestEnds) throw failure;
}

function endOrRethrow(thrown: unknown): RequestEnd {
  const end = thrown instanceof IndexerError ? requestEnds[thrown.code] : undefined;
  if (end === undefined) throw thrown;
  return end;
}

/** Whether history has reached the cursor. */
function isOffsetStored(after: ChangeCursor, { checkpoint }: Pick<SharedPage, 'checkpoint'>): boolean {
  return after.offset <= (checkpoint ?? -1);
}

/** Whether a page reaches the requested end without a change. */
function isCompleteWithout({ isComplete, bytes }: SharedPage): boolean {
  return isComplete === true && bytes.length === 0;
}

function isPassed({ next }: SharedPage, lastSentCursor: ChangeCursor): boolean {
  return next.offset > lastSentCursor.offset;
}

/**
 * Moves the client's cursor past changes that the filter skipped. If an event has an id but no data, a browser stores
 * the id and dispatches no event.
 */
function cursorMessage(format: ChangeForm, next: ChangeCursor): string {
  return format === 'sse' ? `id: ${formatCursor(next)}\n\n` : '\n';
}

function heartbeat(format: ChangeForm): string {
  return format === 'sse' ? ': still here\n\n' : '\n';
}
