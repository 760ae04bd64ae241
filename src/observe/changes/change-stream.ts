/**
 * What one client is sent: changes behind its place, as they are committed, for as long as it listens. Between two pages nothing is
 * held for it but its place, no snapshot and no connection.
 */
import { toIndexerError } from '../../errors/indexer-error.ts';
import { formatCursor, type ChangeCursor, type ChangesWanted } from '../../model/push/changes.ts';
import type { Pace } from '../../config/pace.ts';
import type { CheckpointWaiters } from '../health/checkpoint-waiters.ts';
import type { ChangeForm, ChangePages, SharedPage } from './change-pages.ts';

/** Why a stream ended before its client left. */
export type StreamEnd = 'pruned' | 'reset' | 'stopping';

export type StreamWanted = Omit<ChangesWanted, 'after'> & {
  /** Undefined: behind what is there now. */
  readonly after: ChangeCursor | undefined;
  /** Whose turns pages are read at, and whose places streams take. */
  readonly reader: string;
};

/** Where a stream begins, and what the database says of that place. */
export interface Begun extends Pick<SharedPage, 'checkpoint' | 'availableAfter'> {
  readonly after: ChangeCursor;
}

interface Read {
  readonly after: ChangeCursor;
  readonly page: SharedPage;
}

export interface StreamedTo {
  readonly form: ChangeForm;
  /** Resolves when the client takes more, at once as a rule; rejects when it does not for too long, or is gone. */
  readonly send: (part: string | Buffer) => Promise<void>;
  readonly gone: AbortSignal;
}

/** Something is sent at least so often, so that nobody in between takes the connection for dead, milliseconds. */
const heartbeatMs = 15_000;

export class ChangeStream {
  readonly #pages: ChangePages;
  readonly #waiters: CheckpointWaiters;
  readonly #checkpoint: () => Promise<number | null>;
  readonly #pace: Pace;

  /**
   * @param waiters told of each commit of this process
   * @param checkpoint the newest one in the database; null before the first
   */
  constructor(pages: ChangePages, waiters: CheckpointWaiters, checkpoint: () => Promise<number | null>, pace: Pace) {
    this.#pages = pages;
    this.#waiters = waiters;
    this.#checkpoint = checkpoint;
    this.#pace = pace;
  }

  /**
   * Reads the first page, which is kept for the stream that follows at once; undefined where it cannot be read now.
   * @throws IndexerError STORE_NOT_PERMITTED
   */
  async begin(wanted: StreamWanted, form: ChangeForm): Promise<Begun | undefined> {
    const read = await this.#read(wanted, form);
    // A stream may last for days: it does not hold its first page.
    return read && { after: read.after, checkpoint: read.page.checkpoint, availableAfter: read.page.availableAfter };
  }

  async #read(wanted: StreamWanted, form: ChangeForm): Promise<Read | undefined> {
    try {
      const after = wanted.after ?? { offset: (await this.#checkpoint()) ?? 0, node: null };
      return { after, page: await this.#pages.page({ ...wanted, after }, form, wanted.reader) };
    } catch (thrown) {
      return afterFailure(thrown);
    }
  }

  /**
   * Sends until the client leaves, or history does not go on. While the database cannot be asked the client waits: an answer that is
   * an error would end a browser's stream for good.
   * @param first what the client was answered for
   * @throws IndexerError STORE_NOT_PERMITTED; what `send` rejects with
   */
  async run(wanted: StreamWanted, to: StreamedTo, first: Begun | undefined): Promise<StreamEnd | 'gone'> {
    const after = first?.after ?? wanted.after;
    const wasThere = first !== undefined && isThere(first.after, first);
    const place: Place = { after, told: after, sentAt: performance.now(), wasThere };
    while (!to.gone.aborted) {
      const step = await this.#step(wanted, to, place);
      if (step === 'reset' || step === 'pruned') return step;
      if (step !== 'sent' && (await this.#wait(step, place, to.gone)) === 'stopping') return 'stopping';
    }
    return 'gone';
  }

  /** One page, if there is one: a stream holds none while it waits for the next. */
  async #step(wanted: StreamWanted, { form, send }: StreamedTo, place: Place): Promise<Step> {
    const read = await this.#read({ ...wanted, after: place.after }, form);
    const isDue = performance.now() - place.sentAt >= heartbeatMs;
    if (read === undefined) {
      if (!isDue) return 'not read';
      await send(heartbeat(form));
      place.sentAt = performance.now();
      return 'not read';
    }
    const { after, page } = read;
    place.told ??= after;
    // A place ahead is waited for; one that was here and is not any more was taken back.
    const isHere = isThere(after, page);
    if (place.wasThere && !isHere) return 'reset';
    if (page.availableAfter !== null && after.offset < page.availableAfter) return 'pruned';
    place.wasThere = isHere;
    if (page.bytes.length > 0 || isDue) {
      const noChange = isPassed(page, place.told) ? placeOnly(form, page.next) : heartbeat(form);
      await send(page.bytes.length > 0 ? page.bytes : noChange);
      [place.told, place.sentAt] = [page.next, performance.now()];
    }
    place.after = page.next;
    return page.atEnd ? 'at the end' : 'sent';
  }

  #wait(step: 'not read' | 'at the end', { after }: Place, gone: AbortSignal): ReturnType<CheckpointWaiters['wait']> {
    const { checkpoint } = this.#waiters;
    if (step === 'not read' || after === undefined) return this.#waiters.wait(Infinity, this.#pace.commitsMs, gone);
    // Where another process writes, this one hears of no commit; where it writes itself, of no reset and no prune.
    const limitMs = checkpoint === undefined ? this.#pace.commitsMs : this.#pace.resetsMs;
    return this.#waiters.wait(after.offset + 1, limitMs, gone);
  }
}

/** How far a stream is. */
interface Place {
  /** Undefined: behind what is there when it can be read. */
  after: ChangeCursor | undefined;
  /** What the client knows of it. */
  told: ChangeCursor | undefined;
  /** When something was last sent, by `performance.now()`. */
  sentAt: number;
  /** Whether history had come to it. */
  wasThere: boolean;
}

type Step = 'sent' | 'at the end' | 'not read' | 'reset' | 'pruned';

/** Only what will not pass by itself goes further. */
function afterFailure(thrown: unknown): undefined {
  const failure = toIndexerError(thrown);
  if (failure.code === 'STORE_NOT_PERMITTED') throw failure;
}

/** Whether history has come to the place. */
function isThere(after: ChangeCursor, { checkpoint }: Pick<SharedPage, 'checkpoint'>): boolean {
  return after.offset <= (checkpoint ?? -1);
}

function isPassed({ next }: SharedPage, told: ChangeCursor): boolean {
  return next.offset > told.offset;
}

/** An id without data is remembered by browsers and dispatches nothing: what did not fit the filter is not looked at again. */
function placeOnly(form: ChangeForm, next: ChangeCursor): string {
  return form === 'sse' ? `id: ${formatCursor(next)}\n\n` : '\n';
}

function heartbeat(form: ChangeForm): string {
  return form === 'sse' ? ': still here\n\n' : '\n';
}
