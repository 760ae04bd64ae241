/**
 * Reports packages that were read and typed views that were created from them. Updates metrics and logs the results.
 */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { PackageFacts, PackageObserver } from '../../pipeline/ports/observer.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

interface ReportParts {
  readonly metrics: Metrics;
  readonly logger: Logger;
}

const namedViews = 5;

export class PackageReport implements PackageObserver {
  readonly #parts: ReportParts;
  /** Names of views whose failure was logged, because each pass finds them again. */
  readonly #logged = new Set<string>();

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  read({ packages, refused: refusedPackages, views, failedViews }: PackageFacts): void {
    const { metrics, logger } = this.#parts;
    metrics.packages.inc({ result: 'read' }, packages);
    metrics.packages.inc({ result: 'unreadable' }, refusedPackages.length);
    metrics.views.inc({ result: 'made' }, views);
    metrics.views.inc({ result: 'failed' }, failedViews.length);
    if (packages + views > 0) logger.info({ packages, views }, 'typed views created');
    const [package_] = refusedPackages;
    if (package_ !== undefined) {
      const ids = refusedPackages.map(({ packageId }) => packageId);
      logger.warn({ packages: ids, err: package_.error }, 'packages cannot be read: no typed views for them');
    }
    this.#logFailed(failedViews);
  }

  /** Logs a few names and the total number. If the role may not create views, every view fails. */
  #logFailed(failedViews: PackageFacts['failedViews']): void {
    if (failedViews.length === 0) this.#logged.clear();
    const unloggedViews = failedViews.filter(({ view }) => !this.#logged.has(view));
    const [first] = unloggedViews;
    if (first === undefined) return;
    for (const { view } of unloggedViews) this.#logged.add(view);
    const views = unloggedViews.slice(0, namedViews).map(({ view }) => view);
    this.#parts.logger.warn({ failed: unloggedViews.length, views, err: first.error }, 'typed views not created');
  }

  failed(error: IndexerError, delayMs: number): void {
    const { metrics, logger } = this.#parts;
    metrics.packageRetries.inc();
    logger.warn({ delayMs, code: error.code, reason: error.message }, 'typed views failed, trying again');
  }
}
