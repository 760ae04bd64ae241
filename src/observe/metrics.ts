/**
 * The Prometheus metrics, on a registry of their own. Base units, `_total` on counters only, no party labels, and every
 * label set that is known beforehand exists from the start: an alert on a series that is not there never fires.
 */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

import { phases } from '../model/phase.ts';
import { TemplateLabels } from './template-labels.ts';

export const updateKinds = ['transaction', 'reassignment', 'topology', 'offset_checkpoint', 'unknown'] as const;
const eventTypes = ['created', 'archived', 'exercised', 'assigned', 'unassigned', 'topology'] as const;
const verifyKinds = ['sql', 'acs', 'tail', 'replay'] as const;
const queueStages = ['inbox_updates', 'inbox_bytes'] as const;
const stages = ['ledger', 'store', 'pipeline'] as const;
const disconnectCodes = [
  '1000',
  '1001',
  '1006',
  '1008',
  '1011',
  'error_frame',
  'no_pong',
  'stopped',
  'renewed',
] as const;
const commonErrors = [
  ['ledger', 'LEDGER_UNREACHABLE', 'true'],
  ['store', 'STORE_UNREACHABLE', 'true'],
  ['ledger', 'UNEXPECTED', 'false'],
  ['store', 'UNEXPECTED', 'false'],
  ['pipeline', 'UNEXPECTED', 'false'],
] as const;
/** Gauges whose names end as counters must; tools that check names reject them. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

const latencyBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300];
const workBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const batchBuckets = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 100_000];

export interface MetricsOptions {
  readonly version: string;
  readonly commit?: string;
}

export type Metrics = ReturnType<typeof createMetrics>;

/** All metrics, zero-initialised. `registry.metrics()` gives the exposition text. */
export function createMetrics(options: MetricsOptions) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  const metrics = {
    registry,
    templates: new TemplateLabels(),
    ...stateMetrics(registry),
    ...flowMetrics(registry),
    ...failureMetrics(registry),
    ...verifyMetrics(registry),
  };
  gauge(registry, 'build_info', 'Version and commit of this program; always 1.', ['version', 'commit']).set(
    { version: options.version, commit: options.commit ?? 'unknown' },
    1,
  );
  // 0 would be a token that expired long ago, or updates about to be lost, and raise the alarm.
  metrics.tokenExpiry.set(Number.NaN);
  metrics.pruneHeadroom.set(Number.NaN);
  for (const phase of phases) metrics.phase.set({ phase }, phase === 'starting' ? 1 : 0);
  for (const kind of updateKinds) metrics.updates.inc({ kind }, 0);
  for (const type of eventTypes) metrics.events.inc({ type, template: 'other' }, 0);
  for (const stage of queueStages) {
    metrics.queueDepth.set({ stage }, 0);
    metrics.queueCapacity.set({ stage }, 0);
  }
  for (const kind of verifyKinds) {
    metrics.verifyTime.set({ kind }, 0);
    for (const unknown of [metrics.verifyOffset, metrics.verifyDuration, metrics.verifyDifferences]) {
      unknown.set({ kind }, Number.NaN);
    }
  }
  for (const stage of stages) metrics.retries.inc({ stage }, 0);
  for (const code of disconnectCodes) metrics.disconnects.inc({ code }, 0);
  for (const result of ['connected', 'failed']) metrics.connects.inc({ result }, 0);
  for (const [stage, code, retryable] of commonErrors) metrics.errors.inc({ stage, code, retryable }, 0);
  return metrics;
}

