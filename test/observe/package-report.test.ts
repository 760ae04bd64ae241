/** Typed views that cannot be created are logged once, with their number and some names. */
import { expect, it } from 'vitest';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { createLogger } from '../../src/observe/log/logger.ts';
import { PackageReport } from '../../src/observe/log/package-report.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';

const error = new IndexerError('permission denied', { code: 'STORE_NOT_PERMITTED' });
const failedViewsOf = (...names: readonly string[]) => names.map((view) => ({ view, error }));

it('the package report logs failed views once, and again after all views were created', () => {
  const outputLines: string[] = [];
  const stream = { isTTY: false, write: (text: string) => outputLines.push(text) };
  const { logger } = createLogger({ level: 'info', format: 'json', stream });
  const report = new PackageReport({ metrics: createMetrics({ version: 'test' }), logger });
  const reportViews = (failedViews: ReturnType<typeof failedViewsOf>): readonly unknown[] => {
    outputLines.length = 0;
    report.read({ packages: 0, refused: [], views: 0, failedViews });
    return outputLines.map((line) => {
      const { level, failed: number, views } = JSON.parse(line) as Record<string, unknown>;
      return { level, number, views };
    });
  };
  const viewNames = Array.from({ length: 165 }, (_, index) => `view_${String(index)}`);
  expect(reportViews(failedViewsOf(...viewNames))).toEqual([
    { level: 'warn', number: 165, views: viewNames.slice(0, 5) },
  ]);
  expect(reportViews(failedViewsOf(...viewNames))).toEqual([]);
  expect(reportViews(failedViewsOf(...viewNames, 'another'))).toEqual([
    { level: 'warn', number: 1, views: ['another'] },
  ]);
  expect(reportViews([])).toEqual([]);
  expect(reportViews(failedViewsOf('view_7'))).toEqual([{ level: 'warn', number: 1, views: ['view_7'] }]);
});
