import { afterEach, describe, expect, it } from 'vitest';

import { IndexerError } from '../../src/errors.ts';
import { HealthTracker } from '../../src/observe/health-tracker.ts';
import { createObserver } from '../../src/observe/indexer-observer.ts';
import type { IndexerObserver } from '../../src/observe/indexer-observer.ts';
import { createLogger } from '../../src/observe/logger.ts';
import { createMetrics } from '../../src/observe/metrics.ts';

const names = [
  'indexer_backpressure_seconds_total',
  'indexer_batch_updates',
  'indexer_build_info',
  'indexer_bytes_received_total',
  'indexer_checkpoint_offset',
  'indexer_commit_seconds',
  'indexer_decode_seconds',
  'indexer_errors_total',
  'indexer_events_total',
  'indexer_ingest_latency_seconds',
  'indexer_last_commit_timestamp_seconds',
  'indexer_last_frame_timestamp_seconds',
  'indexer_last_record_timestamp_seconds',
  'indexer_leader',
  'indexer_ledger_end_offset',
  'indexer_phase',
  'indexer_prune_headroom_offsets',
  'indexer_pruned_offset',
  'indexer_quarantined_total',
  'indexer_queue_capacity',
  'indexer_queue_depth',
  'indexer_retries_total',
  'indexer_rows_written_total',
  'indexer_seed_contracts_total',
  'indexer_seed_done',
  'indexer_seed_offset',
  'indexer_token_expiry_timestamp_seconds',
  'indexer_token_renewals_total',
  'indexer_updates_total',
  'indexer_verify_last_differences',
  'indexer_verify_last_duration_seconds',
  'indexer_verify_last_offset',
  'indexer_verify_last_timestamp_seconds',
  'indexer_ws_connected',
  'indexer_ws_connects_total',
  'indexer_ws_disconnects_total',
];

let observer: IndexerObserver | undefined;
afterEach(() => observer?.close());

function observed() {
  const metrics = createMetrics({ version: '1.2.3' });
  const lines: string[] = [];
  const health = new HealthTracker({ version: '1.2.3', schema: 'ledger', stalledAfterMs: 1000, wallNow: () => 5000 });
  const { logger } = createLogger({
    level: 'info',
    format: 'json',
    stream: { write: (line) => lines.push(line) },
  });
  observer = createObserver({ logger, metrics, health });
  return { observer, metrics, health, lines };
}

const emptyBatch = {
  checkpoint: 1,
  updates: new Map<string, number>(),
  events: new Map<string, Map<string, number>>(),
  rows: new Map<string, number>(),
  recordTimeMs: undefined,
  bytes: 0,
  commitSeconds: 0,
  decodeSeconds: 0,
};

describe('the metrics', () => {
  it('have exactly the promised names', async () => {
    const { registry } = createMetrics({ version: '1.2.3' });
    const found = (await registry.getMetricsAsJSON()).map((metric) => metric.name);
    expect(found.filter((name) => name.startsWith('indexer_')).sort()).toEqual(names);
  });

  it('include those of the process, without the gauges that are named like counters', async () => {
    const text = await createMetrics({ version: '1.2.3' }).registry.metrics();
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds');
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).not.toMatch(/nodejs_active_\w+_total/);
  });

  it('show every known label set before anything has happened', async () => {
    const text = await createMetrics({ version: '1.2.3' }).registry.metrics();
    expect(text).toContain('indexer_build_info{version="1.2.3",commit="unknown"} 1');
    expect(text).toContain('indexer_phase{phase="starting"} 1');
    expect(text).toContain('indexer_phase{phase="parked"} 0');
    expect(text).toContain('indexer_updates_total{kind="reassignment"} 0');
    expect(text).toContain('indexer_ws_disconnects_total{code="1006"} 0');
    expect(text).toContain('indexer_errors_total{stage="pipeline",code="UNEXPECTED",retryable="false"} 0');
  });
});

describe('the observer', () => {
  it('turns a committed batch into counters, gauges and, only while live, a latency', async () => {
    const { observer, metrics } = observed();
    const batch = {
      checkpoint: 42,
      updates: new Map([
        ['transaction', 3],
        ['surprise', 1],
      ]),
      events: new Map([['created', new Map([['p:M:T', 7]])]]),
      rows: new Map([['contracts', 7]]),
      recordTimeMs: 4000,
      bytes: 10,
      commitSeconds: 0.1,
      decodeSeconds: 0.01,
    };
    observer.phaseChanged('catching_up');
    observer.batchCommitted(batch);
    observer.phaseChanged('live');
    observer.batchCommitted(batch);
    const text = await metrics.registry.metrics();
    expect(text).toContain('indexer_checkpoint_offset 42');
    expect(text).toContain('indexer_updates_total{kind="transaction"} 6');
    expect(text).toContain('indexer_updates_total{kind="unknown"} 2');
    expect(text).toContain('indexer_events_total{type="created",template="p:M:T"} 14');
    expect(text).toContain('indexer_rows_written_total{table="contracts"} 14');
    expect(text).toContain('indexer_ingest_latency_seconds_count 1');
    expect(text).toContain('indexer_ingest_latency_seconds_sum 1\n');
    expect(text).toContain('indexer_leader 1');
  });

  it('gives fifty templates a series and puts the rest under other', async () => {
    const { observer, metrics } = observed();
    const templates = new Map(Array.from({ length: 60 }, (_, index) => [`p:M:T${index}`, index + 1]));
    observer.batchCommitted({
      ...emptyBatch,
      events: new Map([['created', templates]]),
    });
    const text = await metrics.registry.metrics();
    expect(text.match(/indexer_events_total\{type="created"/g)).toHaveLength(51);
    expect(text).toContain('indexer_events_total{type="created",template="p:M:T59"} 60');
    expect(text).toContain('indexer_events_total{type="created",template="other"} 55');
  });

  it('counts seed contracts from totals, also when the seed starts over', async () => {
    const { observer, metrics, health } = observed();
    for (const contracts of [10, 25, 5]) {
      observer.batchCommitted({ ...emptyBatch, checkpoint: undefined });
      observer.seedProgress({ contracts, offset: 9 });
    }
    // Whoever waits for offset 9 must not be told before its contracts can be read.
    expect(health.status().checkpoint).toBeNull();
    observer.seedDone({ contracts: 30, offset: 9 });
    const text = await metrics.registry.metrics();
    expect(text).toContain('indexer_seed_contracts_total 55');
    expect(text).toContain('indexer_seed_done 1');
    expect(health.status()).toMatchObject({ checkpoint: 9, seed: { contracts: 30, offset: 9, done: true } });
  });

  it('writes one line for a change of phase and none for the same phase again', () => {
    const { observer, lines } = observed();
    const error = new IndexerError('refused', { code: 'LEDGER_UNREACHABLE', retry: 'retry' });
    observer.phaseChanged('backing_off', error);
    observer.phaseChanged('backing_off', error);
    observer.phaseChanged('live');
    expect(lines.map((line) => JSON.parse(line)).map(({ level, phase }) => [level, phase])).toEqual([
      ['warn', 'backing_off'],
      ['info', 'live'],
    ]);
  });
});
