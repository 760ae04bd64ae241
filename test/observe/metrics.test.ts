import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';

import { metricsPage } from '../../scripts/metrics-page.ts';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { countRequest } from '../../src/observe/metrics/metrics.ts';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { createObservers, type IndexerObservers } from '../../src/observe/indexer-observer.ts';
import { createLogger } from '../../src/observe/log/logger.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { WorkTimer } from '../../src/observe/figures/work-clock.ts';

const names = [
  'indexer_access_token_expiry_timestamp_seconds',
  'indexer_access_token_renewals_total',
  'indexer_api_request_seconds',
  'indexer_api_requests_total',
  'indexer_backpressure_seconds_total',
  'indexer_batch_updates',
  'indexer_buffer_capacity',
  'indexer_buffer_used',
  'indexer_build_info',
  'indexer_bytes_received_total',
  'indexer_changes_clients',
  'indexer_changes_clients_max',
  'indexer_changes_pages_total',
  'indexer_checkpoint_offset',
  'indexer_commit_seconds',
  'indexer_completion_checkpoint_offset',
  'indexer_completion_failures_total',
  'indexer_completions_followed',
  'indexer_completions_total',
  'indexer_contracts_unhosted',
  'indexer_decode_seconds',
  'indexer_errors_total',
  'indexer_events_total',
  'indexer_failures_total',
  'indexer_fallback_decoded_transactions_total',
  'indexer_idle_probes_total',
  'indexer_ingest_latency_seconds',
  'indexer_interface_retries_total',
  'indexer_interfaces_backfilling',
  'indexer_interfaces_waiting',
  'indexer_job_active',
  'indexer_job_done',
  'indexer_job_expected',
  'indexer_job_failed',
  'indexer_last_commit_timestamp_seconds',
  'indexer_last_frame_timestamp_seconds',
  'indexer_last_record_timestamp_seconds',
  'indexer_leader',
  'indexer_ledger_end_offset',
  'indexer_ledger_end_timestamp_seconds',
  'indexer_ledger_request_seconds',
  'indexer_ledger_requests_total',
  'indexer_notify_failures_total',
  'indexer_out_of_order_updates_total',
  'indexer_package_retries_total',
  'indexer_packages_total',
  'indexer_participant_pruned_offset',
  'indexer_pg_pool_connections',
  'indexer_pg_pool_connections_max',
  'indexer_pg_query_seconds',
  'indexer_phase',
  'indexer_projection_lag_offsets',
  'indexer_projection_parked',
  'indexer_projection_seconds_total',
  'indexer_prune_failures_total',
  'indexer_prune_headroom_offsets',
  'indexer_pruned_rows_total',
  'indexer_pruned_to_offset',
  'indexer_quarantined_total',
  'indexer_reader_token_lookup_failures_total',
  'indexer_rejected_commands_total',
  'indexer_retention_hold_age_seconds',
  'indexer_retries_total',
  'indexer_rows_written_total',
  'indexer_seed_contracts_total',
  'indexer_seed_done',
  'indexer_seed_offset',
  'indexer_stream_info',
  'indexer_stream_seconds_total',
  'indexer_traffic_bought_timestamp_seconds',
  'indexer_traffic_runway_seconds',
  'indexer_unknown_names',
  'indexer_unknown_total',
  'indexer_updates_total',
  'indexer_verify_last_differences',
  'indexer_verify_last_duration_seconds',
  'indexer_verify_last_offset',
  'indexer_verify_last_timestamp_seconds',
  'indexer_views_total',
  'indexer_wait_requests',
  'indexer_wait_requests_max',
  'indexer_webhook_cursor_offset',
  'indexer_webhook_dead_letters',
  'indexer_webhook_deliveries_total',
  'indexer_webhook_disabled',
  'indexer_ws_connected',
  'indexer_ws_connects_total',
  'indexer_ws_disconnects_total',
];

let observers: IndexerObservers | undefined;
afterEach(() => observers?.close());

function observedMetrics() {
  const metrics = createMetrics({ version: '1.2.3' });
  const lines: string[] = [];
  const health = new HealthTracker({ version: '1.2.3', schema: 'ledger', stalledAfterMs: 1000, wallNow: () => 5000 });
  const { logger } = createLogger({
    level: 'info',
    format: 'json',
    stream: { write: (line) => lines.push(line) },
  });
  observers = createObservers({ logger, metrics, health });
  return { observers, metrics, health, lines };
}

