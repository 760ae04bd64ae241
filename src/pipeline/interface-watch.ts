/**
 * Backfills requested interfaces that the stream does not include yet. The participant is polled for them. When the
 * participant knows them, their views are staged in the background, from the earliest offset at which the participant
 * still returns them. When the staged views have caught up with the stream, the session ends. Before the next session
 * begins, the views are merged, and from then on the stream includes the interfaces. The stream waits only for this
 * last part, and never fails because of it.
 */
import { EMPTY, type Observable } from 'rxjs';
import { pause } from '../config/pause.ts';
import { toIndexerError } from '../errors/indexer-error.ts';
import type { IndexerError } from '../errors/indexer-error.ts';
import type { RequestedInterface } from '../model/stream.ts';
import { knownInterfaces } from '../ledger/api/known-interfaces.ts';
import { type BackgroundJob, type Followed, watching$ } from './background/background-job.ts';
import type { PipelineParts } from './ports/parts.ts';
import type { Connected } from './proof/identity.ts';
import { withUpdatedStates } from './proof/interfaces.ts';
import { retryAfterMs } from './retry/retry.ts';
import { ViewHistory } from './view-history.ts';

/**
 * Milliseconds. If reading the last range took no longer than this, reading the final range will not delay the stream
 * noticeably.
 */
const caughtUpMs = 2_000;
/**
 * A range with at most this number of offsets counts as short even if it took longer, because connecting alone may take
 * that long.
 */
const caughtUpOffsets = 1_000;
/** A failure that only an operator can fix is reported again at this interval. */
const parkedDelayMs = 600_000;

/**
 * There is one instance for the lifetime of the process, because staged views that have caught up must outlive their
 * session.
 */
export class InterfaceWatch implements BackgroundJob {
  readonly #parts: PipelineParts;
  #level: ViewHistory | undefined;
  /** Time of the next attempt after a failure, in any session. Monotonic, milliseconds. */
  #notBefore = 0;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  get isReady(): boolean {
    return this.#level !== undefined;
  }

  /**
   * In a bounded run, the stream ends with the interfaces that the participant knows at that time. Views are staged
   * once, and nothing waits for them.
   */
  watch$(connected: Connected, following: Followed, isBounded: boolean): Observable<'ready'> {
    if (connected.interfaces.every(({ state }) => state === 'followed')) return EMPTY;
    return watching$(
      this.#parts.stop,
      (stop) => this.#untilLevel({ ...connected, following, stop }, isBounded),
      // Staged views that have caught up are read up to the checkpoint after the session ends.
      () => this.isReady,
    );
  }

  /** Brings the staged views to the checkpoint and merges them. */
  async putIn({ session, parts }: Connected): Promise<boolean> {
    const history = this.#level;
    const { checkpoint, epoch } = session.state;
    if (history === undefined || checkpoint === null) return false;
    this.#level = undefined;
    try {
      // These views were staged with offsets of a participant that is no longer read.
      if (history.movedAt !== session.state.participantRange?.from) return false;
      if ((await parts.sink.filterExtension.due()) !== undefined) return false;
      if (!(await history.reach(checkpoint))) return false;
      const views = await polling(parts, () => history.merge({ checkpoint, epoch }));
      parts.observers.interfaces.added(history.interfaces, views);
      return true;
    } catch (thrown) {
      this.#failed(toIndexerError(thrown));
      return false;
    } finally {
      await history.close();
    }
  }

  async close(): Promise<void> {
    const history = this.#level;
    this.#level = undefined;
    await history?.close();
  }

  async #untilLevel(gathering: Gathering, once: boolean): Promise<boolean> {
    const { stop } = gathering;
    const lastReport: Reported = { interfaces: gathering.interfaces };
    const delayMs = this.#notBefore - performance.now();
    if (once && delayMs > 0) return false;
    await pause(Math.max(0, delayMs), stop);
    while (!stop.aborted) {
      try {
        if (await this.#gather(gathering, lastReport)) return true;
        this.#notBefore = performance.now() + this.#parts.limits.retryMaxDelayMs;
      } catch (thrown) {
        if (!stop.aborted) this.#failed(toIndexerError(thrown));
      }
      if (once) return false;
      await pause(this.#notBefore - performance.now(), stop);
    }
    return false;
  }

  async #gather(gathering: Gathering, lastReport: Reported): Promise<boolean> {
    const history = await readHistory(gathering, lastReport);
    if (history === undefined) return false;
    if (gathering.stop.aborted) {
      // The next session continues with the staged views, so they must be closed before it begins.
      await history.close();
      return false;
    }
    this.#level = history;
    return true;
  }

  #failed(error: IndexerError): void {
    const { observers, tokenSource, limits } = this.#parts;
    if (error.retry === 'refresh-token') tokenSource.invalidate();
    const ownMs = error.retry === 'park' || error.retry === 'fatal' ? parkedDelayMs : limits.retryMaxDelayMs;
    const delayMs = Math.max(ownMs, retryAfterMs(error));
    this.#notBefore = performance.now() + delayMs;
    observers.interfaces.failed(error, delayMs);
  }
}

