/**
 * Packages of the templates that were stored, read in the background, and the typed views made from them. Ingestion
 * never waits for it and never fails by it: what cannot be had now is tried again, what cannot be had at all is told once.
 */
import {
  BehaviorSubject,
  concatMap,
  defer,
  filter,
  ignoreElements,
  repeat,
  retry,
  take,
  timer,
  type Observable,
} from 'rxjs';
import { sideOf } from '../../errors/catalogue.ts';
import { toIndexerError, type IndexerError } from '../../errors/indexer-error.ts';
import { readPackageArchive } from '../../daml/package-archive.ts';
import type { PackageModel } from '../../daml/package-model.ts';
import type { RefusedPackage } from '../ports/observer.ts';
import { unknownPackages } from './package-references.ts';
import type { PipelineParts } from '../ports/parts.ts';
import { retryAfterMs } from '../retry/retry.ts';

/** However fast batches are committed, the dictionary is looked at no more often. */
const lookEveryMs = 1_000;
const longestDelayMs = 60_000;
/** A failure that only an operator can end is told again this often. */
const parkedDelayMs = 600_000;
/** A package that fails so often for reasons that should pass is given up until the next start. */
const triesOfOne = 5;

/** One for the life of the process: what was refused stays refused over sessions. */
export class PackageWatch {
  readonly #parts: PipelineParts;
  /** Whether something was committed since the last look. */
  readonly #stirred = new BehaviorSubject(true);
  readonly #refused = new Set<string>();
  readonly #tries = new Map<string, number>();
  /** What views and paddings were made from; undefined before the first look, and after a failure. */
  #madeFrom: string | undefined;
  #looking: Promise<void> | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** Something was committed: it may have named new packages. Costs nothing. */
  stir(): void {
    if (!this.#stirred.value) this.#stirred.next(true);
  }

  /** Looks at once and then whenever stirred, while subscribed. Emits nothing, never fails, never completes. */
  watch$(): Observable<never> {
    let failures = 0;
    return defer(() => this.#look()).pipe(
      repeat({
        delay: () => {
          failures = 0;
          return timer(lookEveryMs).pipe(concatMap(() => this.#stirred.pipe(filter(Boolean), take(1))));
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
    const passing = error.retry === 'retry' || error.retry === 'refresh-token';
    const ownMs = passing ? Math.min(longestDelayMs, lookEveryMs * 2 ** Math.min(failures, 10)) : parkedDelayMs;
    const delayMs = Math.max(ownMs, retryAfterMs(error));
    if (!this.#parts.stop.aborted) this.#parts.observer.packagesFailed(error, delayMs);
    return delayMs;
  }

  /** A look of an earlier session may still be under way. */
  async #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  async #lookOnce(): Promise<void> {
    this.#stirred.next(false);
    const { observer } = this.#parts;
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
    await stored.refreshPaddings((id) => packages.get(id));
    const { made, failed } = await stored.syncViews([...packages.values()]);
    if (packages.size > known || refused.length + made.length + failed.length > 0) {
      observer.packagesRead({ packages: packages.size - known, refused, views: made.length, failedViews: failed });
    }
    const passing = failure ?? failed.find(({ error }) => error.retry === 'retry')?.error;
    if (passing !== undefined) throw passing;
    this.#madeFrom = JSON.stringify(after);
  }

  /** Reads what is missing and what its types refer to, one after the other; adds to `packages`. */
  async #fetchAll(
    packages: Map<string, PackageModel>,
    missing: readonly string[],
    named: readonly string[],
  ): Promise<{ readonly refused: readonly RefusedPackage[]; readonly failure: IndexerError | undefined }> {
    const names = new Set(named);
    const refused: RefusedPackage[] = [];
    const tried = new Set<string>();
    let failure: IndexerError | undefined;
    let wanted = this.#open([...missing, ...unknownPackages(packages, names)], tried);
    while (wanted.length > 0 && !this.#parts.stop.aborted) {
      for (const id of wanted) {
        if (this.#parts.stop.aborted) break;
        tried.add(id);
        try {
          const model = await this.#fetch(id);
          packages.set(id, model);
          if (missing.includes(id)) names.add(model.name);
        } catch (thrown) {
          const error = toIndexerError(thrown);
          // Without the database the others would be read in vain.
          if (sideOf(error.code) === 'store' && error.retry !== 'park') throw error;
          if (this.#mayPass(id, error)) failure ??= error;
          else refused.push({ packageId: id, error });
        }
      }
      wanted = this.#open([...unknownPackages(packages, names)], tried);
    }
    return { refused, failure };
  }

  /** Those that are worth a try. */
  #open(packageIds: readonly string[], tried: ReadonlySet<string>): readonly string[] {
    return [...new Set(packageIds)].filter((id) => !tried.has(id) && !this.#refused.has(id));
  }

  async #fetch(packageId: string): Promise<PackageModel> {
    const { bytes } = await this.#parts.ledger.packages.content(packageId);
    const model = readPackageArchive(bytes, packageId);
    await this.#parts.sink.packages.store(model);
    return model;
  }

  /** Whether the package is worth another try; if not it is remembered. */
  #mayPass(packageId: string, error: IndexerError): boolean {
    const tries = (this.#tries.get(packageId) ?? 0) + 1;
    this.#tries.set(packageId, tries);
    const passing = (error.retry === 'retry' && error.code !== 'PACKAGE_UNREADABLE') || error.retry === 'refresh-token';
    if (passing && tries < triesOfOne) return true;
    this.#refused.add(packageId);
    return false;
  }
}
