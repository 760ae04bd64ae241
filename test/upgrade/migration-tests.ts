/**
 * The effect that each migration after the recording must have on the recorded rows. A migration without an entry fails
 * test/upgrade/rules.test.ts. The entries compute the expected rows from the recorded frames, not from the database.
 */
import { query } from '../support/database.ts';
import { recordedFrames, type Recording } from './recording.ts';

/** Rows that the migration has produced, and the expected rows. */
export interface MigratedRows {
  readonly found: unknown;
  readonly expected: unknown;
}

export type MigrationTest = (url: string, recording: Recording) => Promise<MigratedRows>;

/** By id of the migration. Released with 1.1: `'0022_…': async (url, recording) => …`. */
export const migrationTests: Readonly<Record<string, MigrationTest>> = {};

/** The test of the additional migration of newer-build.ts. Its number follows the last one of the current build. */
export const newerMigrationTest: MigrationTest = async (url, recording) => {
  const [row] = await query(
    url,
    `select (select count(*)::int from ledger.updates where received_at is not null) as received,
            (select jsonb_object_agg(s.synchronizer_id, t.updates)
               from ledger.update_totals t join ledger.synchronizers s using (synchronizer_pk)) as totals,
            (select updates_before_upgrade::int from explore.participants) as sum`,
  );
  const totals: Record<string, number> = {};
  const kept = keptUpdates(recording);
  for (const { synchronizerId } of kept) totals[synchronizerId] = (totals[synchronizerId] ?? 0) + 1;
  return { found: row, expected: { received: 0, totals, sum: kept.length } };
};

interface FrameValue {
  readonly offset: number;
  readonly synchronizerId: string;
  readonly events: readonly Readonly<Record<string, { readonly contractId?: string; readonly consuming?: boolean }>>[];
}

/** The updates that the recorded database has: those after the pruned ones, and those that created what was active. */
function keptUpdates({ prunedToOffset, checkpoint }: Recording): readonly FrameValue[] {
  const values = recordedFrames()
    .map((frame) => JSON.parse(frame) as { readonly update: Readonly<Record<string, { readonly value: FrameValue }>> })
    .flatMap(({ update }) => Object.values(update).map(({ value }) => value))
    .filter(({ offset }) => offset <= checkpoint);
  const ended = new Set(
    values
      .filter(({ offset }) => offset <= prunedToOffset)
      .flatMap(({ events }) => events.map((event) => event['ExercisedEvent'] ?? {}))
      .flatMap(({ consuming, contractId }) => (consuming === true ? [contractId] : [])),
  );
  const isKept = ({ offset, events }: FrameValue): boolean =>
    offset > prunedToOffset ||
    events.some(({ CreatedEvent: created }) => created !== undefined && !ended.has(created.contractId));
  return values.filter(isKept);
}
