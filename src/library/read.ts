/**
 * The module that other programs import as `ledger-indexer/read`: consistent reads of everything that is stored, for
 * programs that copy it to another system. It follows semantic versioning. Its exports are in
 * types/ledger-indexer-read.d.ts, which a test compares with them.
 */
import { openDatabase } from '../store/connection/database.ts';
import type { Reads } from '../store/exported/reads.ts';
import { readsOf } from '../store/exported/snapshot.ts';
import { assertMigrated } from '../store/schema/migrations.ts';

export type {
  ReadColumn,
  ReadCoverage,
  ReadFacts,
  ReadProjection,
  ReadRange,
  ReadRedactions,
  Reads,
  ReadTable,
  ReadType,
  Redactable,
  RedactedRows,
  Snapshot,
} from '../store/exported/reads.ts';

/** The database to read. */
export interface ReadOptions {
  /**
   * `postgres://user:password@host:port/database`. The role needs the rights that `grant-reader` grants without
   * `--party`.
   */
  readonly databaseUrl: string;
  /** Schema of the indexer; default `ledger`. */
  readonly schema?: string;
  /** Name of the connections on the server; default `ledger-indexer read`. */
  readonly applicationName?: string;
}

/** Reads with their own connection pool. */
export interface OpenReads extends Reads {
  /** Waits up to 5 s for running snapshots, then closes all connections. Never rejects. */
  readonly close: () => Promise<void>;
}

/** How long a snapshot may stay open: one week, milliseconds. */
const longestSnapshotMs = 7 * 24 * 60 * 60_000;

/**
 * Prepares reading. It connects for the first snapshot, and writes nothing.
 * @throws IndexerError STORE_URL_INVALID if the URL cannot be used; `inSnapshot` also throws SCHEMA_OUTDATED
 */
export function openReads({ databaseUrl, schema = 'ledger', applicationName }: ReadOptions): OpenReads {
  const database = openDatabase({
    url: databaseUrl,
    schema,
    statementTimeoutMs: longestSnapshotMs,
    idleInTransactionMs: longestSnapshotMs,
    applicationName: applicationName ?? 'ledger-indexer read',
  });
  const reads = readsOf(database);
  return {
    inSnapshot: async (use) => {
      await assertMigrated(database);
      return await reads.inSnapshot(use);
    },
    close: () => database.close(),
  };
}
