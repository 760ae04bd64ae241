/** Reports notices of commits that Postgres did not take: a counter, and one line until a notice passes again. */
import type { IndexerError } from '../../errors/indexer-error.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from './logger.ts';

/** SQLSTATE of a limit of Postgres; a notice meets no other. */
const queueFull = '54000';

const remedy =
  'nothing is lost, readers of /wait and /changes go on; end the session that listens in an open transaction: ' +
  '`ledger-indexer check` shows the queue and how to find the session';

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
      error.facts['sqlstate'] === queueFull
        ? { reason: `the queue of notices is full (SQLSTATE ${queueFull})`, remedy }
        : { code: error.code, reason: error.message, remedy: error.remedy };
    logger.warn(reason, 'Postgres takes no notices of commits: listeners hear nothing');
  };
}
