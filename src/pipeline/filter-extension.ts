/**
 * Extends the filter while the stream runs. The session ends, the new filter comes into force at the checkpoint, and
 * the stream resumes with it at once. The contracts that were active at that offset and that only the new filter
 * matches are read in the background and added in short steps, so the stream never waits for a list. All state is in
 * the database, so another process can resume.
 */
import { EMPTY, lastValueFrom, type Observable } from 'rxjs';
import { pause } from '../config/pause.ts';
import { interfacesNamed } from '../config/interface-presets.ts';
import { toIndexerError } from '../errors/indexer-error.ts';
import { knownInterfaces } from '../ledger/api/known-interfaces.ts';
import { activeContractsRequest } from '../ledger/api/request-format.ts';
import { unreadRelease } from '../ledger/api/release.ts';
import { keptFilter, type WantedFilterExtension } from '../model/stream.ts';
import { RequestedJob } from './beside/requested-job.ts';
import { type BackgroundJob, type Followed, watching$ } from './beside/background-job.ts';
import type { PipelineParts } from './ports/parts.ts';
import { quietCommits, quietObservers } from './ports/quiet-observer.ts';
import type { Filled, FilterExtensionPlace } from './ports/filter-extension.ts';
import { withFilter } from './proof/filter-in-force.ts';
import { sessionRelease } from './proof/session-release.ts';
import { askIdentity, type Connected } from './proof/identity.ts';
import { isNamed, nowhere, stretchToSearch } from './retry/apart.ts';
import { seed$ } from './seed.ts';

/** Maximum contracts in one transaction; the stream waits for the shorter half of it. */
const stepContracts = 1_000;
/** Pause between two steps, as a share of the time that a step took: the stream has priority on the database. */
const restShare = 0.5;

/** Why the session should end. */
type Turn = 'set' | 'name' | 'done';

interface Beside {
  readonly connected: Connected;
  readonly following: Followed;
  readonly stop: AbortSignal;
}

/** One instance for the life of the process. */
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
          due.wanted,
          { checkpoint, epoch },
          await followedAtOnce(parts, due.wanted),
        );
        parts.observers.filterExtension.changed({ kind: 'set', offset: checkpoint });
      } else await inPlace(parts, (place) => place.name(epoch));
      return true;
    } catch (thrown) {
      await this.#asked.failed(parts, toIndexerError(thrown));
      return false;
    }
  }

  async #look(beside: Beside): Promise<Turn | undefined> {
    const { parts } = beside.connected;
    const { filterExtension } = parts.sink;
    const due = await filterExtension.due();
    if (due === undefined) {
      // Leftovers of a cancelled extension; removed once, because repeating it on each pass is unnecessary.
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
    // Also for objects that another role has created.
    await filterExtension.assertAllowed();
    if (due.isSet && notBefore !== undefined) return inPlace(parts, (place) => gathered(beside, place, notBefore));
    await probe(parts, due.wanted);
    return (await filterExtension.note({ step: 'applying the filter', problem: null })) ? 'set' : undefined;
  }
}

/** A stream that requests data it may not see would park, so one contract is requested first. */
async function probe(all: PipelineParts, wanted: WantedFilterExtension): Promise<void> {
  const { ledger, filter } = withFilter(all, keptFilter(wanted.filter));
  // The right to see contracts does not depend on reassignments in flight.
  const request = activeContractsRequest(await ledger.state.ledgerEnd(), { ...filter, interfaces: [] }, unreadRelease);
  for await (const _ of ledger.state.activeContracts(request, { limit: 1 })) break;
}

/**
 * When templates are named, an interface matches contracts of other templates too, which have to be followed from here.
 * Otherwise only its views are missing, and those are backfilled from as far back as there are any.
 */
async function followedAtOnce(all: PipelineParts, wanted: WantedFilterExtension): Promise<readonly string[]> {
  const { ledger, filter, wantedInterfaces } = withFilter(all, keptFilter(wanted.filter));
  if (filter.templates.length === 0) return [];
  return knownInterfaces(ledger, filter, interfacesNamed(wantedInterfaces), await ledger.state.ledgerEnd());
}

async function inPlace<T>(parts: PipelineParts, work: (place: FilterExtensionPlace) => Promise<T>): Promise<T> {
  const place = await parts.filterExtensionPlace();
  try {
    return await work(place);
  } finally {
    await place.close();
  }
}

/** Reads the active contracts, then adds them. @returns why the session should end; undefined when stopped */
async function gathered(beside: Beside, place: FilterExtensionPlace, notBefore: number): Promise<Turn | undefined> {
  const { connected, following, stop } = beside;
  const note = new Notes(connected.parts);
  const offset = await listed(beside, place, notBefore, note);
  if (offset === undefined) return undefined;
  while (following.checkpoint < offset) {
    if (stop.aborted) return undefined;
    await pause(100, stop);
  }
  if (!(await place.isNamed())) return 'name';
  if (!(await note.now({ step: 'preparing the contracts that were read', perSecond: null }))) return undefined;
  const filled = await place.begin();
  if (!(await added(beside, place, note, filled))) return undefined;
  const completeFrom = await place.finish(connected.session.state.epoch);
  connected.parts.observers.filterExtension.changed({ kind: 'done', offset: completeFrom });
  return 'done';
}

/** The offset of the active contracts once all of them are staged; undefined when stopped. */
async function listed(
  { connected, stop }: Beside,
  place: FilterExtensionPlace,
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
  await place.prepare({ identity, notBefore });
  let apart = nowhere;
  let refused = false;
  for (let failures = 0; !parts.stop.aborted;) {
    try {
      const session = await place.openSession(identity);
      if (session.state.seeded && session.state.checkpoint !== null) return session.state.checkpoint;
      const { state } = parts.ledger;
      const offset = refused ? await state.ledgerEnd() : Math.max(notBefore, await state.latestPrunedOffsets());
      all.observers.filterExtension.changed({ kind: 'gathering', offset });
      const run = { apart, strict: true as const, onProgress: () => (failures = 0) };
      const release = await sessionRelease(parts);
      return await lastValueFrom(seed$({ ...parts, release }, session, offset, run), { defaultValue: undefined });
    } catch (thrown) {
      const error = toIndexerError(thrown);
      failures += 1;
      // Once: contracts that the participant returns only at its ledger end are read there.
      const atEnd: boolean = error.code === 'LEDGER_REASSIGNMENT_IN_FLIGHT' && !refused;
      refused ||= atEnd;
      if (atEnd) continue;
      apart = stretchToSearch(error, failures) ?? nowhere;
      if (apart === nowhere || isNamed(error)) throw error;
    }
  }
  return undefined;
}

/** Adds step by step; false when stopped. */
async function added(
  { connected, stop }: Beside,
  place: FilterExtensionPlace,
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
    filled = await place.fill(epoch, contracts);
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

/** Stores the progress of the job at intervals, and checks whether the job was cancelled. */
class Notes {
  readonly #parts: PipelineParts;
  readonly #over = new AbortController();
  #updatedAt = -Infinity;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Aborted when the job was paused or cancelled. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  async now(note: Note): Promise<boolean> {
    this.#updatedAt = performance.now();
    const wanted = await this.#parts.sink.filterExtension.note({ ...note, unit: 'contracts', problem: null });
    if (!wanted) this.#over.abort();
    return wanted;
  }

  async rarely(note: Note): Promise<void> {
    if (performance.now() - this.#updatedAt >= this.#parts.pace.progressMs) await this.now(note);
  }
}
