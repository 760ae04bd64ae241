/**
 * Implements the pipeline's sink with Postgres: it binds functions of the store's submodules to one database and one
 * lock candidate. The interface is defined in the pipeline (src/pipeline/ports/sink.ts), a module above the store. The
 * compiler checks in the composition root that the implementation matches the interface.
 */
import type { PackageLookup, PackageModel } from '../daml/package-model.ts';
import type { FilterExtensionRequest } from '../model/stream.ts';
import type { StreamIdentity } from '../model/stream.ts';
import type { ExerciseJson } from '../model/tables.ts';
import type { Database } from './connection/database.ts';
import { writerLockHolder } from './connection/inspection.ts';
import { assertWritable, checkServer } from './connection/server-check.ts';
import { publishedCheckpoint, readStream } from './history/maintenance.ts';
import { mergeStaging, type Merge } from './history/merge.ts';
import { assertCanBackfill, mergeViews, type ViewMerge } from './history/merge-views.ts';
import { dueEarlier, requestContractList, finishEarlier } from './history/earlier-job.ts';
import { registerEarlierNames, storeEarlier, type EarlierRange } from './history/earlier-range.ts';
import { prepareStaging, type StagingSpec } from './history/staging.ts';
import {
  findUnknownOffset,
  historyBegin,
  isQuarantined,
  newestContracts,
  newestMark,
  rangeBegin,
  streamStateText,
} from './history/stored-marks.ts';
import { beginFill, fillStep, finishFill } from './history/filter-extension-fill.ts';
import {
  assertCanExtendFilter,
  dueFilterExtension,
  isNamed,
  registerStagedNames,
  updateExtensionJob,
  setFilterExtension,
  storedFilter,
  tidyFilterExtension,
  type StreamPosition,
  type FilterExtensionNote,
} from './history/filter-extension.ts';
import type { WriterCandidate } from './lock/writer-lock.ts';
import { assertExerciseJson } from './schema/exercise-json.ts';
import { assertMigrated, assertNotNewer, migrate, migrationFiles, type Migration } from './schema/migrations.ts';
import { readPackages, readPackageState, refreshOmittedFields, storePackage } from './typed/package-store.ts';
import { syncTypedViews } from './typed/views.ts';
import { listJobs, updateJob } from './history/jobs.ts';
import { lastVerifications } from './verify/verifications.ts';
import { unhostedContracts } from './write/departures.ts';
import type { OnNotice } from './write/commit-notices.ts';
import { openSession } from './write/session.ts';

export interface PostgresSinkOptions {
  /** If `never`, tables of another version are refused. */
  readonly migrate: 'auto' | 'never';
  /**
   * How a new schema stores arguments and results of exercises. An existing schema that stores them differently is
   * refused.
   */
  readonly exerciseJson: ExerciseJson | undefined;
  /** Whether commits notify listeners of the database. */
  readonly notify: boolean;
  readonly onNotice?: OnNotice | undefined;
}

/** The sink over `database`; `candidate` is this process's candidate for the writer lock. The caller closes both. */
export function postgresSink(database: Database, candidate: WriterCandidate, options: PostgresSinkOptions) {
  const { notify, onNotice } = options;
  const session = { notify, onNotice, assertHeld: () => candidate.assertHeld() };
  const preparation = new Preparation(database, candidate, options);
  return {
    prepare: () => preparation.run(),
    tryLock: () => candidate.tryLock(),
    lockHolder: () => writerLockHolder(database),
    openSession: async (identity: StreamIdentity) => {
      await preparation.assertStillCurrent();
      return openSession(database, identity, session);
    },
    marks: {
      checkpoint: () => publishedCheckpoint(database),
      newest: (afterOffset: number, upTo: number) => newestMark(database, afterOffset, upTo),
      rangeBegin: () => rangeBegin(database),
      historyBegin: () => historyBegin(database),
      isQuarantined: (offset: number) => isQuarantined(database, offset),
      firstUnknown: (offsets: readonly number[]) => findUnknownOffset(database, offsets),
      contracts: (limit: number) => newestContracts(database, limit),
      standing: () => streamStateText(database),
    },
    packages: {
      state: () => readPackageState(database),
      all: () => readPackages(database),
      store: (model: PackageModel) => storePackage(database, model),
      refreshOmittedFields: (packages: PackageLookup) => refreshOmittedFields(database, packages),
      syncViews: (packages: readonly PackageModel[]) => syncTypedViews(database, packages),
    },
    filterExtension: {
      filter: () => storedFilter(database),
      due: () => dueFilterExtension(database),
      assertAllowed: () => assertCanExtendFilter(database),
      note: (progress: FilterExtensionNote) => updateExtensionJob(database, progress),
      set: (request: FilterExtensionRequest, position: StreamPosition, followedIds: readonly string[]) =>
        setFilterExtension(database, request, position, followedIds),
      tidy: () => tidyFilterExtension(database),
    },
    earlier: {
      due: () => dueEarlier(database),
      note: (progress: FilterExtensionNote) => database.withClient((client) => updateJob(client, 'history', progress)),
    },
    verifications: () => lastVerifications(database),
    jobs: () => database.withClient(listJobs),
    unhostedContracts: () => unhostedContracts(database),
  };
}

