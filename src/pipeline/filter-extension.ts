/**
 * Extends the filter while the stream runs. The session ends, the new filter comes into force at the checkpoint, and
 * the stream resumes with it at once. Contracts that were active at that offset and that only the new filter matches
 * are read in the background and added in short steps. The stream therefore never waits for a list of active contracts.
 * All state is stored in the database, so another process can resume the work.
 */
import { EMPTY, lastValueFrom, type Observable } from 'rxjs';
import { pause } from '../config/pause.ts';
import { interfacesNamed } from '../config/interface-presets.ts';
import { toIndexerError } from '../errors/indexer-error.ts';
import { findKnownInterfaces } from '../ledger/api/known-interfaces.ts';
import { activeContractsRequest } from '../ledger/api/request-format.ts';
import { unreadRelease } from '../ledger/api/release.ts';
import { parseFilter, type FilterExtensionRequest } from '../model/stream.ts';
import { RequestedJob } from './background/requested-job.ts';
import { type BackgroundJob, type StreamProgress, watching$ } from './background/background-job.ts';
import type { PipelineParts } from './ports/parts.ts';
import { silentCommits, silentObservers } from './ports/quiet-observer.ts';
import type { FillState, FilterExtensionStorage } from './ports/filter-extension.ts';
import { withFilter } from './proof/filter-in-force.ts';
import { sessionRelease } from './proof/session-release.ts';
import { fetchLedgerIdentity, type Connected } from './proof/identity.ts';
import { isNamed, emptyRange, searchRangeOf } from './retry/isolate-failing-update.ts';
import { seed$ } from './seed.ts';

/** Maximum number of contracts in one transaction. The stream waits only for the shorter half of the transaction. */
const stepContracts = 1_000;
/**
 * Pause between two steps, as a share of the time that a step took. The pause gives the stream priority in the
 * database.
 */
const restRatio = 0.5;

/** Reason to end the session. */
type ExtensionTurn = 'set' | 'name' | 'done';

interface JobContext {
  readonly connected: Connected;
  readonly following: StreamProgress;
  readonly stop: AbortSignal;
}

/** There is one instance for the lifetime of the process. */
export class FilterExtensionWatch implements BackgroundJob {
  readonly #parts: PipelineParts;
  #turn: ExtensionTurn | undefined;
  readonly #asked = new RequestedJob(
    ['FILTER_EXTEND_REFUSED', 'FILTER_EXTEND_MISMATCH', 'LEDGER_FILTER_UNKNOWN', 'LEDGER_PERMISSION_DENIED'],
    (sink, failure) => sink.filterExtension.note(failure),
  );
  #tidied = false;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  get isReady(): boolean {
    return this.#turn !== undefined;
  }

  watch$(connected: Connected, progress: StreamProgress, isBounded: boolean): Observable<'ready'> {
    if (isBounded) return EMPTY;
    return watching$(this.#parts.stop, async (stop) => {
      const nextTurn = await this.#asked.until(connected.parts, stop, () =>
        this.#look({ connected, following: progress, stop }),
      );
      if (nextTurn === undefined || stop.aborted) return false;
      this.#turn = nextTurn;
      return true;
    });
  }

  async putIn({ session, parts }: Connected): Promise<boolean> {
    const currentTurn = this.#turn;
    this.#turn = undefined;
    const { checkpoint, epoch } = session.state;
    if (currentTurn === undefined || currentTurn === 'done' || checkpoint === null) return false;
    try {
      const dueExtension = await parts.sink.filterExtension.due();
      if (dueExtension === undefined) return false;
      if (currentTurn === 'set') {
        await parts.sink.filterExtension.set(
          dueExtension.request,
          { checkpoint, epoch },
          await knownNewInterfaces(parts, dueExtension.request),
        );
        parts.observers.filterExtension.changed({ kind: 'set', offset: checkpoint });
      } else await withExtensionStorage(parts, (staging) => staging.name(epoch));
      return true;
    } catch (thrown) {
      await this.#asked.failed(parts, toIndexerError(thrown));
      return false;
    }
  }

  async #look(context: JobContext): Promise<ExtensionTurn | undefined> {
    const { parts } = context.connected;
    const { filterExtension } = parts.sink;
    const dueExtension = await filterExtension.due();
    if (dueExtension === undefined) {
      // Removes what a cancelled extension left behind. This is done once, so later passes skip it.
      if (!this.#tidied) await filterExtension.tidy();
      this.#tidied = true;
      return undefined;
    }
    this.#tidied = false;
    if (dueExtension.isPaused) return undefined;
    const { notBefore: minOffset } = dueExtension;
    if (dueExtension.isSet && minOffset === undefined) {
      await filterExtension.note({ state: 'done', step: null, problem: null });
      return undefined;
    }
    // This also checks rights on objects that another role has created.
    await filterExtension.assertAllowed();
    if (dueExtension.isSet && minOffset !== undefined)
      return withExtensionStorage(parts, (staging) => addActiveContracts(context, staging, minOffset));
    await probe(parts, dueExtension.request);
    return (await filterExtension.note({ step: 'applying the filter', problem: null })) ? 'set' : undefined;
  }
}

