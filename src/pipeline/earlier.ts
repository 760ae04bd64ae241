/**
 * Reads the history that an extended filter matches and that is older than the extension. It runs in the background,
 * reads ranges of offsets, newest first, and stores them one by one. The progress is stored in the database, so another
 * process can resume the work. If history does not begin with the first update of the ledger, the contracts active at
 * its beginning are read last.
 */
import { EMPTY, type Observable } from 'rxjs';
import { pause } from '../config/pause.ts';
import { IndexerError, toIndexerError } from '../errors/indexer-error.ts';
import { earlierUpdates } from './earlier-updates.ts';
import { RequestedJob } from './background/requested-job.ts';
import { type BackgroundJob, type StreamProgress, watching$ } from './background/background-job.ts';
import type { DueEarlier, EarlierStorage, EarlierRange } from './ports/earlier.ts';
import type { PipelineParts } from './ports/parts.ts';
import type { Connected } from './proof/identity.ts';

/** Maximum number of updates in one transaction. The stream waits for this transaction. */
const rangeUpdates = 250;
/**
 * Pause between two ranges, as a share of the time that it took to store a range. The pause gives the stream priority
 * in the database.
 */
const restRatio = 1;

interface JobContext {
  readonly connected: Connected;
  readonly stop: AbortSignal;
}

