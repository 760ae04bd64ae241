/** The latest result of each comparison, stored for readers and for the metrics of a running indexer. */
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../connection/database.ts';
import { tablesOf } from '../connection/query-builder.ts';

export interface Verification {
  readonly kind: string;
  readonly outcome: string;
  readonly atOffset: number;
  /** Start time, ISO 8601. */
  readonly startedAt: string;
  readonly seconds: number;
  readonly compared: number;
  readonly different: number;
  readonly quarantined: number;
  readonly note?: string;
}

/**
 * Stores the results. Resolves to false if this role may not write them, because a comparison itself only needs the
 * right to read.
 */
export async function recordVerifications(database: Database, results: readonly Verification[]): Promise<boolean> {
  try {
    await database.transaction(async (client) => {
      for (const result of results) {
        const {
          kind,
          outcome,
          atOffset,
          startedAt,
          seconds,
          compared: comparedCount,
          different: differenceCount,
          quarantined,
          note: resultNote,
        } = result;
        await client.query(
          `insert into verifications as v
             (kind, outcome, at_offset, started_at, seconds, compared, different, quarantined, note)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
           on conflict (kind) do update
             set outcome = excluded.outcome, at_offset = excluded.at_offset, started_at = excluded.started_at,
                 seconds = excluded.seconds, compared = excluded.compared, different = excluded.different,
                 quarantined = excluded.quarantined, note = excluded.note`,
          [
            kind,
            outcome,
            atOffset,
            startedAt,
            seconds,
            comparedCount,
            differenceCount,
            quarantined,
            resultNote ?? null,
          ],
        );
      }
    });
    return true;
  } catch (thrown) {
    if (thrown instanceof IndexerError && unwritableStates.has(String(thrown.facts['sqlstate']))) return false;
    throw thrown;
  }
}

/** SQLSTATEs of a missing right, a read-only server or session, and a schema from before this table. */
const unwritableStates: ReadonlySet<string> = new Set(['42501', '25006', '42P01']);

/** The latest result of one comparison, for the metrics. */
export interface LastVerification {
  readonly kind: string;
  readonly atOffset: number;
  /** Start time, milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly seconds: number;
  /** Number of differences; undefined if it could not be determined. */
  readonly different: number | undefined;
}

/** The latest results; empty if this role may not read them. */
export async function lastVerifications(database: Database): Promise<readonly LastVerification[]> {
  try {
    const rows = await database.withClient((client) =>
      tablesOf(client)
        .selectFrom('verifications')
        .select(['kind', 'outcome', 'at_offset', 'started_at', 'seconds', 'different'])
        .execute(),
    );
    return rows.map((row) => ({
      kind: row.kind,
      atOffset: row.at_offset,
      startedAtMs: row.started_at.getTime(),
      seconds: row.seconds,
      different: row.outcome === 'undecided' ? undefined : row.different,
    }));
  } catch (thrown) {
    if (thrown instanceof IndexerError && unwritableStates.has(String(thrown.facts['sqlstate']))) return [];
    throw thrown;
  }
}