const emptyBatch = {
  checkpoint: 1,
  updates: new Map<string, number>(),
  events: new Map<string, Map<string, number>>(),
  unknown: [],
  fallbackDecodedTransactions: 0,
  rows: new Map<string, number>(),
  recordTimeMs: undefined,
  bytes: 0,
  commitSeconds: 0,
  decodeSeconds: 0,
};

describe('metrics', () => {
  it('have exactly the expected names', async () => {
    const { registry } = createMetrics({ version: '1.2.3' });
    const metricValues = (await registry.getMetricsAsJSON()).map((metric) => metric.name);
    expect(metricValues.filter((name) => name.startsWith('indexer_')).sort()).toEqual(names);
  });

  it('include process metrics, except gauges whose names end in _total', async () => {
    const text = await createMetrics({ version: '1.2.3' }).registry.metrics();
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds');
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).not.toMatch(/nodejs_active_\w+_total/);
  });

  it('share process metrics among all indexers of a process', () => {
    const [first, second] = [createMetrics({ version: '1.2.3' }), createMetrics({ version: '1.2.3' })];
    // The observers of these two metrics are never stopped.
    for (const name of ['nodejs_eventloop_lag_seconds', 'nodejs_gc_duration_seconds']) {
      expect(first.registry.getSingleMetric(name), name).toBeDefined();
      expect(second.registry.getSingleMetric(name), name).toBe(first.registry.getSingleMetric(name));
    }
  });

  it('have a series for every known label set before the first event', async () => {
    const text = await createMetrics({ version: '1.2.3' }).registry.metrics();
    expect(text).toContain('indexer_build_info{version="1.2.3",commit="unknown"} 1');
    expect(text).toContain('indexer_phase{phase="starting"} 1');
    expect(text).toContain('indexer_phase{phase="parked"} 0');
    expect(text).toContain('indexer_updates_total{kind="reassignment"} 0');
    expect(text).toContain('indexer_ws_disconnects_total{code="1006"} 0');
    expect(text).toContain('indexer_errors_total{stage="pipeline",code="UNEXPECTED",retryable="false"} 0');
    expect(text).toContain('indexer_ledger_requests_total{endpoint="/v2/packages/{package-id}",status="503"} 0');
    expect(text).toContain('indexer_pg_query_seconds_count{op="finish"} 0');
    expect(text).toContain('indexer_rows_written_total{table="contracts"} 0');
    expect(text).toContain('indexer_access_token_expiry_timestamp_seconds Nan');
    // An alert on a metric without series never fires. Series of webhooks and of traffic appear after the first read.
    const fixedNames = names.filter((name) => !/^indexer_(?:webhook|traffic)_/.test(name));
    for (const name of fixedNames) expect(text).toMatch(new RegExp(`^${name}(?:_count)?(?:\\{[^\\n]*\\})? `, 'm'));
  });

  it('match docs/reference/metrics.md', async () => {
    expect(await readFile('docs/reference/metrics.md', 'utf8'), 'run npm run docs:metrics').toBe(await metricsPage());
  });

  it('read time shares, connections and waiting clients at scrape time', async () => {
    let nowMs = 0;
    const work = new WorkTimer(() => nowMs);
    const pool = { total: 3, idle: 1, waiting: 7, max: 5 };
    const { registry } = createMetrics({ version: '1', work, pool: () => pool, waits: () => 4 });
    work.enter('database');
    nowMs = 2500;
    expect(await registry.metrics()).toContain('indexer_stream_seconds_total{activity="database"} 2.5');
    nowMs = 4000;
    const text = await registry.metrics();
    expect(text).toContain('indexer_stream_seconds_total{activity="database"} 4\n');
    expect(text).toContain('indexer_stream_seconds_total{activity="source"} 0\n');
    expect(text).toContain('indexer_pg_pool_connections{state="waiting"} 7');
    expect(text).toContain('indexer_pg_pool_connections_max 5');
    expect(text).toContain('indexer_wait_requests 4');
  });

  it('contain no path ids and no unusual statuses in labels', async () => {
    const metrics = createMetrics({ version: '1' });
    for (const [path, status] of [
      ['/v2/packages/abc', 200],
      ['/v2/packages/def', 418],
      ['/v2/parties/alice', undefined],
    ] as const) {
      countRequest(metrics, { path, status, seconds: 0.2 });
    }
    const text = await metrics.registry.metrics();
    expect(text).toContain('indexer_ledger_requests_total{endpoint="/v2/packages/{package-id}",status="200"} 1');
    expect(text).toContain('indexer_ledger_requests_total{endpoint="/v2/packages/{package-id}",status="other"} 1');
    expect(text).toContain('indexer_ledger_requests_total{endpoint="other",status="none"} 1');
    expect(text).toContain('indexer_ledger_request_seconds_count{endpoint="/v2/packages/{package-id}"} 2');
  });

  it('have one series that identifies the stream', async () => {
    const metrics = createMetrics({ version: '1', target: { database: 'db:5432/ledger', schema: 'ledger' } });
    const series = async () => (await metrics.registry.metrics()).match(/^indexer_stream_info\{.*$/gm);
    expect(await series()).toEqual(['indexer_stream_info{database="db:5432/ledger",schema="ledger",participant=""} 1']);
    metrics.identify('p::1220');
    expect(await series()).toEqual([
      'indexer_stream_info{database="db:5432/ledger",schema="ledger",participant="p::1220"} 1',
    ]);
  });
});

