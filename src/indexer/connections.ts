/**
 * Connections to Postgres of one indexer under its own login: three pools, the connections of the lock and of the
 * projections, and those of background jobs. The table is in docs/reference/connections.md; a test compares it with
 * these numbers.
 */
import type { Config } from '../config/config.ts';
import { openDatabase, type Database } from '../store/connection/database.ts';

/** For polls, packages and views, in addition to the connections of the stream, so that no write waits for them. */
export const extraConnections = 3;
/** For pages of `/changes`, and the same number for deliveries, so that neither delays the other. */
export const pageConnections = 2;
/** For reader tokens and the status page, so that no slow read delays a login. */
const lookupConnections = 1;
/** For reads of `/api`. */
export const apiConnections = 4;
const lockConnections = 1;
/** For filling projections. */
export const projectionConnections = 1;

/** Of each background job: to the tables of the stream, and to its staging tables. */
export const jobConnections = {
  /** Reading the active contracts of an extended filter. */
  filterExtension: { stream: 2, staging: 2 },
  /** Reading views of interfaces that were added later. */
  views: { stream: 2, staging: 2 },
  /** Reading history from before the filter was extended. */
  history: { stream: 1, staging: 0 },
  /** Pruning for INDEXER_RETENTION. */
  retention: { stream: 1, staging: 0 },
  /** Reading how long traffic lasts. */
  traffic: { stream: 1, staging: 0 },
} as const;

export interface ConnectionNeeds {
  /** Under the login of DATABASE_URL, while no background job is running. */
  readonly always: number;
  /** Under the same login, while all background jobs are running. */
  readonly withJobs: number;
}

/** Maximum number of connections of an indexer with this configuration, without those of the query page. */
export function connectionNeeds({ indexer }: Pick<Config, 'indexer'>): ConnectionNeeds {
  const projections = indexer.projections === 'off' ? 0 : projectionConnections;
  const api = indexer.api ? apiConnections : 0;
  const steadyConnections =
    indexer.writeConcurrency +
    extraConnections +
    lockConnections +
    2 * pageConnections +
    lookupConnections +
    projections +
    api;
  const jobs = Object.values(jobConnections).reduce((sum, { stream, staging }) => sum + stream + staging, 0);
  return { always: steadyConnections, withJobs: steadyConnections + jobs };
}

/**
 * Statement timeout of pages and of `/api`, milliseconds. A page has at most a thousand updates. A role whose row security takes
 * longer gets an error.
 */
const pageStatementMs = 10_000;
/**
 * Statement timeout of lookups, which read a few rows, milliseconds. Together with the time between two reads, it is
 * less than five seconds.
 */
const lookupStatementMs = 2_000;

export interface ReadPools {
  /** For `/changes` and deliveries. */
  readonly pages: Database;
  /** For reader tokens and the status page. */
  readonly lookups: Database;
  /** For `/api`. */
  readonly api: Database;
}

/** Opens the pools; each connects at its first read. */
export function openReadPools({ database: { schema, urlFile } }: Config, url: string): ReadPools {
  const sharedOptions = { url, urlFile, schema };
  return {
    pages: openDatabase({
      ...sharedOptions,
      applicationName: 'ledger-indexer changes',
      statementTimeoutMs: pageStatementMs,
      maxConnections: 2 * pageConnections,
    }),
    lookups: openDatabase({
      ...sharedOptions,
      applicationName: 'ledger-indexer lookups',
      statementTimeoutMs: lookupStatementMs,
      maxConnections: lookupConnections,
    }),
    api: openDatabase({
      ...sharedOptions,
      applicationName: 'ledger-indexer api',
      statementTimeoutMs: pageStatementMs,
      maxConnections: apiConnections,
    }),
  };
}
