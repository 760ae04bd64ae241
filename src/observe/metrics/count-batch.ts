/** Counts a committed batch in the metrics. */
import type { BatchFacts } from '../../pipeline/ports/observer.ts';
import { updateKinds } from './catalogue/keeping-up.ts';
import type { Metrics } from './metrics.ts';

/** Adds the batch's updates, events and rows to the counters. */
export function countBatch(metrics: Metrics, batch: BatchFacts): void {
  countUpdates(metrics, batch);
  countEvents(metrics, batch);
  for (const [table, count] of batch.rows) metrics.rows.inc({ table }, count);
}

function countUpdates(metrics: Metrics, batch: BatchFacts): void {
  let total = 0;
  for (const [kind, count] of batch.updates) {
    metrics.updates.inc({ kind: updateKinds.find((candidate) => candidate === kind) ?? 'unknown' }, count);
    total += count;
  }
  if (total > 0) metrics.batchUpdates.observe(total);
  metrics.fallbackDecodedTransactions.inc(batch.fallbackDecodedTransactions);
}

function countEvents({ templates, events }: Metrics, batch: BatchFacts): void {
  for (const [type, countsByTemplate] of batch.events) {
    templates.admit(countsByTemplate);
    for (const [template, count] of countsByTemplate) events.inc({ type, template: templates.label(template) }, count);
  }
}
