/** Is the database healthy? */
import { jobNames } from '../../../model/stream.ts';
import { counter, gauge, histogram } from './description.ts';

/** What a query is for. */
export const queryOps = ['batch', 'copy', 'finish', 'commit', 'read', 'write', 'ddl', 'session'] as const;
const verifyKinds = ['invariants', 'acs', 'tail', 'range', 'tokens'] as const;

function verified(name: string, help: string, use: string, initial: number) {
  return gauge({ name: `verify_last_${name}`, help, use, initial, labels: { kind: verifyKinds } });
}

function ofJob(name: string, help: string, use: string, initial = 0) {
  return gauge({ name, help, use, initial, labels: { name: jobNames } });
}

export const databaseSide = {
  commit: histogram({
    name: 'commit_seconds',
    help: 'BEGIN to COMMIT of one batch, the wait for its turn included.',
    use: 'p99 above a second: look at the disk, at locks, and at synchronous standbys.',
  }),
  querySeconds: histogram({
    name: 'pg_query_seconds',
    help: 'Time of queries: batch is a whole batch in one round trip; copy and finish are its halves where batches overlap.',
    use: 'batch, copy and finish slow, read fast: the disk of the write-ahead log; all slow: the network or the server.',
    labels: { op: queryOps },
  }),
  poolConnections: gauge({
    name: 'pg_pool_connections',
    help: 'Connections to Postgres by state; waiting counts those who wait for one.',
    use: 'Waiting above 0 for minutes: queries hang, or the server refuses connections.',
    labels: { state: ['total', 'idle', 'waiting'] },
  }),
  poolMax: gauge({
    name: 'pg_pool_connections_max',
    help: 'How many connections there may be at most.',
    use: 'INDEXER_WRITE_CONCURRENCY and three.',
  }),
  packages: counter({
    name: 'packages_total',
    help: 'Packages looked at for typed views, by result.',
    use: 'Unreadable: the log names them; their templates have no typed views until the next start.',
    labels: { result: ['read', 'unreadable'] },
  }),
  views: counter({
    name: 'views_total',
    help: 'Typed views made or replaced, and failures to.',
    use: 'Failed: the log names view and reason.',
    labels: { result: ['made', 'failed'] },
  }),
  packageRetries: counter({
    name: 'package_retries_total',
    help: 'Times packages could not be read or views not be made for now.',
    use: 'Rising: typed views are late; ingestion is not affected.',
  }),
  notifyFailures: counter({
    name: 'notify_failures_total',
    help: 'Notices of commits (INDEXER_NOTIFY) that Postgres did not take, most often because its queue of notices is full.',
    use: 'Rising: listeners hear nothing, ingestion is not affected; ledger-indexer check shows the queue.',
  }),
  interfacesWaiting: gauge({
    name: 'interfaces_waiting',
    help: 'Interfaces of LEDGER_INTERFACES that the participant does not know.',
    use: 'Above 0 for long, without a preset: a name is wrong, or a package was never uploaded; /status names them.',
  }),
  interfacesBackfilling: gauge({
    name: 'interfaces_backfilling',
    help: 'Interfaces whose views are gathered beside the stream, because it was begun without them.',
    use: 'Above 0: answers through them are not complete yet; view interface_coverage says which.',
  }),
  interfaceRetries: counter({
    name: 'interface_retries_total',
    help: 'Times the views of interfaces that came later could not be gathered for now.',
    use: 'Rising: the log says why; ingestion is not affected.',
  }),
  prunedRows: counter({
    name: 'pruned_rows_total',
    help: 'Rows removed because INDEXER_RETENTION says so.',
    use: 'Flat for days with INDEXER_RETENTION set: see prune_failures_total and retention_hold_age_seconds.',
  }),
  prunedToOffset: gauge({
    name: 'pruned_to_offset',
    help: 'Offset up to which history is pruned here by INDEXER_RETENTION; NaN before the first look.',
    use: 'Queries about earlier offsets are refused.',
    initial: Number.NaN,
  }),
  pruneFailures: counter({
    name: 'prune_failures_total',
    help: 'Looks at old history that failed; ingestion is not affected.',
    use: 'Rising: the log says why, most often a role that may not delete.',
  }),
  holdAge: gauge({
    name: 'retention_hold_age_seconds',
    help: 'Since when the row of retention_holds is there that keeps history from being pruned; 0 when none does.',
    use: 'Days: somebody who needed history is gone, and the disk fills. ledger-indexer hold list names it.',
  }),
  jobActive: ofJob(
    'job_active',
    '1 while the background job is requested or working, 0 when it is paused, done or failed.',
    '1 for days: see its progress at /status; the process that runs it may have ended.',
  ),
  jobFailed: ofJob(
    'job_failed',
    '1 if the last run of the background job failed.',
    'Alert above 0: ledger-indexer jobs prints the reason.',
  ),
  jobDone: ofJob(
    'job_done',
    'Contracts or offsets of its current step that the background job has done.',
    'Flat while job_active is 1: the job makes no progress.',
  ),
  jobExpected: ofJob(
    'job_expected',
    'Contracts or offsets of its current step in all; NaN if unknown.',
    'Minus job_done: how much is left.',
    Number.NaN,
  ),
  verifyTime: verified(
    'timestamp_seconds',
    'When `verify` last began to compare; 0 when never.',
    'time() minus it: alert when your schedule is missed.',
    0,
  ),
  verifyOffset: verified(
    'offset',
    'Newest offset that `verify` compared last; NaN when never.',
    'Up to where the database is proven.',
    Number.NaN,
  ),
  verifyDuration: verified(
    'duration_seconds',
    'How long the last `verify` took; NaN when never.',
    'Plan its schedule by it.',
    Number.NaN,
  ),
  verifyDifferences: verified(
    'differences',
    'Differences the last `verify` found; NaN when it could not decide, or never ran.',
    'Alert above 0.',
    Number.NaN,
  ),
};
