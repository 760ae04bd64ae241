/**
 * Updates the projections after the stream, one short step at a time. The size of a range follows from the time that
 * the previous range took. A projection whose SELECT fails is parked alone: the others continue, and its view computes
 * the missing rows from the history.
 */
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import {
  allEndedBefore,
  fillNext,
  hasStored,
  hasUsers,
  invalidate,
  nextTransaction,
  noteProblem,
  outdateAll,
  pendingWork,
  removeOutdated,
  removeFromList,
  type FilledRange,
  type PendingWork,
} from './fill.ts';
import { canNoteChanges } from './note-change.ts';
import { builtInProjections, type Projection } from './projections.ts';
import { userProjections } from './user-versions.ts';
import { fillNextAsReader } from './fill-user.ts';

/** Aim for the duration of one range, milliseconds. A longer range would delay the removal of changed rows. */
const rangeMs = 500;
const firstSize = 200;
const smallestSize = 1;
const largestSize = 20_000;
/** Delay after a failure that a retry does not fix, milliseconds. */
const parkedMs = 600_000;
/** A failure that a retry may fix parks the projection if it occurs this often in a row. */
const failuresUntilParked = 6;
/** The next range is so many times smaller. So even the largest range reaches the smallest one before it is parked. */
const failedShrink = 16;
/** Delay after a failure of a user's SELECT that a smaller range may fix, milliseconds. */
const userRetryMs = 10_000;
/** A range of a user's projection that takes longer, milliseconds, is slow. */
const slowMs = 1_000;
/** Slow projections whose ranges cannot be smaller wait so many times as long as a range took: a tenth of the time. */
const slowRests = 9;
const removedPerStep = 20_000;

/** One step of the job. After a slow range of a user's projection, the others continue at once. */
export type ProjectionStep =
  | { readonly kind: 'listed'; readonly names: readonly string[] }
  | { readonly kind: 'removed' }
  | {
      readonly kind: 'filled';
      readonly name: string;
      readonly seconds: number;
      readonly range: FilledRange;
      readonly isSlow: boolean;
    }
  | { readonly kind: 'repeated'; readonly name: string; readonly isSlow: boolean }
  | { readonly kind: 'failed'; readonly name: string; readonly error: IndexerError; readonly isSlow: boolean };

/** Which projections a job fills; rows of the others are removed. */
export type FilledKinds = 'all' | 'built-in';

export class ProjectionJob {
  readonly #database: Database;
  readonly #kinds: FilledKinds;
  readonly #builtIn: Promise<readonly Projection[]>;
  readonly #sizes = new Map<string, number>();
  /** Time of the next attempt of a projection that failed, on the monotonic clock, milliseconds. */
  readonly #parkedUntil = new Map<string, number>();
  /** Failures in a row that a retry may fix, by projection. */
  readonly #failures = new Map<string, number>();
  /** Projections of users whose last range was slow and cannot be smaller. They wait together. */
  readonly #slow = new Set<string>();
  #slowUntil = 0;
  /** Names that the last step of kind `listed` had, separated by line breaks. */
  #listed: string | undefined;
  #hasRemoved = false;
  #next = 0;
  #nextUser = 0;
  #canNote: boolean | undefined;
  /** The first transaction id after the projections were added. */
  #firstXid: string | undefined;
  #areNoted = false;

  constructor(database: Database, kinds: FilledKinds = 'all') {
    this.#database = database;
    this.#kinds = kinds;
    this.#builtIn = builtInProjections(database.schema);
  }