/** Requests one contract first. If the stream requested data that it may not see, it would park. */
async function probe(allParts: PipelineParts, extensionRequest: FilterExtensionRequest): Promise<void> {
  const { ledger, filter } = withFilter(allParts, parseFilter(extensionRequest.filter));
  // The right to see contracts does not depend on reassignments in flight.
  const request = activeContractsRequest(await ledger.state.ledgerEnd(), { ...filter, interfaces: [] }, unreadRelease);
  for await (const _ of ledger.state.activeContracts(request, { limit: 1 })) break;
}

/**
 * When the filter names templates, an interface matches contracts of other templates too, which have to be followed
 * from here. Otherwise only the views of the interface are missing, and they are backfilled.
 */
async function knownNewInterfaces(
  allParts: PipelineParts,
  extensionRequest: FilterExtensionRequest,
): Promise<readonly string[]> {
  const { ledger, filter, wantedInterfaces } = withFilter(allParts, parseFilter(extensionRequest.filter));
  if (filter.templates.length === 0) return [];
  return findKnownInterfaces(ledger, filter, interfacesNamed(wantedInterfaces), await ledger.state.ledgerEnd());
}

async function withExtensionStorage<T>(
  parts: PipelineParts,
  work: (staging: FilterExtensionStorage) => Promise<T>,
): Promise<T> {
  const staging = await parts.filterExtensionPlace();
  try {
    return await work(staging);
  } finally {
    await staging.close();
  }
}

/** Reads the active contracts and then adds them. @returns the reason to end the session; undefined when stopped */
async function addActiveContracts(
  context: JobContext,
  staging: FilterExtensionStorage,
  minOffset: number,
): Promise<ExtensionTurn | undefined> {
  const { connected, following: progress, stop } = context;
  const progressWriter = new ProgressWriter(connected.parts);
  const offset = await stageContracts(context, staging, minOffset, progressWriter);
  if (offset === undefined) return undefined;
  while (progress.checkpoint < offset) {
    if (stop.aborted) return undefined;
    await pause(100, stop);
  }
  if (!(await staging.isNamed())) return 'name';
  if (!(await progressWriter.now({ step: 'preparing the contracts that were read', perSecond: null })))
    return undefined;
  const fillState = await staging.begin();
  if (!(await addContracts(context, staging, progressWriter, fillState))) return undefined;
  const { total } = fillState;
  if (!(await progressWriter.now({ step: 'adding contracts', done: total, total, perSecond: null }))) return undefined;
  const completeFrom = await staging.finish(connected.session.state.epoch);
  connected.parts.observers.filterExtension.changed({ kind: 'done', offset: completeFrom });
  return 'done';
}