/**
 * Polls the ledger end while `work` runs, because no other poll runs then, and merging years of views takes minutes.
 */
async function polling<T>({ polledLedger, observers, limits }: PipelineParts, work: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const poll = async (): Promise<void> => {
    for (;;) {
      await pause(limits.pollMs, over.signal);
      if (over.signal.aborted) return;
      // A failed poll needs no report, because readiness depends on the time since the last response.
      await polledLedger.state.ledgerEnd().then(
        (ledgerEnd) => observers.polls.ledgerEnd(ledgerEnd),
        () => undefined,
      );
    }
  };
  void poll();
  try {
    return await work();
  } finally {
    over.abort();
  }
}

interface Gathering extends Pick<Connected, 'session' | 'parts' | 'interfaces'> {
  readonly following: Followed;
  readonly stop: AbortSignal;
}

/** The interfaces last stored in the sink. */
interface Reported {
  interfaces: readonly RequestedInterface[];
}

/** Resolves to undefined while the participant knows none of the requested interfaces, and when stopped. */
async function readHistory(gathering: Gathering, lastReport: Reported): Promise<ViewHistory | undefined> {
  const { parts } = gathering;
  const { ledger, sink, observers } = parts;
  const { following, stop } = gathering;
  // Views belong to stored contracts, so a filter extension has to be completed first.
  if ((await sink.filterExtension.due()) !== undefined) return undefined;
  const known = await askAgain(parts, gathering, lastReport);
  const { repeatsTo = 0 } = parts.participantOffsets ?? {};
  // Before that offset, new views cannot be distinguished from views that were stored from another participant.
  if (known.length === 0 || following.checkpoint < repeatsTo) return undefined;
  // Before that offset, the stream has no updates, or the participant no longer returns them.
  const pruned = await ledger.state.latestPrunedOffsets();
  const history = await ViewHistory.open(
    parts,
    known,
    { begin: Math.max(await sink.marks.historyBegin(), pruned, repeatsTo), pruned },
    stop,
  );
  let isLevel = false;
  try {
    observers.interfaces.gathering(known, history.begin);
    while (!isLevel) {
      const began = performance.now();
      const distance = following.checkpoint - history.offset;
      if (!(await history.reach(following.checkpoint))) return undefined;
      isLevel = performance.now() - began < caughtUpMs || distance < caughtUpOffsets;
    }
    return history;
  } finally {
    if (!isLevel) await history.close();
  }
}

/**
 * Checks which interfaces that the stream does not include are now known to the participant. Stores the result and
 * returns the known interfaces.
 */
async function askAgain(
  { ledger, filter, observers }: PipelineParts,
  { session }: Gathering,
  lastReport: Reported,
): Promise<readonly string[]> {
  const ledgerEnd = await ledger.state.ledgerEnd();
  const followed = lastReport.interfaces.filter(({ state }) => state === 'followed');
  const rest = lastReport.interfaces.filter(({ state }) => state !== 'followed');
  const open = rest.map(({ id }) => id);
  const known = await knownInterfaces(ledger, filter, open, ledgerEnd);
  const interfaces = [...followed, ...withUpdatedStates(rest, known, { ledgerEnd, isNew: false })];
  if (JSON.stringify(interfaces) !== JSON.stringify(lastReport.interfaces)) {
    await session.noteInterfaces(interfaces);
    lastReport.interfaces = interfaces;
    observers.interfaces.interfacesRequested(interfaces);
  }
  return known;
}