function stateMetrics(registry: Registry) {
  const one = (name: string, help: string) => gauge(registry, name, help, []);
  return {
    phase: gauge(registry, 'phase', 'What the indexer is doing; exactly one phase is 1.', ['phase']),
    leader: one('leader', '1 while this process is the one that writes.'),
    ledgerEnd: one('ledger_end_offset', 'Offset of the ledger end when last asked.'),
    checkpoint: one('checkpoint_offset', 'Offset up to which everything is stored.'),
    pruned: one('pruned_offset', 'Offset up to which the participant has pruned; 0 when never.'),
    pruneHeadroom: one(
      'prune_headroom_offsets',
      'Offsets from the pruned one to the checkpoint: below 0, updates are lost that were not stored yet.',
    ),
    seedOffset: one('seed_offset', 'Offset at which the active contracts were read.'),
    lastRecord: one('last_record_timestamp_seconds', 'Record time of the newest update or OffsetCheckpoint stored.'),
    lastCommit: one('last_commit_timestamp_seconds', 'Time of the last commit.'),
    lastFrame: one('last_frame_timestamp_seconds', 'Time of the last frame from the ledger.'),
    seedDone: one('seed_done', '1 once the active contracts are stored.'),
    connectedStreams: one('ws_connected', '1 while a stream of the ledger is open.'),
    tokenExpiry: one('token_expiry_timestamp_seconds', 'When the access token in use expires; NaN when not known.'),
    queueDepth: gauge(registry, 'queue_depth', 'What waits in memory.', ['stage']),
    queueCapacity: gauge(registry, 'queue_capacity', 'What may wait in memory before the ledger is made to wait.', [
      'stage',
    ]),
  };
}

function flowMetrics(registry: Registry) {
  return {
    updates: counter(registry, 'updates_total', 'Updates stored, by kind.', ['kind']),
    events: counter(registry, 'events_total', 'Events stored, by type and template.', ['type', 'template']),
    rows: counter(registry, 'rows_written_total', 'Rows written, by table.', ['table']),
    bytesReceived: counter(registry, 'bytes_received_total', 'Bytes of frames from the ledger.', []),
    seedContracts: counter(registry, 'seed_contracts_total', 'Active contracts stored by the seed.', []),
    backpressure: counter(registry, 'backpressure_seconds_total', 'Time the ledger was made to wait.', []),
    latency: histogram(registry, 'ingest_latency_seconds', 'Record time to commit, while live.', latencyBuckets),
    decode: histogram(registry, 'decode_seconds', 'Parsing and building the rows of one batch.', workBuckets),
    batchUpdates: histogram(registry, 'batch_updates', 'Updates in one batch.', batchBuckets),
    commit: histogram(registry, 'commit_seconds', 'BEGIN to COMMIT of one batch.', workBuckets),
  };
}

function failureMetrics(registry: Registry) {
  return {
    connects: counter(registry, 'ws_connects_total', 'Attempts to open a stream, by result.', ['result']),
    tokenRenewals: counter(registry, 'token_renewals_total', 'Streams opened again with a newer access token.', []),
    disconnects: counter(registry, 'ws_disconnects_total', 'Streams that ended, by close code.', ['code']),
    errors: counter(registry, 'errors_total', 'Failures.', ['stage', 'code', 'retryable']),
    quarantined: counter(registry, 'quarantined_total', 'Updates set aside because they could not be stored.', []),
    retries: counter(registry, 'retries_total', 'Failures after which another attempt was planned.', ['stage']),
  };
}

/** What `verify` found last, as it stands in the database. */
function verifyMetrics(registry: Registry) {
  const last = (name: string, help: string) => gauge(registry, `verify_last_${name}`, help, ['kind']);
  return {
    verifyTime: last('timestamp_seconds', 'When `verify` last began to compare; 0 when never.'),
    verifyOffset: last('offset', 'Newest offset that `verify` compared last.'),
    verifyDuration: last('duration_seconds', 'How long the last `verify` took.'),
    verifyDifferences: last('differences', 'Differences the last `verify` found; NaN when it could not decide.'),
  };
}

function gauge<L extends string>(registry: Registry, name: string, help: string, labelNames: readonly L[]): Gauge<L> {
  return new Gauge({ name: `indexer_${name}`, help, labelNames: [...labelNames], registers: [registry] });
}

function counter<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[],
): Counter<L> {
  return new Counter({ name: `indexer_${name}`, help, labelNames: [...labelNames], registers: [registry] });
}

function histogram(registry: Registry, name: string, help: string, buckets: readonly number[]): Histogram {
  return new Histogram({ name: `indexer_${name}`, help, buckets: [...buckets], registers: [registry] });
}
