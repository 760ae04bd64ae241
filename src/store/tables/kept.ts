/** Tables of redactions and retention holds. */
import type { TableEntry } from './entry.ts';

export const retainedTables = {
  // Its rows name other consumers of this stream.
  retention_holds: {
    survivesReset: true,
    nodes: 'coordinator',
    // The writer moves the holds of webhooks, which keep events that are not delivered yet.
    writer: { update: '"offset", moved_at', delete: true },
    redactor: { insert: true, update: '"offset", reason, moved_at', delete: true },
    limited: 'none',
    carried: 'wholly',
  },
  // Its rows contain ids and parties of redacted contracts.
  redactions: {
    survivesReset: true,
    nodes: 'coordinator',
    redactor: { insert: true, update: 'contracts, exercises, labels' },
    limited: 'none',
    carried: 'in part',
  },
  redacted_contracts: {
    survivesReset: true,
    nodes: 'everywhere',
    redactor: { insert: true, update: 'exercises' },
    limited: 'none',
    carried: 'in part',
  },
  redacted_exercises: {
    survivesReset: true,
    nodes: 'everywhere',
    redactor: { insert: true, update: 'update_id, redaction_id' },
    limited: 'none',
    carried: 'in part',
  },
} as const satisfies Readonly<Record<string, TableEntry>>;