/** The offset of the active contracts once all of them are staged; undefined when stopped. */
async function stageContracts(
  { connected, stop }: JobContext,
  staging: FilterExtensionStorage,
  minOffset: number,
  progressWriter: ProgressWriter,
): Promise<number | undefined> {
  const { parts: allParts } = connected;
  const parts: PipelineParts = {
    ...allParts,
    observers: {
      ...silentObservers,
      seed: {
        done: () => undefined,
        progress: ({ contracts }) =>
          void progressWriter.rarely({ step: 'reading active contracts', done: contracts, total: null }),
      },
    },
    commits: silentCommits,
    tracer: undefined,
    limits: { ...allParts.limits, writeConcurrency: 1 },
    stop: AbortSignal.any([stop, progressWriter.over]),
  };
  const identity = await fetchLedgerIdentity(parts);
  await staging.prepare({ identity, notBefore: minOffset });
  let isolatedRange = emptyRange;
  let isRefused = false;
  for (let failures = 0; !parts.stop.aborted;) {
    try {
      const session = await staging.openSession(identity);
      if (session.state.seeded && session.state.checkpoint !== null) return session.state.checkpoint;
      const { state } = parts.ledger;
      const offset = isRefused ? await state.ledgerEnd() : Math.max(minOffset, await state.latestPrunedOffsets());
      allParts.observers.filterExtension.changed({ kind: 'gathering', offset });
      const run = { apart: isolatedRange, strict: true as const, onProgress: () => (failures = 0) };
      const release = await sessionRelease(parts);
      return await lastValueFrom(seed$({ ...parts, release }, session, offset, run), { defaultValue: undefined });
    } catch (thrown) {
      const error = toIndexerError(thrown);
      failures += 1;
      // This is done only once. If the participant returns contracts only at its ledger end, they are read there.
      const atEnd: boolean = error.code === 'LEDGER_REASSIGNMENT_IN_FLIGHT' && !isRefused;
      isRefused ||= atEnd;
      if (atEnd) continue;
      isolatedRange = searchRangeOf(error, failures) ?? emptyRange;
      if (isolatedRange === emptyRange || isNamed(error)) throw error;
    }
  }
  return undefined;
}

/** Adds contracts step by step; false when stopped. */
async function addContracts(
  { connected, stop }: JobContext,
  staging: FilterExtensionStorage,
  progressWriter: ProgressWriter,
  initialState: FillState,
): Promise<boolean> {
  const { epoch } = connected.session.state;
  const contracts = Math.min(stepContracts, connected.parts.limits.batchUpdates);
  const { total } = initialState;
  const startedAtMs = performance.now();
  for (let fillState: FillState | undefined = initialState; fillState !== undefined;) {
    if (stop.aborted || progressWriter.over.aborted) return false;
    const stepStartedAtMs = performance.now();
    const perSecond = (1_000 * (fillState.done - initialState.done)) / Math.max(1, stepStartedAtMs - startedAtMs);
    await progressWriter.rarely({ step: 'adding contracts', done: fillState.done, total, perSecond });
    fillState = await staging.fill(epoch, contracts);
    await pause(restRatio * (performance.now() - stepStartedAtMs), stop);
  }
  return true;
}

interface ProgressNote {
  readonly step: string;
  readonly done?: number;
  readonly total?: number | null;
  readonly perSecond?: number | null;
}

/** Stores the progress of the job at intervals, and checks whether the job was paused or cancelled. */
class ProgressWriter {
  readonly #parts: PipelineParts;
  readonly #over = new AbortController();
  #updatedAt = -Infinity;
  /** The newest count of contracts, of the list and then of the contracts that were added. */
  #done: number | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Aborted when the job was paused or cancelled. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Without a count of its own, a note keeps the newest count, which may not have been stored yet. */
  async now({ done: doneCount = this.#done, ...noteFields }: ProgressNote): Promise<boolean> {
    this.#updatedAt = performance.now();
    this.#done = doneCount;
    const facts = {
      ...noteFields,
      ...(doneCount !== undefined && { done: doneCount }),
      unit: 'contracts',
      problem: null,
    } as const;
    const isActive = await this.#parts.sink.filterExtension.note(facts);
    if (!isActive) this.#over.abort();
    return isActive;
  }

  async rarely(progressNote: ProgressNote): Promise<void> {
    this.#done = progressNote.done;
    if (performance.now() - this.#updatedAt >= this.#parts.pace.progressMs) await this.now(progressNote);
  }
}
