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
import { knownInterfaces } from '../ledger/api/known-interfaces.ts';
import { activeContractsRequest } from '../ledger/api/request-format.ts';
import { unreadRelease } from '../ledger/api/release.ts';
import { keptFilter, type FilterExtensionRequest } from '../model/stream.ts';
import { RequestedJob } from './background/requested-job.ts';
import { type BackgroundJob, type Followed, watching$ } from './background/background-job.ts';
import type { PipelineParts } from './ports/parts.ts';
import { quietCommits, quietObservers } from './ports/quiet-observer.ts';
import type { Filled, FilterExtensionPlace } from './ports/filter-extension.ts';
import { withFilter } from './proof/filter-in-force.ts';
import { sessionRelease } from './proof/session-release.ts';
import { askIdentity, type Connected } from './proof/identity.ts';
import { isNamed, emptyRange, rangeToSearch } from './retry/isolate-failing-update.ts';
import { seed$ } from './seed.ts';

/** Maximum number of contracts in one transaction. The stream waits only for the shorter half of the transaction. */
const stepContracts = 1_000;
/**
 * Pause between two steps, as a share of the time that a step took. The pause gives the stream priority in the
 * database.
 */
const restShare = 0.5;

/** Reason to end the session. */
type Turn = 'set' | 'name' | 'done';

interface JobContext {
  readonly connected: Connected;
  readonly following: Followed;
  readonly stop: AbortSignal;
}

/** There is one instance for the lifetime of the process. */
export class FilterExtensionWatch implements BackgroundJob {
  readonly #parts: PipelineParts;
  #turn: Turn | undefined;
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

  watch$(connected: Connected, following: Followed, isBounded: boolean): Observable<'ready'> {
    if (isBounded) return EMPTY;
    return watching$(this.#parts.stop, async (stop) => {
      const turn = await this.#asked.until(connected.parts, stop, () => this.#look({ connected, following, stop }));
      if (turn === undefined || stop.aborted) return false;
      this.#turn = turn;
      return true;
    });
  }

  async putIn({ session, parts }: Connected): Promise<boolean> {
    const turn = this.#turn;
    this.#turn = undefined;
    const { checkpoint, epoch } = session.state;
    if (turn === undefined || turn === 'done' || checkpoint === null) return false;
    try {
      const due = await parts.sink.filterExtension.due();
      if (due === undefined) return false;
      if (turn === 'set') {
        await parts.sink.filterExtension.set(
          due.request,
          { checkpoint, epoch },
          await followedAtOnce(parts, due.request),
        );
        parts.observers.filterExtension.changed({ kind: 'set', offset: checkpoint });
      } else await inPlace(parts, (staging) => staging.name(epoch));
      return true;
    } catch (thrown) {
      await this.#asked.failed(parts, toIndexerError(thrown));
      return false;
    }
  }

  async #look(context: JobContext): Promise<Turn | undefined> {
    const { parts } = context.connected;
    const { filterExtension } = parts.sink;
    const due = await filterExtension.due();
    if (due === undefined) {
      // Removes what a cancelled extension left behind. This is done once, so later passes skip it.
      if (!this.#tidied) await filterExtension.tidy();
      this.#tidied = true;
      return undefined;
    }
    this.#tidied = false;
    if (due.isPaused) return undefined;
    const { notBefore } = due;
    if (due.isSet && notBefore === undefined) {
      await filterExtension.note({ state: 'done', step: null, problem: null });
      return undefined;
    }
    // This also checks rights on objects that another role has created.
    await filterExtension.assertAllowed();
    if (due.isSet && notBefore !== undefined)
      return inPlace(parts, (staging) => addActiveContracts(context, staging, notBefore));
    await probe(parts, due.request);
    return (await filterExtension.note({ step: 'applying the filter', problem: null })) ? 'set' : undefined;
  }
}

/** Requests one contract first. If the stream requested data that it may not see, it would park. */
async function probe(all: PipelineParts, extensionRequest: FilterExtensionRequest): Promise<void> {
  const { ledger, filter } = withFilter(all, keptFilter(extensionRequest.filter));
  // The right to see contracts does not depend on reassignments in flight.
  const request = activeContractsRequest(await ledger.state.ledgerEnd(), { ...filter, interfaces: [] }, unreadRelease);
  for await (const _ of ledger.state.activeContracts(request, { limit: 1 })) break;
}

/**
 * When the filter names templates, an interface matches contracts of other templates too, which have to be followed
 * from here. Otherwise only the views of the interface are missing, and they are backfilled.
 */
async function followedAtOnce(
  all: PipelineParts,
  extensionRequest: FilterExtensionRequest,
): Promise<readonly string[]> {
  const { ledger, filter, wantedInterfaces } = withFilter(all, keptFilter(extensionRequest.filter));
  if (filter.templates.length === 0) return [];
  return knownInterfaces(ledger, filter, interfacesNamed(wantedInterfaces), await ledger.state.ledgerEnd());
}