  /**
   * Marks or removes rows at changed offsets, or fills the next range of one projection.
   *
   * @returns undefined if there is nothing to do, `off` if this database cannot have projections
   * @throws IndexerError for failures that a later step may not have
   */
  async step(): Promise<ProjectionStep | 'off' | undefined> {
    this.#canNote ??= await canNoteChanges(this.#database);
    if (!this.#canNote) return dropStep(this.#database);
    const users = await listUsers(this.#database);
    if (this.#kinds === 'built-in' && (await dropUsers(this.#database, users))) return { kind: 'removed' };
    const projections = [...(await this.#builtIn), ...(this.#kinds === 'all' ? users : [])];
    const current = projections.filter(({ user }) => user?.isRetired !== true);
    const listed = this.#list(current);
    if (listed !== undefined) return listed;
    if (await invalidate(this.#database, projections)) return { kind: 'removed' };
    const pending = await pendingWork(this.#database);
    const remove = (): Promise<boolean> => removeFirst(this.#database, projections, pending);
    // A projection with many outdated rows must not delay the others, so rows are removed and stored in turn.
    this.#hasRemoved = !this.#hasRemoved && (await remove());
    if (this.#hasRemoved) return { kind: 'removed' };
    const filled = (await this.#areChangesNoted()) ? await this.#fillOne(current, pending.behind) : undefined;
    if (filled !== undefined) return filled;
    return (await remove()) ? { kind: 'removed' } : undefined;
  }

  #list(current: readonly Projection[]): ProjectionStep | undefined {
    const names = current.map(({ name }) => name);
    const listed = names.join('\n');
    if (listed === this.#listed) return undefined;
    this.#listed = listed;
    return { kind: 'listed', names };
  }

  /** In each round, a built-in projection has one turn. Projections of users together have one turn, however many there are. */
  async #fillOne(projections: readonly Projection[], behind: ReadonlySet<string>): Promise<ProjectionStep | undefined> {
    const builtIn = projections.filter(({ user }) => user === undefined);
    const users = projections.filter(({ user }) => user !== undefined);
    for (let tried = 0; tried <= builtIn.length; tried += 1) {
      const turn = this.#next % (builtIn.length + 1);
      this.#next += 1;
      const projection = builtIn[turn];
      const step = await (projection === undefined
        ? this.#fillUser(users, behind)
        : this.#fillIfBehind(projection, behind));
      if (step !== undefined) return step;
    }
    return undefined;
  }

  async #fillUser(users: readonly Projection[], behind: ReadonlySet<string>): Promise<ProjectionStep | undefined> {
    const first = this.#nextUser % Math.max(1, users.length);
    for (const projection of [...users.slice(first), ...users.slice(0, first)]) {
      const step = await this.#fillIfBehind(projection, behind);
      if (step === undefined) continue;
      this.#nextUser = users.indexOf(projection) + 1;
      return step;
    }
    return undefined;
  }

  async #fillIfBehind(projection: Projection, behind: ReadonlySet<string>): Promise<ProjectionStep | undefined> {
    if (!behind.has(projection.name) || this.#isWaiting(keyOf(projection))) return undefined;
    return this.#fill(projection);
  }

  #isWaiting(key: string): boolean {
    const now = performance.now();
    return (this.#parkedUntil.get(key) ?? 0) > now || (this.#slow.has(key) && this.#slowUntil > now);
  }

  /** @returns whether the range was slow */
  #noteTime({ user }: Projection, key: string, ms: number, isSmallest: boolean): boolean {
    const isSlow = user !== undefined && ms > slowMs;
    if (isSlow && isSmallest) {
      this.#slow.add(key);
      this.#slowUntil = performance.now() + ms * slowRests;
    } else this.#slow.delete(key);
    return isSlow;
  }

  /**
   * Whether all changes of history are noted. A transaction that began before the projections were added may not note
   * its changes, so nothing is stored until all transactions from before this session have ended. Stored rows show that an
   * earlier session has waited.
   */
  async #areChangesNoted(): Promise<boolean> {
    if (this.#areNoted) return true;
    this.#firstXid ??= await nextTransaction(this.#database);
    this.#areNoted = (await hasStored(this.#database)) || (await allEndedBefore(this.#database, this.#firstXid));
    return this.#areNoted;
  }

  async #fill(projection: Projection): Promise<ProjectionStep | undefined> {
    const { name, user } = projection;
    const key = keyOf(projection);
    const size = this.#sizes.get(key) ?? firstSize;
    const begin = performance.now();
    try {
      const range = await (user === undefined
        ? fillNext(this.#database, projection, size)
        : fillNextAsReader(this.#database, projection, user, size));
      if (range === undefined) return undefined;
      const ms = performance.now() - begin;
      this.#sizes.set(key, nextSize(size, ms));
      this.#failures.delete(key);
      const isSlow = this.#noteTime(projection, key, ms, size === smallestSize);
      return { kind: 'filled', name, seconds: ms / 1000, range, isSlow };
    } catch (thrown) {
      const error = toIndexerError(thrown);
      const isSlow = this.#noteTime(projection, key, performance.now() - begin, true);
      // Another transaction has changed the row of the projection, for example a redaction.
      if (error.code === 'STORE_CONFLICT') throw error;
      this.#sizes.set(key, Math.max(smallestSize, Math.round(size / failedShrink)));
      if (error.retry === 'retry' && this.#failuresInARow(key) < failuresUntilParked) {
        if (error.code !== 'PROJECTION_LIMIT') throw error;
        // The other projections continue at once.
        this.#parkedUntil.set(key, performance.now() + userRetryMs);
        return { kind: 'repeated', name, isSlow };
      }
      this.#parkedUntil.set(key, performance.now() + parkedMs);
      await noteProblem(this.#database, name, `${error.code}: ${error.message}`);
      return { kind: 'failed', name, error, isSlow };
    }
  }

  #failuresInARow(key: string): number {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    return failures;
  }
}

/** A projection that is added again with another SELECT begins without the failures of the previous one. */
function keyOf({ name, hash, user }: Projection): string {
  return user === undefined ? name : `${name} ${hash}`;
}

function listUsers(database: Database): Promise<readonly Projection[]> {
  return database.withClient((client) => userProjections(client, database.schema));
}

/** A size at most twice as large, and at least a quarter, of the previous one. */
function nextSize(size: number, ms: number): number {
  const scale = Math.min(2, Math.max(0.25, rangeMs / Math.max(1, ms)));
  return Math.round(Math.min(largestSize, Math.max(smallestSize, size * scale)));
}

/** Removes a batch of outdated rows of the first projection that has some. */
async function removeFirst(
  database: Database,
  projections: readonly Projection[],
  { outdated }: PendingWork,
): Promise<boolean> {
  const projection = projections.find(({ name }) => outdated.has(name));
  return projection !== undefined && removeOutdated(database, projection, removedPerStep);
}

/**
 * Removes rows of all projections, so that every view computes its rows from the history. The projections stay listed
 * until their last rows are gone, so that redactions still find these rows.
 */
export async function dropStep(database: Database): Promise<ProjectionStep | 'off'> {
  await outdateAll(database);
  const projections = [...(await builtInProjections(database.schema)), ...(await listUsers(database))];
  if (await removeFirst(database, projections, await pendingWork(database))) return { kind: 'removed' };
  await removeFromList(database, 'all');
  await database.transaction((client) => client.query('delete from projection_changes'));
  return 'off';
}

/** Does the same for projections that users added. @returns false if nothing was left */
async function dropUsers(database: Database, users: readonly Projection[]): Promise<boolean> {
  if (!(await hasUsers(database))) return false;
  await outdateAll(database, 'user');
  if (!(await removeFirst(database, users, await pendingWork(database)))) await removeFromList(database, 'user');
  return true;
}
