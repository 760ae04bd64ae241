/**
 * Removes history up to an offset in many short transactions, concurrently with a running writer. Prune and the writer
 * never touch the same row. The writer adds rows above the checkpoint and ends live contracts; prune deletes rows at or
 * below the checkpoint and ended contracts. The remaining work is read from the tables, so the next prune continues
 * after any interruption.
 */
import type { ClientBase } from 'pg';
import { escapeIdentifier } from 'pg';
import { pause } from '../../config/pause.ts';
import { IndexerError, withContext } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { shortTransaction } from '../connection/short-transaction.ts';
import { countRows, tablesOf } from '../connection/query-builder.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { checkPruningRights } from '../roles/writer-trial.ts';
import { pruneTarget, type PruneBefore, type PruneTarget } from './prune-target.ts';
import { withReadTransaction } from './retention-session.ts';

export interface PrunedTable {
  readonly table: string;
  /** Number of rows that would be removed, or that were removed. */
  readonly rows: number;
  /**
   * Approximate size of these rows including indexes, bytes. It is calculated as their share of the table. Undefined
   * after they are removed.
   */
  readonly bytes: number | undefined;
}

export interface PrunePlan extends PruneTarget {
  readonly tables: readonly PrunedTable[];
  /** Offset of the first update after the boundary, where history begins; null if there is none. */
  readonly oldestRemaining: number | null;
  /** Number of updates in quarantine at or below the boundary. They are kept until an operator handles them. */
  readonly quarantined: number;
}

export interface PruneOptions {
  /** Stops the prune between two transactions. */
  readonly stop: AbortSignal;
  /** Approximate number of rows in one transaction; default 5000. A single update is never split. */
  readonly batchRows?: number;
  /** Called after each transaction. */
  readonly onProgress?: ((progress: PruneProgress) => void) | undefined;
}

export interface PruneProgress extends Pick<PruneTarget, 'boundary' | 'heldBy'> {
  /** Number of rows removed so far. */
  readonly rows: number;
}

export interface PruneResult extends Pick<PruneTarget, 'boundary' | 'heldBy'> {
  readonly tables: readonly PrunedTable[];
  readonly batches: number;
  /** False if the prune was stopped before its end. */
  readonly finished: boolean;
}

const defaultRows = 5_000;
/**
 * After each batch, prune pauses as long as the batch took, but at most this long, so that the writer has half of the
 * time without interference.
 */
const longestPauseMs = 1_000;

/**
 * Calculates what {@link prune} would remove; changes nothing. Reads all tables.
 * @throws IndexerError NOTHING_TO_PRUNE
 */
export function planPrune(database: Database, before: PruneBefore): Promise<PrunePlan> {
  const pqs = escapeIdentifier(readSchemas(database.schema).pqs);
  return withReadTransaction(database, async (client) => {
    const target = await pruneTarget(client, before);
    const { rows } = await client.query<{ table: string; rows: number; bytes: number }>(
      `select p.table_name as table, p.rows,
              (pg_total_relation_size(p.table_name::regclass) * p.rows::numeric / greatest(p.share_of, 1))::bigint as bytes
         from ${pqs}.__prune_preview($1) p`,
      [target.boundary],
    );
    const oldest = await tablesOf(client)
      .selectFrom('updates')
      .select((e) => e.fn.min<number | null>('offset').as('offset'))
      .where('offset', '>', target.boundary)
      .executeTakeFirstOrThrow();
    const quarantined = await tablesOf(client)
      .selectFrom('quarantine')
      .select(countRows)
      .where('offset', '<=', target.boundary)
      .executeTakeFirstOrThrow();
    return { ...target, tables: rows, oldestRemaining: oldest.offset, quarantined: quarantined.count };
  });
}

/**
 * Records that history now begins later (`stream.pruned_to_offset`), and then removes rows.
 * @throws IndexerError NOTHING_TO_PRUNE, STORE_NOT_PERMITTED
 */
export async function prune(database: Database, before: PruneBefore, options: PruneOptions): Promise<PruneResult> {
  const pqs = escapeIdentifier(readSchemas(database.schema).pqs);
  const target = await shortTransaction(database, async (client) => {
    // The lock prevents new holds on history that is about to be removed.
    await client.query(`select ${pqs}.__retention_lock()`);
    const { boundary, heldBy: blockingHold } = await pruneTarget(client, before);
    const { rows } = await client.query<{ kept: number }>(`select ${pqs}.__note_pruned($1) as kept`, [boundary]);
    return { boundary: rows[0]?.kept ?? boundary, heldBy: blockingHold };
  });
  const run = new PruneRun(database, target, options);
  await run.all();
  return run.result();
}

/** Result of one transaction. */
interface Window {
  readonly to: number;
  /** Number of rows removed, by table. */
  readonly removed: Readonly<Record<string, number>>;
}

/** Prunes for INDEXER_RETENTION. The boundary is relative to the newest record. Progress is reported. */
export async function pruneInBackground(
  database: Database,
  retentionMs: number,
  { stop, onProgress }: { readonly stop: AbortSignal; readonly onProgress: (facts: PruneProgressReport) => void },
): Promise<PruneProgressReport> {
  const reportProgress = (progress: PruneProgress): void => onProgress({ ...progress, finished: false });
  const {
    boundary,
    heldBy: blockingHold,
    tables,
    finished: isFinished,
  } = await prune(database, { retentionMs }, { stop, onProgress: reportProgress }).catch(async (thrown: unknown) => {
    throw await withGrant(database, thrown);
  });
  return {
    boundary,
    heldBy: blockingHold,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    finished: isFinished,
  };
}