/** The checks of database and schema at the start of the process, and what has to be checked again later. */
class Preparation {
  readonly #database: Database;
  readonly #candidate: WriterCandidate;
  readonly #options: PostgresSinkOptions;
  /** The migrations of this program. They are read once, because an upgrade may replace the files of a running process. */
  #migrations: readonly Migration[] | undefined;

  constructor(database: Database, candidate: WriterCandidate, options: PostgresSinkOptions) {
    this.#database = database;
    this.#candidate = candidate;
    this.#options = options;
  }

  async run(): Promise<void> {
    if (this.#migrations !== undefined) return;
    const { migrate: mode, exerciseJson } = this.#options;
    const migrations = await migrationFiles();
    // This check comes first, because a pooler would apply the settings of our sessions to other clients.
    await this.#candidate.checkAddress();
    await checkServer(this.#database);
    await assertWritable(this.#database);
    await (mode === 'auto' ? migrate(this.#database, { exerciseJson }) : assertMigrated(this.#database));
    await assertExerciseJson(this.#database, exerciseJson);
    this.#migrations = migrations;
  }

  /**
   * Checks at the start of each session that no newer program has migrated the schema since {@link run}. A standby may
   * wait for days before it takes over.
   * @throws IndexerError `SCHEMA_NEWER`, fatal
   */
  async assertStillCurrent(): Promise<void> {
    if (this.#migrations !== undefined) await assertNotNewer(this.#database, this.#migrations);
  }
}

/**
 * Staging of contracts for a reseed, and their merge. Only the holder of the writer lock uses it.
 * @param database the database of the stream
 * @param staging a handle whose schema is the staging schema
 */
export function postgresStaging(database: Database, staging: Database, options: Pick<Merge, 'writer' | 'notify'>) {
  return {
    prepare: (spec: StagingSpec) => prepareStaging(staging, database.schema, 'reseed', spec),
    // Readers are not notified about staged rows.
    openSession: (identity: StreamIdentity) => openSession(staging, identity, { notify: false }),
    merge: async (merge: Omit<Merge, 'anchor' | 'writer' | 'notify'>) => {
      const stagedStream = await readStream(staging);
      return mergeStaging(database, { ...merge, anchor: stagedStream?.lastUpdate, ...options });
    },
  };
}

/**
 * Staging for views of interfaces that were added later. Only the holder of the writer lock uses it.
 * @param database the database of the stream, with a timeout for long statements; `close` closes both handles
 * @param staging a handle whose schema is the staging schema
 */
export function postgresViewStaging(database: Database, staging: Database, assertLockHeld: () => void) {
  return {
    prepare: async (spec: StagingSpec) => {
      await assertCanBackfill(database, staging.schema);
      await prepareStaging(staging, database.schema, 'interfaces', spec);
    },
    openSession: (identity: StreamIdentity) =>
      openSession(staging, identity, { notify: false, assertHeld: assertLockHeld }),
    merge: (merge: ViewMerge) => mergeViews(database, merge),
    close: async () => {
      await Promise.all([database.close(), staging.close()]);
    },
  };
}

/**
 * Staging for active contracts of an extended filter, and their merge into the stream. Only the holder of the writer
 * lock uses it.
 * @param database the database of the stream, with a timeout for long statements; `close` closes both handles
 * @param staging a handle whose schema is the staging schema
 */
export function postgresExtensionStorage(database: Database, staging: Database, assertLockHeld: () => void) {
  return {
    prepare: (spec: StagingSpec) => prepareStaging(staging, database.schema, 'filter_extend', spec),
    openSession: (identity: StreamIdentity) =>
      openSession(staging, identity, { notify: false, assertHeld: assertLockHeld }),
    isNamed: () => isNamed(database),
    name: (epoch: number) => registerStagedNames(database, epoch),
    begin: () => beginFill(database),
    fill: (epoch: number, contracts: number) => {
      assertLockHeld();
      return fillStep(database, epoch, contracts);
    },
    finish: (epoch: number) => finishFill(database, epoch),
    close: async () => {
      await Promise.all([database.close(), staging.close()]);
    },
  };
}

/**
 * Storage for history from before the filter was extended. Only the holder of the writer lock uses it.
 * @param database the database of the stream, with a timeout for long statements; `close` closes it
 */
export function postgresEarlierStorage(database: Database, assertLockHeld: () => void) {
  return {
    store: (range: EarlierRange, epoch: number) => {
      assertLockHeld();
      return storeEarlier(database, range, epoch);
    },
    name: (range: EarlierRange, epoch: number) => registerEarlierNames(database, range, epoch),
    askForList: (at: number, epoch: number) => requestContractList(database, at, epoch),
    finish: (floor: number, epoch: number) => finishEarlier(database, floor, epoch),
    close: () => database.close(),
  };
}
