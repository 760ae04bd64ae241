/** Tables of labels, which are data of the operator. */
import type { TableEntry } from './entry.ts';

export const labelTables = {
  // A redaction of a party removes its labels.
  party_labels: {
    survivesReset: true,
    nodes: 'coordinator',
    redactor: { delete: true },
    limited: ({ occurring }) => `party = any (${occurring})`,
    carried: 'wholly',
  },
  instrument_labels: {
    survivesReset: true,
    nodes: 'coordinator',
    limited: ({ occurring }) => `admin = any (${occurring})`,
    carried: 'wholly',
  },
} as const satisfies Readonly<Record<string, TableEntry>>;
