/**
 * Connections to Postgres of one indexer as its own login: three pools, the connection of the lock, and those of background
 * jobs. docs/reference/connections.md has the table; a test compares it with these numbers.
 */
import type { Config } from '../config/config.ts';
import { openDatabase, type Database } from '../store/connection/database.ts';

/** Beside the lanes of the stream: polls, packages and views, so that no lane waits for one. */
export const besideLanes = 3;
/** For pages of `/changes`, and as many for deliveries: neither holds up the other. */
export const pageConnections = 2;
/** For tokens of readers and the status page, so that no slow read holds up a login. */
const lookupConnections = 1;
const lockConnections = 1;

/** Of one background job: in the tables of the stream, and in its own. */
export const jobConnections = {
  /** Active contracts of a wider filter. */
  filterExtension: { stream: 2, staging: 2 },
  /** Views of interfaces that came later. */
  views: { stream: 2, staging: 2 },
  /** History from before a wider filter. */
  history: { stream: 1, staging: 0 },
  /** What INDEXER_RETENTION removes. */
  retention: { stream: 1, staging: 0 },
} as const;

export interface MostConnections {
  /** Of the login of DATABASE_URL while no background job is at work. */
  readonly always: number;
  /** Of the same login, with all background jobs at once. */
  readonly withJobs: number;
}

/** How many connections an indexer of this configuration opens at most, without those of the query page. */
export function mostConnections({ indexer }: Pick<Config, 'indexer'>): MostConnections {
  const always = indexer.writeConcurrency + besideLanes + lockConnections + 2 * pageConnections + lookupConnections;
  const jobs = Object.values(jobConnections).reduce((sum, { stream, staging }) => sum + stream + staging, 0);
  return { always, withJobs: always + jobs };
}

/** A page has a thousand updates at most. A role whose row security takes longer gets an error. */
const pageStatementMs = 10_000;
/** A look at a handful of rows; with the time between two of them it is less than five seconds. */
const lookupStatementMs = 2_000;

export interface ReadPools {
  /** For `/changes` and deliveries. */
  readonly pages: Database;
  /** For tokens and the status page. */
  readonly lookups: Database;
}

/** Prepares them; each connects when something is read. */
export function openReadPools({ database: { schema, urlFile } }: Config, url: string): ReadPools {
  const shared = { url, urlFile, schema };
  return {
    pages: openDatabase({
      ...shared,
      applicationName: 'ledger-indexer changes',
      statementTimeoutMs: pageStatementMs,
      maxConnections: 2 * pageConnections,
    }),
    lookups: openDatabase({
      ...shared,
      applicationName: 'ledger-indexer lookups',
      statementTimeoutMs: lookupStatementMs,
      maxConnections: lookupConnections,
    }),
  };
}
