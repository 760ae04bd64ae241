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
import { findKnownInterfaces } from '../ledger/api/known-interfaces.ts';
import { type BackgroundJob, type StreamProgress, watching$ } from './background/background-job.ts';
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
  watch$(connected: Connected, progress: StreamProgress, isBounded: boolean): Observable<'ready'> {
    if (connected.interfaces.every(({ state }) => state === 'followed')) return EMPTY;
    return watching$(
      this.#parts.stop,
      (stop) => this.#untilLevel({ ...connected, following: progress, stop }, isBounded),
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

  async #untilLevel(backfill: BackfillContext, isSinglePass: boolean): Promise<boolean> {
    const { stop } = backfill;
    const lastReport: ReportState = { interfaces: backfill.interfaces };
    const delayMs = this.#notBefore - performance.now();
    if (isSinglePass && delayMs > 0) return false;
    await pause(Math.max(0, delayMs), stop);
    while (!stop.aborted) {
      try {
        if (await this.#backfill(backfill, lastReport)) return true;
        this.#notBefore = performance.now() + this.#parts.limits.retryMaxDelayMs;
      } catch (thrown) {
        if (!stop.aborted) this.#failed(toIndexerError(thrown));
      }
      if (isSinglePass) return false;
      await pause(this.#notBefore - performance.now(), stop);
    }
    return false;
  }

  async #backfill(backfill: BackfillContext, lastReport: ReportState): Promise<boolean> {
    const history = await readHistory(backfill, lastReport);
    if (history === undefined) return false;
    if (backfill.stop.aborted) {
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
    const baseDelayMs = error.retry === 'park' || error.retry === 'fatal' ? parkedDelayMs : limits.retryMaxDelayMs;
    const delayMs = Math.max(baseDelayMs, retryAfterMs(error));
    this.#notBefore = performance.now() + delayMs;
    observers.interfaces.failed(error, delayMs);
  }
}

/**
 * Polls the ledger end while `work` runs, because no other poll runs then, and merging years of views takes minutes.
 */
async function polling<T>({ polledLedger, observers, limits }: PipelineParts, work: () => Promise<T>): Promise<T> {
  const endController = new AbortController();
  const poll = async (): Promise<void> => {
    for (;;) {
      await pause(limits.pollMs, endController.signal);
      if (endController.signal.aborted) return;
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
    endController.abort();
  }
}

interface BackfillContext extends Pick<Connected, 'session' | 'parts' | 'interfaces'> {
  readonly following: StreamProgress;
  readonly stop: AbortSignal;
}

/** The interfaces last stored in the sink. */
interface ReportState {
  interfaces: readonly RequestedInterface[];
}

/** Resolves to undefined while the participant knows none of the requested interfaces, and when stopped. */
async function readHistory(backfill: BackfillContext, lastReport: ReportState): Promise<ViewHistory | undefined> {
  const { parts } = backfill;
  const { ledger, sink, observers } = parts;
  const { following: progress, stop } = backfill;
  // Views belong to stored contracts, so a filter extension has to be completed first.
  if ((await sink.filterExtension.due()) !== undefined) return undefined;
  const knownIds = await refreshInterfaces(parts, backfill, lastReport);
  const { repeatsTo: overlapEnd = 0 } = parts.participantOffsets ?? {};
  // Before that offset, new views cannot be distinguished from views that were stored from another participant.
  if (knownIds.length === 0 || progress.checkpoint < overlapEnd) return undefined;
  // Before that offset, the stream has no updates, or the participant no longer returns them.
  const pruned = await ledger.state.latestPrunedOffsets();
  const history = await ViewHistory.open(
    parts,
    knownIds,
    { begin: Math.max(await sink.marks.historyBegin(), pruned, overlapEnd), pruned },
    stop,
  );
  let isCaughtUp = false;
  try {
    observers.interfaces.gathering(knownIds, history.begin);
    while (!isCaughtUp) {
      const startedAtMs = performance.now();
      const offsetLag = progress.checkpoint - history.offset;
      if (!(await history.reach(progress.checkpoint))) return undefined;
      isCaughtUp = performance.now() - startedAtMs < caughtUpMs || offsetLag < caughtUpOffsets;
    }
    return history;
  } finally {
    if (!isCaughtUp) await history.close();
  }
}

/**
 * Checks which interfaces that the stream does not include are now known to the participant. Stores the result and
 * returns the known interfaces.
 */
async function refreshInterfaces(
  { ledger, filter, observers }: PipelineParts,
  { session }: BackfillContext,
  lastReport: ReportState,
): Promise<readonly string[]> {
  const ledgerEnd = await ledger.state.ledgerEnd();
  const followedInterfaces = lastReport.interfaces.filter(({ state }) => state === 'followed');
  const rest = lastReport.interfaces.filter(({ state }) => state !== 'followed');
  const openIds = rest.map(({ id }) => id);
  const knownIds = await findKnownInterfaces(ledger, filter, openIds, ledgerEnd);
  const interfaces = [...followedInterfaces, ...withUpdatedStates(rest, knownIds, { ledgerEnd, isNew: false })];
  if (JSON.stringify(interfaces) !== JSON.stringify(lastReport.interfaces)) {
    await session.noteInterfaces(interfaces);
    lastReport.interfaces = interfaces;
    observers.interfaces.interfacesRequested(interfaces);
  }
  return knownIds;
}