async function inPlace<T>(parts: PipelineParts, work: (staging: FilterExtensionPlace) => Promise<T>): Promise<T> {
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
  staging: FilterExtensionPlace,
  notBefore: number,
): Promise<Turn | undefined> {
  const { connected, following, stop } = context;
  const note = new Notes(connected.parts);
  const offset = await listed(context, staging, notBefore, note);
  if (offset === undefined) return undefined;
  while (following.checkpoint < offset) {
    if (stop.aborted) return undefined;
    await pause(100, stop);
  }
  if (!(await staging.isNamed())) return 'name';
  if (!(await note.now({ step: 'preparing the contracts that were read', perSecond: null }))) return undefined;
  const filled = await staging.begin();
  if (!(await added(context, staging, note, filled))) return undefined;
  const { total } = filled;
  if (!(await note.now({ step: 'adding contracts', done: total, total, perSecond: null }))) return undefined;
  const completeFrom = await staging.finish(connected.session.state.epoch);
  connected.parts.observers.filterExtension.changed({ kind: 'done', offset: completeFrom });
  return 'done';
}

/** The offset of the active contracts once all of them are staged; undefined when stopped. */
async function listed(
  { connected, stop }: JobContext,
  staging: FilterExtensionPlace,
  notBefore: number,
  note: Notes,
): Promise<number | undefined> {
  const { parts: all } = connected;
  const parts: PipelineParts = {
    ...all,
    observers: {
      ...quietObservers,
      seed: {
        done: () => undefined,
        progress: ({ contracts }) =>
          void note.rarely({ step: 'reading active contracts', done: contracts, total: null }),
      },
    },
    commits: quietCommits,
    tracer: undefined,
    limits: { ...all.limits, writeConcurrency: 1 },
    stop: AbortSignal.any([stop, note.over]),
  };
  const identity = await askIdentity(parts);
  await staging.prepare({ identity, notBefore });
  let isolatedRange = emptyRange;
  let refused = false;
  for (let failures = 0; !parts.stop.aborted;) {
    try {
      const session = await staging.openSession(identity);
      if (session.state.seeded && session.state.checkpoint !== null) return session.state.checkpoint;
      const { state } = parts.ledger;
      const offset = refused ? await state.ledgerEnd() : Math.max(notBefore, await state.latestPrunedOffsets());
      all.observers.filterExtension.changed({ kind: 'gathering', offset });
      const run = { apart: isolatedRange, strict: true as const, onProgress: () => (failures = 0) };
      const release = await sessionRelease(parts);
      return await lastValueFrom(seed$({ ...parts, release }, session, offset, run), { defaultValue: undefined });
    } catch (thrown) {
      const error = toIndexerError(thrown);
      failures += 1;
      // This is done only once. If the participant returns contracts only at its ledger end, they are read there.
      const atEnd: boolean = error.code === 'LEDGER_REASSIGNMENT_IN_FLIGHT' && !refused;
      refused ||= atEnd;
      if (atEnd) continue;
      isolatedRange = rangeToSearch(error, failures) ?? emptyRange;
      if (isolatedRange === emptyRange || isNamed(error)) throw error;
    }
  }
  return undefined;
}

/** Adds contracts step by step; false when stopped. */
async function added(
  { connected, stop }: JobContext,
  staging: FilterExtensionPlace,
  note: Notes,
  begin: Filled,
): Promise<boolean> {
  const { epoch } = connected.session.state;
  const contracts = Math.min(stepContracts, connected.parts.limits.batchUpdates);
  const { total } = begin;
  const began = performance.now();
  for (let filled: Filled | undefined = begin; filled !== undefined;) {
    if (stop.aborted || note.over.aborted) return false;
    const stepBegan = performance.now();
    const perSecond = (1_000 * (filled.done - begin.done)) / Math.max(1, stepBegan - began);
    await note.rarely({ step: 'adding contracts', done: filled.done, total, perSecond });
    filled = await staging.fill(epoch, contracts);
    await pause(restShare * (performance.now() - stepBegan), stop);
  }
  return true;
}

interface Note {
  readonly step: string;
  readonly done?: number;
  readonly total?: number | null;
  readonly perSecond?: number | null;
}

/** Stores the progress of the job at intervals, and checks whether the job was paused or cancelled. */
class Notes {
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
  async now({ done = this.#done, ...note }: Note): Promise<boolean> {
    this.#updatedAt = performance.now();
    this.#done = done;
    const facts = { ...note, ...(done !== undefined && { done }), unit: 'contracts', problem: null } as const;
    const isActive = await this.#parts.sink.filterExtension.note(facts);
    if (!isActive) this.#over.abort();
    return isActive;
  }

  async rarely(note: Note): Promise<void> {
    this.#done = note.done;
    if (performance.now() - this.#updatedAt >= this.#parts.pace.progressMs) await this.now(note);
  }
}
