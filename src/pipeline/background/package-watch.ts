/**
 * Reads the packages of stored templates in the background, and creates typed views from them. Ingestion never waits
 * for this watch and never fails because of it. If a package cannot be read now, it is retried. If it can never be
 * read, this is reported once.
 */
import {
  BehaviorSubject,
  concatMap,
  defer,
  filter,
  ignoreElements,
  type Observable,
  repeat,
  retry,
  take,
  timer,
} from 'rxjs';
import { sideOf } from '../../errors/catalogue.ts';
import { type IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { readPackageArchive } from '../../daml/package-archive.ts';
import type { DamlType, PackageModel, TypeName } from '../../daml/package-model.ts';
import type { RefusedPackage } from '../ports/observer.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { isTransient } from '../retry/missing-route.ts';
import { retryAfterMs } from '../retry/retry.ts';

const longestDelayMs = 60_000;
/** A failure that only an operator can fix is reported again at this interval. */
const parkedDelayMs = 600_000;
/** After this many temporary failures, a package is not retried until the next start. */
const maxTriesPerPackage = 5;

/** There is one instance for the lifetime of the process, so that refused packages stay refused across sessions. */
export class PackageWatch {
  readonly #parts: PipelineParts;
  /** Whether something was committed since the last pass. */
  readonly #stirred = new BehaviorSubject(true);
  readonly #refused = new Set<string>();
  readonly #tries = new Map<string, number>();
  /**
   * The packages from which the views and the omitted fields were created, as text. Undefined before the first pass,
   * and after a failure.
   */
  #madeFrom: string | undefined;
  #looking: Promise<void> | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Requests a pass. Called after each commit, because a commit may name new packages. The call itself is cheap. */
  stir(): void {
    if (!this.#stirred.value) this.#stirred.next(true);
  }

  /**
   * Runs a pass immediately and after each `stir`, while subscribed. Emits nothing, never fails and never completes.
   */
  watch$(): Observable<never> {
    let failures = 0;
    return defer(() => this.#look()).pipe(
      repeat({
        delay: () => {
          failures = 0;
          // Limits how often the dictionary of names is read, even if batches are committed quickly.
          return timer(this.#parts.pace.packagesMs).pipe(concatMap(() => this.#stirred.pipe(filter(Boolean), take(1))));
        },
      }),
      retry({
        delay: (thrown) => {
          failures += 1;
          return timer(this.#delayAfter(toIndexerError(thrown), failures));
        },
      }),
      ignoreElements(),
    );
  }

  #delayAfter(error: IndexerError, failures: number): number {
    if (error.retry === 'refresh-token') this.#parts.tokenSource.invalidate();
    const baseDelayMs = isTransient(error)
      ? Math.min(longestDelayMs, this.#parts.pace.packagesMs * 2 ** Math.min(failures, 10))
      : parkedDelayMs;
    const delayMs = Math.max(baseDelayMs, retryAfterMs(error));
    if (!this.#parts.stop.aborted) this.#parts.observers.packages.failed(error, delayMs);
    return delayMs;
  }

  /** Runs one pass. A pass of an earlier session may still be running. */
  async #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  async #lookOnce(): Promise<void> {
    this.#stirred.next(false);
    const { observers } = this.#parts;
    const packageStore = this.#parts.sink.packages;
    const state = await packageStore.state();
    const { missing: missingIds, named: namedPackages } = state;
    const hasNewPackages = missingIds.some((id) => !this.#refused.has(id));
    if (!hasNewPackages && this.#madeFrom === JSON.stringify(state)) return;
    this.#madeFrom = undefined;
    const packages = new Map((await packageStore.all()).map((model) => [model.packageId, model]));
    const previousCount = packages.size;
    const { refused: refusedPackages, failure } = await this.#fetchAll(packages, missingIds, namedPackages);
    const after = await packageStore.state();
    await packageStore.refreshOmittedFields((id) => packages.get(id));
    const { made: createdViews, failed } = await packageStore.syncViews([...packages.values()]);
    if (packages.size > previousCount || refusedPackages.length + createdViews.length + failed.length > 0) {
      observers.packages.read({
        packages: packages.size - previousCount,
        refused: refusedPackages,
        views: createdViews.length,
        failedViews: failed,
      });
    }
    const transientError = failure ?? failed.find(({ error }) => isTransient(error))?.error;
    if (transientError !== undefined) throw transientError;
    this.#madeFrom = JSON.stringify(after);
  }

  /**
   * Reads the missing packages and the packages that their types refer to, one after the other, and adds them to
   * `packages`.
   */
  async #fetchAll(
    packages: Map<string, PackageModel>,
    missingIds: readonly string[],
    namedPackages: readonly string[],
  ): Promise<{ readonly refused: readonly RefusedPackage[]; readonly failure: IndexerError | undefined }> {
    const names = new Set(namedPackages);
    const refusedPackages: RefusedPackage[] = [];
    const triedIds = new Set<string>();
    let failure: IndexerError | undefined;
    let pendingIds = this.#open([...missingIds, ...unknownPackages(packages, names)], triedIds);
    while (pendingIds.length > 0 && !this.#parts.stop.aborted) {
      for (const id of pendingIds) {
        if (this.#parts.stop.aborted) break;
        triedIds.add(id);
        try {
          const model = await this.#fetch(id);
          packages.set(id, model);
          if (missingIds.includes(id)) names.add(model.name);
        } catch (thrown) {
          const error = toIndexerError(thrown);
          // If the database is not available, the other packages cannot be stored, so reading them is useless.
          if (sideOf(error.code) === 'store' && error.retry !== 'park') throw error;
          if (this.#isWorthAnother(id, error)) failure ??= error;
          else refusedPackages.push({ packageId: id, error });
        }
      }
      pendingIds = this.#open([...unknownPackages(packages, names)], triedIds);
    }
    return { refused: refusedPackages, failure };
  }

  /** The packages that are not refused and have not been tried in this pass. */
  #open(packageIds: readonly string[], triedIds: ReadonlySet<string>): readonly string[] {
    return [...new Set(packageIds)].filter((id) => !triedIds.has(id) && !this.#refused.has(id));
  }

  async #fetch(packageId: string): Promise<PackageModel> {
    const { bytes } = await this.#parts.ledger.packages.content(packageId);
    const model = readPackageArchive(bytes, packageId);
    await this.#parts.sink.packages.store(model);
    return model;
  }

  /** True if another attempt to read the package may succeed. Otherwise the package is recorded as refused. */
  #isWorthAnother(packageId: string, error: IndexerError): boolean {
    const tryCount = (this.#tries.get(packageId) ?? 0) + 1;
    this.#tries.set(packageId, tryCount);
    if (isTransient(error) && error.code !== 'PACKAGE_UNREADABLE' && tryCount < maxTriesPerPackage) return true;
    this.#refused.add(packageId);
    return false;
  }
}

// Finds the packages that define the types of templates, choices and interfaces. Pure.

/**
 * Ids of packages that are not known yet and define a type that the templates, choices or interfaces of the named
 * packages use, directly or through other types.
 */
export function unknownPackages(
  knownPackages: ReadonlyMap<string, PackageModel>,
  names: ReadonlySet<string>,
): ReadonlySet<string> {
  const unknownIds = new Set<string>();
  const visitedNames = new Set<TypeName>();
  const pendingNames: TypeName[] = [];
  for (const model of knownPackages.values()) {
    if (names.has(model.name)) for (const type of rootTypes(model)) collect(type, pendingNames);
  }
  for (let name = pendingNames.pop(); name !== undefined; name = pendingNames.pop()) {
    if (visitedNames.has(name)) continue;
    visitedNames.add(name);
    const separatorIndex = name.indexOf(':');
    const model = knownPackages.get(name.slice(0, separatorIndex));
    if (model === undefined) unknownIds.add(name.slice(0, separatorIndex));
    const data = model?.dataTypes[name.slice(separatorIndex + 1)];
    if (data === undefined || data.kind === 'enum') continue;
    for (const { type } of data.kind === 'record' ? data.fields : data.cases) collect(type, pendingNames);
  }
  return unknownIds;
}

function rootTypes(model: PackageModel): readonly DamlType[] {
  const owners = [...model.templates, ...model.interfaces];
  return [
    ...owners.flatMap(({ choices }) => choices.flatMap(({ argument, result }) => [argument, result])),
    ...model.interfaces.map(({ view }) => view),
    ...model.templates.flatMap(({ key, moduleName, entityName }): readonly DamlType[] => [
      { kind: 'named', name: `${model.packageId}:${moduleName}:${entityName}`, arguments: [] },
      ...(key === undefined ? [] : [key]),
    ]),
  ];
}

/** Adds the names in a type, including those of its type arguments. */
function collect(type: DamlType, names: TypeName[]): void {
  switch (type.kind) {
    case 'named':
      names.push(type.name);
      for (const argument of type.arguments) collect(argument, names);
      return;
    case 'genmap':
      collect(type.key, names);
      collect(type.of, names);
      return;
    case 'optional':
    case 'list':
    case 'textmap':
      collect(type.of, names);
      return;
    case 'contract_id':
    case 'builtin':
    case 'numeric':
    case 'variable':
    case 'opaque':
  }
}
