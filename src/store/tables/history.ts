/** Tables that grow with the history: data of the ledger at an offset. */
import type { TableEntry } from './entry.ts';

const grows = { nodes: 'by offset', writer: { insert: true } } as const;

/** In the order in which a reset deletes their rows. */
export const historyTables = {
  interface_views: {
    ...grows,
    redactor: { update: 'view, status_message, status_details, redaction_id', delete: true },
    limited: () => `exists (select from contracts c
      where c."offset" = interface_views."offset" and c.node_id = interface_views.node_id)`,
    sizes: 'interface_views',
    isWritten: true,
    goesBack: true,
  },
  contracts: {
    ...grows,
    redactor: { update: 'payload, contract_key, created_event_blob, redaction_id', delete: true },
    limited: ({ among, stakes }) => among('contract_parties', stakes),
    sizes: 'contracts',
    isWritten: true,
    goesBack: true,
  },
  // When a contract ends, its row is moved to table `ended`.
  live: {
    ...grows,
    writer: { insert: true, update: 'unhosted_since', delete: true },
    limited: ({ among, stakes }) => among('contract_parties', stakes),
    sizes: 'live',
    isWritten: true,
  },
  ended: {
    ...grows,
    // This is updated if a late update ends a contract earlier than stored.
    writer: { insert: true, update: 'ended_offset, ended_by, ended_at, ended_node_id, class, unhosted_since' },
    redactor: { delete: true },
    limited: ({ among, stakes }) => among('contract_parties', stakes),
    sizes: 'ended',
    isWritten: true,
  },
  // Not every stakeholder of a contract is notified of every choice on it: observers do not receive non-consuming
  // choices.
  exercises: {
    ...grows,
    redactor: { update: 'argument, result, redaction_id', delete: true },
    limited: ({ among, takesPart }) => among('event_parties', takesPart),
    sizes: 'exercises',
    isWritten: true,
    goesBack: true,
  },
  archives: {
    ...grows,
    redactor: { delete: true },
    limited: ({ among, witnessed }) => among('event_parties', witnessed),
    sizes: 'exercises',
    isWritten: true,
    goesBack: true,
  },
  reassignments: {
    ...grows,
    redactor: { update: 'created_event', delete: true },
    limited: ({ among, witnessed }) => among('event_parties', witnessed),
    sizes: 'reassignments',
    isWritten: true,
    goesBack: true,
  },
  topology_events: {
    ...grows,
    redactor: { delete: true },
    limited: ({ mine }) => `party_id = any (${mine})`,
    sizes: 'topology',
    isWritten: true,
    goesBack: true,
  },
  // Its rows contain complete updates.
  quarantine: {
    nodes: 'everywhere',
    writer: { insert: true, update: 'attempts, attempted_at' },
    redactor: { delete: true },
    limited: 'none',
    goesBack: true,
    carried: 'in part',
  },
  // A reader may read the completions of its own acting parties, as on the ledger.
  completions: {
    ...grows,
    redactor: { update: 'status_message, redaction_id', delete: true },
    limited: ({ mine }) =>
      `submitters_key in (select s.submitters_key from submitters s where s.party = any (${mine}))`,
    sizes: 'completions',
    goesBack: true,
  },
  updates: {
    ...grows,
    redactor: { delete: true },
    limited: () => ofUpdate.join(' or '),
    sizes: 'updates',
    isWritten: true,
    goesBack: true,
  },
  // Internal data of the writer: offsets, epochs and hours.
  batches: {
    nodes: 'everywhere',
    writer: { insert: true },
    redactor: { delete: true },
    limited: 'all',
    sizes: 'updates',
    isWritten: true,
  },
} as const satisfies Readonly<Record<string, TableEntry>>;

const ofUpdate = ['exercises', 'archives', 'reassignments', 'topology_events', 'contracts'].map(
  (table) => `exists (select from ${table} e where e."offset" = updates."offset")`,
);
