/** Metrics of the database, its maintenance and background jobs. */
import { jobNames, projectionNames } from '../../../model/stream.ts';
import { counter, gauge, histogram } from './description.ts';

/** Purposes of queries, for the label `op`. */
export const queryOps = ['batch', 'copy', 'finish', 'commit', 'read', 'write', 'ddl', 'session'] as const;
const verifyKinds = ['invariants', 'acs', 'tail', 'range', 'tokens', 'projections'] as const;

const projectionLabel = { words: 'built-in projections, and those that users added', first: projectionNames } as const;

function verifyGauge(name: string, help: string, use: string, initialValue: number) {
  return gauge({ name: `verify_last_${name}`, help, use, initial: initialValue, labels: { kind: verifyKinds } });
}

function jobGauge(name: string, help: string, use: string, initialValue = 0) {
  return gauge({ name, help, use, initial: initialValue, labels: { name: jobNames } });
}

export const databaseSide = {
  commit: histogram({
    name: 'commit_seconds',
    help: 'BEGIN to COMMIT of a batch, including the wait for its turn.',
    use: 'p99 above a second: check disk, locks and synchronous standbys.',
  }),
  querySeconds: histogram({
    name: 'pg_query_seconds',
    help: 'Time of queries. batch: a complete batch in one round trip; copy, finish: its parts if batches overlap.',
    use: 'batch, copy and finish slow but read fast: the disk of the write-ahead log. All slow: the network or the server.',
    labels: { op: queryOps },
  }),
  poolConnections: gauge({
    name: 'pg_pool_connections',
    help: 'Connections to Postgres by state; waiting counts queries that wait for one.',
    use: 'waiting above 0 for minutes: queries hang, or the server refuses connections.',
    labels: { state: ['total', 'idle', 'waiting'] },
  }),
  poolMax: gauge({
    name: 'pg_pool_connections_max',
    help: 'Maximum number of connections.',
    use: 'INDEXER_WRITE_CONCURRENCY plus three.',
  }),
  packages: counter({
    name: 'packages_total',
    help: 'Packages read for typed views, by result.',
    use: 'unreadable: the log names them; their templates have no typed views until the next start.',
    labels: { result: ['read', 'unreadable'] },
  }),
  views: counter({
    name: 'views_total',
    help: 'Typed views created or replaced, and failures.',
    use: 'failed: the log has view and reason.',
    labels: { result: ['made', 'failed'] },
  }),
  packageRetries: counter({
    name: 'package_retries_total',
    help: 'Retries to read packages or create views.',
    use: 'Growing: typed views are late. Ingestion is not affected.',
  }),
  notifyFailures: counter({
    name: 'notify_failures_total',
    help: 'Notifications of commits (INDEXER_NOTIFY) that Postgres refused, usually because its queue is full.',
    use: 'Growing: listeners miss commits. Ingestion is not affected; ledger-indexer check prints the usage of the queue.',
  }),
  interfacesWaiting: gauge({
    name: 'interfaces_waiting',
    help: 'Interfaces of LEDGER_INTERFACES that the participant does not know.',
    use: 'Above 0 for long: a wrong name, or a package that was never uploaded; /status names them. Normal with a preset.',
  }),
  interfacesBackfilling: gauge({
    name: 'interfaces_backfilling',
    help: 'Interfaces whose earlier views are being backfilled.',
    use: 'Above 0: queries through them are incomplete; explore.interface_coverage names them.',
  }),
  interfaceRetries: counter({
    name: 'interface_retries_total',
    help: 'Failed attempts to backfill views of interfaces.',
    use: 'Growing: see the log. Ingestion is not affected.',
  }),
  prunedRows: counter({
    name: 'pruned_rows_total',
    help: 'Rows removed by INDEXER_RETENTION.',
    use: 'Constant for days with INDEXER_RETENTION: see prune_failures_total and retention_hold_age_seconds.',
  }),
  prunedToOffset: gauge({
    name: 'pruned_to_offset',
    help: 'Offset up to which INDEXER_RETENTION has pruned; NaN before the first check.',
    use: 'Queries about earlier offsets are refused.',
    initial: Number.NaN,
  }),
  pruneFailures: counter({
    name: 'prune_failures_total',
    help: 'Failed attempts to prune.',
    use: 'Growing: see the log, usually a missing right to delete. Ingestion is not affected.',
  }),
  holdAge: gauge({
    name: 'retention_hold_age_seconds',
    help: 'Age of the hold that keeps history from being pruned; 0 if none does.',
    use: 'Days: a forgotten hold, and the disk fills. ledger-indexer hold list names it.',
  }),
  projectionLag: gauge({
    name: 'projection_lag_offsets',
    help: 'Offsets between the checkpoint and the end of the projection, when its last range was read. Sums wait for the end of a block of 5,000 offsets.',
    use: 'Growing: the projection is slower than the stream. Its view is complete, but slow.',
    labels: { name: projectionLabel },
  }),
  projectionSeconds: counter({
    name: 'projection_seconds_total',
    help: 'Time spent filling the projection.',
    use: 'Its rate is the share of one connection that the projection takes.',
    labels: { name: projectionLabel },
  }),
  projectionParked: gauge({
    name: 'projection_parked',
    help: '1 if the SELECT of the projection failed; it is repeated after ten minutes.',
    use: 'Alert above 0: the log has the reason. Its view is complete, but slow.',
    labels: { name: projectionLabel },
  }),
  jobActive: jobGauge(
    'job_active',
    '1 while the background job is requested or working; 0 when paused, done or failed.',
    '1 for days: /status has its progress; the process that runs it may have ended.',
  ),
  jobFailed: jobGauge(
    'job_failed',
    '1 if the last run of the background job failed.',
    'Alert above 0: ledger-indexer jobs prints the reason.',
  ),
  jobDone: jobGauge(
    'job_done',
    'Contracts or offsets of its current step that the background job has done.',
    'Constant while job_active is 1: no progress.',
  ),
  jobExpected: jobGauge(
    'job_expected',
    'Contracts or offsets of its current step in total; NaN if unknown.',
    'Subtract job_done to get the remaining amount.',
    Number.NaN,
  ),
  verifyTime: verifyGauge(
    'timestamp_seconds',
    'When the last `verify` started; 0 if never.',
    'Alert when time() minus this value exceeds the interval of your runs.',
    0,
  ),
  verifyOffset: verifyGauge(
    'offset',
    'Newest offset the last `verify` compared; NaN if never.',
    'The tables are verified up to this offset.',
    Number.NaN,
  ),
  verifyDuration: verifyGauge(
    'duration_seconds',
    'Duration of the last `verify`; NaN if never.',
    'Run `verify` at longer intervals than this.',
    Number.NaN,
  ),
  verifyDifferences: verifyGauge(
    'differences',
    'Differences the last `verify` found; NaN if undecided or never.',
    'Alert above 0.',
    Number.NaN,
  ),
};
