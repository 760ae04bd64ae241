/**
 * Reports commit notifications that Postgres refused. Increases a counter, and logs one line until a notification
 * succeeds again.
 */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

/** SQLSTATE of an exceeded limit. The only limit that a notification can exceed is the limit of the queue. */
const queueFullState = '54000';

const remedy =
  'no data is lost, and clients of /wait and /changes continue; end the session that listens in an open transaction: ' +
  '`ledger-indexer check` prints the usage of the queue and how to find the session';

export function noticeReport({ metrics, logger }: { readonly metrics: Metrics; readonly logger: Logger }) {
  let isFailing = false;
  return (error?: IndexerError): void => {
    if (error === undefined) {
      isFailing = false;
      return;
    }
    metrics.notifyFailures.inc();
    if (isFailing) return;
    isFailing = true;
    const reason =
      error.facts['sqlstate'] === queueFullState
        ? { reason: `the notification queue is full (SQLSTATE ${queueFullState})`, remedy }
        : { code: error.code, reason: error.message, remedy: error.remedy };
    logger.warn(reason, 'Postgres refuses commit notifications: listeners receive none');
  };
}
