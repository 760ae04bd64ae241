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
import { mayPass } from '../retry/missing-route.ts';
import { retryAfterMs } from '../retry/retry.ts';

const longestDelayMs = 60_000;
/** A failure that only an operator can fix is reported again at this interval. */
const parkedDelayMs = 600_000;
/** After this many temporary failures, a package is not retried until the next start. */
const triesOfOne = 5;

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
    const ownMs = mayPass(error)
      ? Math.min(longestDelayMs, this.#parts.pace.packagesMs * 2 ** Math.min(failures, 10))
      : parkedDelayMs;
    const delayMs = Math.max(ownMs, retryAfterMs(error));
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
    const stored = this.#parts.sink.packages;
    const state = await stored.state();
    const { missing, named } = state;
    const news = missing.some((id) => !this.#refused.has(id));
    if (!news && this.#madeFrom === JSON.stringify(state)) return;
    this.#madeFrom = undefined;
    const packages = new Map((await stored.all()).map((model) => [model.packageId, model]));
    const known = packages.size;
    const { refused, failure } = await this.#fetchAll(packages, missing, named);
    const after = await stored.state();
    await stored.refreshOmittedFields((id) => packages.get(id));
    const { made, failed } = await stored.syncViews([...packages.values()]);
    if (packages.size > known || refused.length + made.length + failed.length > 0) {
      observers.packages.read({ packages: packages.size - known, refused, views: made.length, failedViews: failed });
    }
    const passing = failure ?? failed.find(({ error }) => mayPass(error))?.error;
    if (passing !== undefined) throw passing;
    this.#madeFrom = JSON.stringify(after);
  }

  /**
   * Reads the missing packages and the packages that their types refer to, one after the other, and adds them to
   * `packages`.
   */
  async #fetchAll(
    packages: Map<string, PackageModel>,
    missing: readonly string[],
    named: readonly string[],
  ): Promise<{ readonly refused: readonly RefusedPackage[]; readonly failure: IndexerError | undefined }> {
    const names = new Set(named);
    const refused: RefusedPackage[] = [];
    const tried = new Set<string>();
    let failure: IndexerError | undefined;
    let pendingIds = this.#open([...missing, ...unknownPackages(packages, names)], tried);
    while (pendingIds.length > 0 && !this.#parts.stop.aborted) {
      for (const id of pendingIds) {
        if (this.#parts.stop.aborted) break;
        tried.add(id);
        try {
          const model = await this.#fetch(id);
          packages.set(id, model);
          if (missing.includes(id)) names.add(model.name);
        } catch (thrown) {
          const error = toIndexerError(thrown);
          // If the database is not available, the other packages cannot be stored, so reading them is useless.
          if (sideOf(error.code) === 'store' && error.retry !== 'park') throw error;
          if (this.#isWorthAnother(id, error)) failure ??= error;
          else refused.push({ packageId: id, error });
        }
      }
      pendingIds = this.#open([...unknownPackages(packages, names)], tried);
    }
    return { refused, failure };
  }

  /** The packages that are not refused and have not been tried in this pass. */
  #open(packageIds: readonly string[], tried: ReadonlySet<string>): readonly string[] {
    return [...new Set(packageIds)].filter((id) => !tried.has(id) && !this.#refused.has(id));
  }

  async #fetch(packageId: string): Promise<PackageModel> {
    const { bytes } = await this.#parts.ledger.packages.content(packageId);
    const model = readPackageArchive(bytes, packageId);
    await this.#parts.sink.packages.store(model);
    return model;
  }

  /** True if another attempt to read the package may succeed. Otherwise the package is recorded as refused. */
  #isWorthAnother(packageId: string, error: IndexerError): boolean {
    const tries = (this.#tries.get(packageId) ?? 0) + 1;
    this.#tries.set(packageId, tries);
    if (mayPass(error) && error.code !== 'PACKAGE_UNREADABLE' && tries < triesOfOne) return true;
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
  known: ReadonlyMap<string, PackageModel>,
  names: ReadonlySet<string>,
): ReadonlySet<string> {
  const unknown = new Set<string>();
  const seen = new Set<TypeName>();
  const open: TypeName[] = [];
  for (const model of known.values()) {
    if (names.has(model.name)) for (const type of rootTypes(model)) collect(type, open);
  }
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    const at = name.indexOf(':');
    const model = known.get(name.slice(0, at));
    if (model === undefined) unknown.add(name.slice(0, at));
    const data = model?.dataTypes[name.slice(at + 1)];
    if (data === undefined || data.kind === 'enum') continue;
    for (const { type } of data.kind === 'record' ? data.fields : data.cases) collect(type, open);
  }
  return unknown;
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