/** If the error is about missing rights, adds the grant that lets this role prune. */
async function withGrant(database: Database, thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof IndexerError) || thrown.code !== 'STORE_NOT_PERMITTED') return thrown;
  const { missing: missingRights, remedy } = await checkPruningRights(database);
  return missingRights.length === 0 ? thrown : withContext(thrown, { remedy });
}

/** Progress of a prune. */
export interface PruneProgressReport extends PruneProgress {
  readonly finished: boolean;
}

class PruneRun {
  readonly #database: Database;
  readonly #pqs: string;
  readonly #target: Pick<PruneTarget, 'boundary' | 'heldBy'>;
  readonly #onProgress: PruneOptions['onProgress'];
  readonly #stop: AbortSignal;
  readonly #rows: number;
  readonly #removed = new Map<string, number>();
  #batches = 0;

  constructor(
    database: Database,
    target: Pick<PruneTarget, 'boundary' | 'heldBy'>,
    { stop, batchRows = defaultRows, onProgress }: PruneOptions,
  ) {
    this.#database = database;
    this.#pqs = escapeIdentifier(readSchemas(database.schema).pqs);
    this.#target = target;
    this.#onProgress = onProgress;
    this.#stop = stop;
    this.#rows = batchRows;
  }

  result(): PruneResult {
    const tables = [...this.#removed].map(([table, rows]) => ({ table, rows, bytes: undefined }));
    return { ...this.#target, tables, batches: this.#batches, finished: !this.#stop.aborted };
  }

  /** Contracts are removed first, because the remaining contracts determine which updates are removed. */
  async all(): Promise<void> {
    const templates = await this.#database.withClient((client) =>
      tablesOf(client).selectFrom('templates').select('template_pk as pk').orderBy('template_pk').execute(),
    );
    for (const { pk } of templates) await this.#contracts(pk);
    await this.#updates();
  }

  async #contracts(template: number): Promise<void> {
    await this.#windows(
      (client, after) => this.#contractsUpTo(client, template, after),
      `select * from ${this.#pqs}.__prune_contracts(array[$3::integer], $1, $2, $4)`,
      [template, this.#target.boundary],
    );
  }

  async #contractsUpTo(client: ClientBase, template: number, after: number): Promise<number | null> {
    const next = tablesOf(client)
      .selectFrom('contracts')
      .select('offset')
      .where('template_pk', '=', template)
      .where('offset', '>', after)
      .where('offset', '<=', this.#target.boundary)
      .orderBy('offset')
      .limit(this.#rows);
    const { to } = await tablesOf(client)
      .selectFrom(next.as('w'))
      .select((e) => e.fn.max<number | null>('w.offset').as('to'))
      .executeTakeFirstOrThrow();
    return to;
  }

  async #updates(): Promise<void> {
    await this.#windows(
      (client, after) => this.#updatesUpTo(client, after),
      `select * from ${this.#pqs}.__prune_updates($1, $2)`,
      [],
    );
  }

  /** The last of the next updates whose rows together fit into a batch; at least one update. */
  async #updatesUpTo(client: ClientBase, after: number): Promise<number | null> {
    const tables = tablesOf(client);
    const next = tables
      .selectFrom('updates')
      .select(['offset', 'event_count'])
      .where('offset', '>', after)
      .where('offset', '<=', this.#target.boundary)
      .orderBy('offset')
      .limit(this.#rows);
    const runningTotals = tables
      .selectFrom(next.as('u'))
      .select('u.offset')
      .select((e) =>
        e.fn
          .sum(e('u.event_count', '+', 1))
          .over((partition) => partition.orderBy('u.offset'))
          .as('total'),
      );
    const { fitting: fittingOffset, first } = await tables
      .selectFrom(runningTotals.as('w'))
      .select((e) => [
        e.fn.max<number | null>('w.offset').filterWhere('w.total', '<=', this.#rows).as('fitting'),
        e.fn.min<number | null>('w.offset').as('first'),
      ])
      .executeTakeFirstOrThrow();
    // Rows may remain after the last update, because halves of reassignments that were found by a seed do not belong to
    // a stored update.
    return fittingOffset ?? first ?? (after < this.#target.boundary ? this.#target.boundary : null);
  }

  async #windows(
    next: (client: ClientBase, after: number) => Promise<number | null>,
    statement: string,
    values: readonly number[],
  ): Promise<void> {
    for (let after = -1; !this.#stop.aborted;) {
      const startedAtMs = performance.now();
      const window = await shortTransaction(this.#database, async (client): Promise<Window | undefined> => {
        const to = await next(client, after);
        if (to === null) return undefined;
        await client.query(`select ${this.#pqs}.__retention_lock()`);
        const { rows } = await client.query<Record<string, number>>(statement, [after, to, ...values]);
        return { to, removed: rows[0] ?? {} };
      });
      if (window === undefined) return;
      this.#count(window.removed);
      after = window.to;
      await this.#pause(performance.now() - startedAtMs);
    }
  }

  #count(removedRows: Readonly<Record<string, number>>): void {
    this.#batches += 1;
    for (const [table, rows] of Object.entries(removedRows)) {
      this.#removed.set(table, (this.#removed.get(table) ?? 0) + rows);
    }
    this.#onProgress?.({ ...this.#target, rows: [...this.#removed.values()].reduce((sum, rows) => sum + rows, 0) });
  }

  async #pause(durationMs: number): Promise<void> {
    await pause(Math.min(durationMs, longestPauseMs), this.#stop);
  }
}
