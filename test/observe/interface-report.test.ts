/** The indexer warns about interfaces that the participant does not know only if they are configured by name. */
import { expect, it } from 'vitest';
import { interfacesNamed } from '../../src/config/interface-presets.ts';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { InterfaceReport } from '../../src/observe/log/interface-report.ts';
import { createLogger } from '../../src/observe/log/logger.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';

const preset = interfacesNamed(['tokens'])[0] ?? '';
const ownInterface = '#my-package:My.Module:MyInterface';

it.each([
  ['info', 'an interface of a preset', [preset]],
  ['warn', 'an explicit name', [ownInterface]],
  ['warn', 'an explicit name next to a preset', [preset, ownInterface]],
])('the interface report logs at level %s for %s', (level, _caseName, ids) => {
  const outputLines: string[] = [];
  const stream = { isTTY: false, write: (text: string) => outputLines.push(text) };
  const { logger } = createLogger({ level: 'info', format: 'json', stream });
  const health = new HealthTracker({ version: 'test', schema: 'ledger', stalledAfterMs: 1_000 });
  const report = new InterfaceReport({ health, metrics: createMetrics({ version: 'test' }), logger });
  for (let session = 1; session <= 2; session += 1) {
    report.interfacesRequested(ids.map((id) => ({ id, state: 'waiting', completeFrom: null, unknownAt: null })));
  }
  expect(outputLines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual([level]);
});