/** There is one instance for the lifetime of the process. */
export class EarlierHistoryJob implements BackgroundJob {
  readonly #parts: PipelineParts;
  /** A range that cannot be stored until numbers are assigned to its names. Undefined if there is none. */
  #unnamed: EarlierRange | undefined;
  /** Number of offsets that are read at a time, adjusted so that they contain about `rangeUpdates` updates. */
  #width = rangeUpdates;
  readonly #asked = new RequestedJob(
    ['FILTER_EXTEND_REFUSED', 'FILTER_EXTEND_MISMATCH', 'LEDGER_PERMISSION_DENIED'],
    (sink, failure) => sink.earlier.note(failure),
  );
  #updatedAt = -Infinity;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  get isReady(): boolean {
    return this.#unnamed !== undefined;
  }

  watch$(connected: Connected, _followed: StreamProgress, isBounded: boolean): Observable<'ready'> {
    if (isBounded) return EMPTY;
    return watching$(this.#parts.stop, async (stop) => {
      const unnamedRange = await this.#asked.until(connected.parts, stop, () => this.#look({ connected, stop }));
      if (unnamedRange === undefined || stop.aborted) return false;
      this.#unnamed = unnamedRange;
      return true;
    });
  }

  async putIn({ session, parts }: Connected): Promise<boolean> {
    const range = this.#unnamed;
    this.#unnamed = undefined;
    if (range === undefined) return false;
    try {
      await withEarlierStorage(parts, (storage) => storage.name(range, session.state.epoch));
      return true;
    } catch (thrown) {
      await this.#asked.failed(parts, toIndexerError(thrown));
      return false;
    }
  }

  async #look(context: JobContext): Promise<EarlierRange | undefined> {
    const { parts } = context.connected;
    const dueJob = await parts.sink.earlier.due();
    if (dueJob === undefined || dueJob.isPaused || dueJob.waits) return undefined;
    assertFilterInForce(dueJob);
    await parts.sink.filterExtension.assertAllowed();
    return withEarlierStorage(parts, (storage) => this.#goOn(context, storage, dueJob));
  }

  /**
   * Reads one range after the other, down to the beginning of the history.
   * @returns a range that cannot be stored until numbers are assigned to its names
   */
  async #goOn(context: JobContext, storage: EarlierStorage, dueJob: DueEarlier): Promise<EarlierRange | undefined> {
    const { connected, stop } = context;
    const { parts, session } = connected;
    const { perSecond } = dueJob.request;
    let { from: to } = dueJob;
    const start = { to, at: performance.now() };
    while (!stop.aborted) {
      const startedAtMs = performance.now();
      const beginOffset = Math.max(dueJob.begin, await parts.ledger.state.latestPrunedOffsets());
      if (to <= beginOffset) return this.#end(context, storage, dueJob, beginOffset);
      const offsetsPerSecond = (1_000 * (start.to - to)) / Math.max(1, startedAtMs - start.at);
      if (
        !(await this.#noted(parts, dueJob, {
          to,
          begin: beginOffset,
          perSecond: to === start.to ? null : offsetsPerSecond,
        }))
      )
        return undefined;
      const range = await this.#read(context, to, beginOffset, perSecond);
      if (range === undefined) continue;
      const readAt = performance.now();
      const outcome = await storage.store(range, session.state.epoch);
      if (outcome === 'names') return range;
      // The remaining work has changed, so it is read again from the database.
      if (outcome === 'otherwise') return undefined;
      to = range.from;
      const pauseDurationMs = restRatio * (performance.now() - readAt);
      const dueMs = (1_000 * range.updates.length) / perSecond - (performance.now() - startedAtMs);
      await pause(Math.max(pauseDurationMs, dueMs), stop);
    }
    return undefined;
  }

  /** Resolves to the range that ends at `to`. Resolves to undefined if it has too many updates, or when stopped. */
  async #read(
    { connected, stop }: JobContext,
    to: number,
    beginOffset: number,
    perSecond: number,
  ): Promise<EarlierRange | undefined> {
    const targetUpdates = Math.max(1, Math.min(rangeUpdates, perSecond));
    const from = Math.max(beginOffset, to - this.#width);
    const updates = await earlierUpdates(connected.parts, { from, to, most: 4 * targetUpdates }, stop);
    if (updates === undefined) {
      this.#width = Math.max(1, Math.floor(Math.min(this.#width, to - beginOffset) / 4));
      return undefined;
    }
    if (updates.length < targetUpdates / 2) this.#width = 2 * this.#width;
    else if (updates.length > targetUpdates) this.#width = Math.max(1, Math.floor(this.#width / 2));
    return { from, to, updates };
  }

  /** Called when all ranges are stored. Completes the job, or requests the contracts active at the beginning. */
  async #end(
    { connected }: JobContext,
    storage: EarlierStorage,
    dueJob: DueEarlier,
    beginOffset: number,
  ): Promise<undefined> {
    const { parts, session } = connected;
    const { epoch } = session.state;
    const isCompleteFromBegin = beginOffset === 0 || (dueJob.completeFrom ?? Infinity) <= beginOffset;
    if (!isCompleteFromBegin && dueJob.isListRequested) {
      throw new IndexerError(`the contracts active at offset ${String(beginOffset)} were requested and not read`, {
        code: 'FILTER_EXTEND_REFUSED',
        remedy:
          'run ledger-indexer jobs to see why filter-extend did not finish, then: ledger-indexer jobs resume history',
      });
    }
    if (isCompleteFromBegin)
      parts.observers.filterExtension.changed({ kind: 'earlier', offset: await storage.finish(beginOffset, epoch) });
    else await storage.askForList(beginOffset, epoch);
    return undefined;
  }

  async #noted(
    parts: PipelineParts,
    { completeFrom }: DueEarlier,
    {
      to,
      begin: beginOffset,
      perSecond,
    }: { readonly to: number; readonly begin: number; readonly perSecond: number | null },
  ): Promise<boolean> {
    if (performance.now() - this.#updatedAt < parts.pace.progressMs) return true;
    this.#updatedAt = performance.now();
    const last = completeFrom ?? to;
    const counts = { done: Math.max(0, last - to), total: Math.max(0, last - beginOffset) };
    return parts.sink.earlier.note({
      step: 'reading earlier updates',
      unit: 'offsets',
      ...counts,
      perSecond,
      problem: null,
    });
  }
}

/** @throws IndexerError FILTER_EXTEND_REFUSED if the history was requested for a filter that is no longer in force */
function assertFilterInForce({ isInForce: isFilterInForce }: DueEarlier): void {
  if (isFilterInForce) return;
  throw new IndexerError('the filter in force is not the one whose history was requested', {
    code: 'FILTER_EXTEND_REFUSED',
    remedy:
      'cancel it (ledger-indexer jobs cancel history), or request it again: ledger-indexer filter extend --with-history',
  });
}

async function withEarlierStorage<T>(parts: PipelineParts, work: (storage: EarlierStorage) => Promise<T>): Promise<T> {
  const storage = await parts.earlierPlace();
  try {
    return await work(storage);
  } finally {
    await storage.close();
  }
}