describe('metrics observers', () => {
  it('update counters after each batch, and the latency only while the indexer is live', async () => {
    const { observers, metrics } = observedMetrics();
    const batch = {
      checkpoint: 42,
      updates: new Map([
        ['transaction', 3],
        ['surprise', 1],
      ]),
      events: new Map([['created', new Map([['p:M:T', 7]])]]),
      unknown: [],
      fallbackDecodedTransactions: 2,
      rows: new Map([['contracts', 7]]),
      recordTimeMs: 4000,
      bytes: 10,
      commitSeconds: 0.1,
      decodeSeconds: 0.01,
    };
    observers.stream.phaseChanged('catching_up');
    observers.stream.batchCommitted(batch);
    observers.stream.phaseChanged('live');
    observers.stream.batchCommitted(batch);
    observers.polls.pruned(40);
    observers.checkpointReached(42);
    const text = await metrics.registry.metrics();
    expect(text).toContain('indexer_checkpoint_offset 42');
    expect(text).toContain('indexer_prune_headroom_offsets 2');
    expect(text).toContain('indexer_fallback_decoded_transactions_total 4');
    expect(text).toContain('indexer_updates_total{kind="transaction"} 6');
    expect(text).toContain('indexer_updates_total{kind="unknown"} 2');
    expect(text).toContain('indexer_events_total{type="created",template="p:M:T"} 14');
    expect(text).toContain('indexer_rows_written_total{table="contracts"} 14');
    expect(text).toContain('indexer_ingest_latency_seconds_count 1');
    expect(text).toContain('indexer_ingest_latency_seconds_sum 1\n');
    expect(text).toContain('indexer_leader 1');
  });

  it('count the first fifty templates individually, and further templates as other', async () => {
    const { observers, metrics } = observedMetrics();
    const templates = new Map(Array.from({ length: 60 }, (_, index) => [`p:M:T${index}`, index + 1]));
    observers.stream.batchCommitted({
      ...emptyBatch,
      events: new Map([['created', templates]]),
    });
    const text = await metrics.registry.metrics();
    expect(text.match(/indexer_events_total\{type="created"/g)).toHaveLength(51);
    expect(text).toContain('indexer_events_total{type="created",template="p:M:T59"} 60');
    expect(text).toContain('indexer_events_total{type="created",template="other"} 55');
  });

  it('count seed contracts from running totals, even if the seed starts over', async () => {
    const { observers, metrics, health } = observedMetrics();
    for (const contracts of [10, 25, 5]) {
      observers.stream.batchCommitted({ ...emptyBatch, checkpoint: undefined });
      observers.seed.progress({ contracts, offset: 9 });
    }
    observers.seed.done({ contracts: 30, offset: 9 });
    const text = await metrics.registry.metrics();
    expect(text).toContain('indexer_seed_contracts_total 55');
    expect(text).toContain('indexer_seed_done 1');
    expect(health.status()).toMatchObject({ checkpoint: null, seed: { contracts: 30, offset: 9, done: true } });
  });

  it('log a phase only when it changes', () => {
    const { observers, lines } = observedMetrics();
    const error = new IndexerError('refused', { code: 'LEDGER_UNREACHABLE', retry: 'retry' });
    observers.stream.phaseChanged('backing_off', error);
    observers.stream.phaseChanged('backing_off', error);
    observers.stream.phaseChanged('live');
    expect(lines.map((line) => JSON.parse(line)).map(({ level, phase }) => [level, phase])).toEqual([
      ['warn', 'backing_off'],
      ['info', 'live'],
    ]);
  });
});
