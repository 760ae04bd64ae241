/** Tables about the stream itself: its position, its coverage, totals, and background jobs. */
import { projectedTable, projectionNames, type ProjectionName } from '../../model/stream.ts';
import type { TableEntry } from './entry.ts';

// Their rows depend on contracts that a limited reader may not see completely.
const projected = {
  nodes: 'coordinator',
  writer: { insert: true, delete: true },
  redactor: { delete: true },
  limited: 'none',
  sizes: 'projections',
} as const satisfies TableEntry;

function projectedTables(): Readonly<Record<`projected_${ProjectionName}`, typeof projected>> {
  const entries = projectionNames.map((name) => [projectedTable(name), projected]);
  return Object.fromEntries(entries) as Record<`projected_${ProjectionName}`, typeof projected>;
}

export const streamTables = {
  stream: {
    survivesReset: true,
    nodes: 'coordinator',
    writer: {
      insert: true,
      // The filter may only change while there is no history; a trigger enforces this.
      update:
        'filter, filter_hash, transaction_shape, participant_id, seed_offset, seeded_at, seed_token, seed_contracts, seed_release, seed_has_in_flight, ' +
        'checkpoint, checkpoint_update_offset, ' +
        'checkpoint_update_id, checkpoint_record_time, record_times, epoch, writer, ledger_end, participant_pruned_offset',
    },
    // The redactor raises the epoch, so that a running writer begins a new session, in which it applies the redaction.
    redactor: { update: 'pruned_to_offset, epoch' },
    // All columns except the filter, because the filter contains the indexed parties.
    limited: {
      columns:
        'singleton, participant_id, transaction_shape, seed_offset, seeded_at, seed_contracts, seed_release, seed_has_in_flight, checkpoint, ' +
        'checkpoint_update_offset, checkpoint_update_id, checkpoint_record_time, record_times, epoch, writer, ' +
        'ledger_end, participant_pruned_offset, pruned_to_offset, handover, handover_peer',
    },
  },
  coverage: { nodes: 'everywhere', writer: { insert: true }, limited: 'all' },
  filter_interfaces: {
    nodes: 'coordinator',
    // The writer deletes rows of interfaces that were removed.
    writer: { insert: true, update: 'state, complete_from, unknown_at_offset, updated_at', delete: true },
    limited: 'all',
  },
  // Its rows name the indexed parties.
  filter_additions: { nodes: 'coordinator', limited: 'none' },
  participants: { nodes: 'everywhere', limited: 'all' },
  completion_ranges: {
    nodes: 'coordinator',
    writer: { insert: true, update: 'to_offset, parties, reason, recorded_at' },
    // All columns except the parties whose completions are read.
    limited: { columns: 'from_offset, to_offset, reason, recorded_at' },
    sizes: 'completions',
  },
  // Its rows are totals over the contracts of all parties.
  active_counts: {
    nodes: 'coordinator',
    writer: { insert: true, update: 'activated, deactivated' },
    limited: 'none',
    sizes: 'activity',
    isWritten: true,
  },
  activity_hourly: {
    nodes: 'coordinator',
    writer: {
      insert: true,
      update:
        'creates, archives, exercises, transactions, total_creates, total_archives, total_exercises, ' +
        'paid_traffic_cost, delay_seconds',
    },
    limited: 'none',
    sizes: 'activity',
    isWritten: true,
  },
  // The writer stores the progress of a background job, or the reason why it cannot run the job.
  jobs: {
    survivesReset: true,
    nodes: 'coordinator',
    writer: { update: 'state, step, unit, done, total, per_second, problem, updated_at' },
    limited: 'none',
    carried: 'wholly',
  },
  // Its rows are counts over the contracts of all parties.
  verifications: {
    nodes: 'coordinator',
    writer: {
      insert: true,
      update: 'outcome, at_offset, started_at, seconds, compared, different, quarantined, note',
    },
    limited: 'none',
    carried: 'wholly',
  },
  projections: {
    nodes: 'coordinator',
    writer: {
      insert: true,
      update: 'select_hash, covered, outdated, is_filled, problem, updated_at',
      delete: true,
    },
    // A redaction makes a concurrent fill fail, by changing the row.
    redactor: { update: 'updated_at' },
    limited: 'none',
  },
  // The writer marks versions that a newer one has replaced. Its rows contain SELECTs over contracts of all parties.
  user_projections: {
    survivesReset: true,
    nodes: 'coordinator',
    writer: { update: 'is_retired' },
    limited: 'none',
    carried: 'wholly',
  },
  // Numbers of changes of history, for exports.
  history_changes: {
    nodes: 'coordinator',
    writer: { insert: true, update: 'offsets', delete: true },
    limited: 'none',
  },
  // Every role that changes history notes the change.
  projection_changes: {
    nodes: 'coordinator',
    writer: { insert: true, delete: true },
    redactor: { insert: true },
    limited: 'none',
  },
  ...projectedTables(),
  schema_migrations: { survivesReset: true, nodes: 'coordinator', limited: 'all' },
} as const satisfies Readonly<Record<string, TableEntry>>;
