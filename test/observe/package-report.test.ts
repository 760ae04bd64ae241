/** Typed views that cannot be created are logged once, with their number and some names. */
import { expect, it } from 'vitest';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { createLogger } from '../../src/observe/log/logger.ts';
import { PackageReport } from '../../src/observe/log/package-report.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';

const error = new IndexerError('permission denied', { code: 'STORE_NOT_PERMITTED' });
const failed = (...names: readonly string[]) => names.map((view) => ({ view, error }));

it('the package report logs failed views once, and again after all views were created', () => {
  const written: string[] = [];
  const stream = { isTTY: false, write: (text: string) => written.push(text) };
  const { logger } = createLogger({ level: 'info', format: 'json', stream });
  const report = new PackageReport({ metrics: createMetrics({ version: 'test' }), logger });
  const look = (failedViews: ReturnType<typeof failed>): readonly unknown[] => {
    written.length = 0;
    report.read({ packages: 0, refused: [], views: 0, failedViews });
    return written.map((line) => {
      const { level, failed: number, views } = JSON.parse(line) as Record<string, unknown>;
      return { level, number, views };
    });
  };
  const all = Array.from({ length: 165 }, (_, nth) => `view_${String(nth)}`);
  expect(look(failed(...all))).toEqual([{ level: 'warn', number: 165, views: all.slice(0, 5) }]);
  expect(look(failed(...all))).toEqual([]);
  expect(look(failed(...all, 'another'))).toEqual([{ level: 'warn', number: 1, views: ['another'] }]);
  expect(look([])).toEqual([]);
  expect(look(failed('view_7'))).toEqual([{ level: 'warn', number: 1, views: ['view_7'] }]);
});
