/**
 * What one client is sent: changes behind its place, as they are committed, for as long as it listens. Between two pages nothing is
 * held for it but its place, no snapshot and no connection.
 */
import { toIndexerError } from '../../errors/indexer-error.ts';
import { formatCursor, type ChangeCursor, type ChangesWanted } from '../../changes.ts';
import type { Pace } from '../../pace.ts';
import type { CheckpointWaiters } from '../health/checkpoint-waiters.ts';
import type { ChangeForm, ChangePages, SharedPage } from './change-pages.ts';

/** Why a stream ended before its client left. */
export type StreamEnd = 'pruned' | 'reset' | 'stopping';

/** @property after undefined: behind what is there now */
export type StreamWanted = Omit<ChangesWanted, 'after'> & { readonly after: ChangeCursor | undefined };

export interface Begun {
  readonly after: ChangeCursor;
  readonly page: SharedPage;
}

export interface StreamedTo {
  readonly form: ChangeForm;
  /** Resolves when the client takes more, at once as a rule; rejects when it does not for too long, or is gone. */
  readonly send: (text: string) => Promise<void>;
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

  /** The first page; undefined where it cannot be read now. @throws IndexerError STORE_NOT_PERMITTED */
  async begin(wanted: StreamWanted): Promise<Begun | undefined> {
    try {
      const after = wanted.after ?? { offset: (await this.#checkpoint()) ?? 0, node: null };
      return { after, page: await this.#pages.page({ ...wanted, after }) };
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
    let after = first?.after ?? wanted.after;
    let told = after;
    let sentAt = performance.now();
    let wasThere = first !== undefined && isThere(first);
    while (!to.gone.aborted) {
      const begun = await this.begin({ ...wanted, after });
      const isDue = performance.now() - sentAt >= heartbeatMs;
      if (begun === undefined) {
        if (isDue) {
          await to.send(heartbeat(to.form));
          sentAt = performance.now();
        }
        if ((await this.#waiters.wait(Infinity, this.#pace.commitsMs, to.gone)) === 'stopping') return 'stopping';
        continue;
      }
      const { page } = begun;
      after = begun.after;
      told ??= after;
      // A place ahead is waited for; one that was here and is not any more was taken back.
      const isHere = isThere(begun);
      if (wasThere && !isHere) return 'reset';
      if (page.keptAfter !== null && after.offset < page.keptAfter) return 'pruned';
      wasThere = isHere;
      if (page.changes.length > 0 || isDue) {
        const place = isPassed(page, told) ? placeOnly(to.form, page.next) : heartbeat(to.form);
        await to.send(page.changes.length > 0 ? page.text(to.form) : place);
        [told, sentAt] = [page.next, performance.now()];
      }
      after = page.next;
      if (page.atEnd && (await this.#more(after, to.gone)) === 'stopping') return 'stopping';
    }
    return 'gone';
  }

  async #more({ offset }: ChangeCursor, gone: AbortSignal): Promise<'stopping' | undefined> {
    // Where another process writes, this one hears of no commit; where it writes itself, of no reset and no prune.
    const limitMs = this.#waiters.checkpoint === undefined ? this.#pace.commitsMs : this.#pace.resetsMs;
    const end = await this.#waiters.wait(offset + 1, limitMs, gone);
    return end === 'stopping' ? end : undefined;
  }
}

/** Only what will not pass by itself goes further. */
function afterFailure(thrown: unknown): undefined {
  const failure = toIndexerError(thrown);
  if (failure.code === 'STORE_NOT_PERMITTED') throw failure;
}

/** Whether history has come to the place. */
function isThere({ after, page }: Begun): boolean {
  return after.offset <= (page.checkpoint ?? -1);
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
