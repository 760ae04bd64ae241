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
/** Delay after a failure of a user's SELECT that a smaller range may fix, milliseconds. */
const userRetryMs = 10_000;
const removedPerStep = 20_000;

/** One step of the job. */
export type ProjectionStep =
  | { readonly kind: 'removed' }
  | {
      readonly kind: 'filled';
      readonly name: string;
      readonly seconds: number;
      readonly range: FilledRange;
    }
  | { readonly kind: 'failed'; readonly name: string; readonly error: IndexerError };

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
  #next = 0;
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
    if (await invalidate(this.#database, projections)) return { kind: 'removed' };
    const pending = await pendingWork(this.#database);
    if (await removeFirst(this.#database, projections, pending)) return { kind: 'removed' };
    if (!(await this.#areChangesNoted())) return undefined;
    return this.#fillOne(
      projections.filter(({ user }) => user?.isRetired !== true),
      pending.behind,
    );
  }

  async #fillOne(projections: readonly Projection[], behind: ReadonlySet<string>): Promise<ProjectionStep | undefined> {
    for (let tried = 0; tried < projections.length; tried += 1) {
      const projection = projections[this.#next % projections.length];
      this.#next += 1;
      if (projection === undefined || !behind.has(projection.name)) continue;
      if ((this.#parkedUntil.get(keyOf(projection)) ?? 0) > performance.now()) continue;
      const step = await this.#fill(projection);
      if (step !== undefined) return step;
    }
    return undefined;
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
      return { kind: 'filled', name, seconds: ms / 1000, range };
    } catch (thrown) {
      const error = toIndexerError(thrown);
      // Another transaction has changed the row of the projection, for example a redaction.
      if (error.code === 'STORE_CONFLICT') throw error;
      this.#sizes.set(key, Math.max(smallestSize, Math.round(size / 4)));
      if (error.retry === 'retry' && this.#failuresInARow(key) < failuresUntilParked) {
        if (error.code !== 'PROJECTION_LIMIT') throw error;
        // The other projections continue at once.
        this.#parkedUntil.set(key, performance.now() + userRetryMs);
        return undefined;
      }
      this.#parkedUntil.set(key, performance.now() + parkedMs);
      await noteProblem(this.#database, name, `${error.code}: ${error.message}`);
      return { kind: 'failed', name, error };
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
