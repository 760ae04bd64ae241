/** Tables that grow with the history: data of the ledger at an offset. */
import type { TableEntry } from './entry.ts';

const appendOnly = { nodes: 'by offset', writer: { insert: true } } as const;

/** In the order in which a reset deletes their rows. */
export const historyTables = {
  interface_views: {
    ...appendOnly,
    redactor: { update: 'view, status_message, status_details, redaction_id', delete: true },
    limited: () => `exists (select from contracts c
      where c."offset" = interface_views."offset" and c.node_id = interface_views.node_id)`,
    sizes: 'interface_views',
    isWritten: true,
    goesBack: true,
  },
  contracts: {
    ...appendOnly,
    redactor: { update: 'payload, contract_key, created_event_blob, redaction_id', delete: true },
    limited: ({ among: inPartySetSql, stakes: stakeholderSql }) => inPartySetSql('contract_parties', stakeholderSql),
    sizes: 'contracts',
    isWritten: true,
    goesBack: true,
  },
  // When a contract ends, its row is moved to table `ended`.
  live: {
    ...appendOnly,
    writer: { insert: true, update: 'unhosted_since', delete: true },
    limited: ({ among: inPartySetSql, stakes: stakeholderSql }) => inPartySetSql('contract_parties', stakeholderSql),
    sizes: 'live',
    isWritten: true,
  },
  ended: {
    ...appendOnly,
    // This is updated if a late update ends a contract earlier than stored.
    writer: { insert: true, update: 'ended_offset, ended_by, ended_at, ended_node_id, class, unhosted_since' },
    redactor: { delete: true },
    limited: ({ among: inPartySetSql, stakes: stakeholderSql }) => inPartySetSql('contract_parties', stakeholderSql),
    sizes: 'ended',
    isWritten: true,
  },
  // Not every stakeholder of a contract is notified of every choice on it: observers do not receive non-consuming
  // choices.
  exercises: {
    ...appendOnly,
    redactor: { update: 'argument, result, redaction_id', delete: true },
    limited: ({ among: inPartySetSql, takesPart: involvedSql }) => inPartySetSql('event_parties', involvedSql),
    sizes: 'exercises',
    isWritten: true,
    goesBack: true,
  },
  archives: {
    ...appendOnly,
    redactor: { delete: true },
    limited: ({ among: inPartySetSql, witnessed: witnessSql }) => inPartySetSql('event_parties', witnessSql),
    sizes: 'exercises',
    isWritten: true,
    goesBack: true,
  },
  reassignments: {
    ...appendOnly,
    redactor: { update: 'created_event', delete: true },
    limited: ({ among: inPartySetSql, witnessed: witnessSql }) => inPartySetSql('event_parties', witnessSql),
    sizes: 'reassignments',
    isWritten: true,
    goesBack: true,
  },
  topology_events: {
    ...appendOnly,
    redactor: { delete: true },
    limited: ({ mine: partyArray }) => `party_id = any (${partyArray})`,
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
    ...appendOnly,
    redactor: { update: 'status_message, redaction_id', delete: true },
    limited: ({ mine: partyArray }) =>
      `submitters_key in (select s.submitters_key from submitters s where s.party = any (${partyArray}))`,
    sizes: 'completions',
    goesBack: true,
  },
  updates: {
    ...appendOnly,
    redactor: { delete: true },
    limited: () => updateEventConditions.join(' or '),
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

const updateEventConditions = ['exercises', 'archives', 'reassignments', 'topology_events', 'contracts'].map(
  (table) => `exists (select from ${table} e where e."offset" = updates."offset")`,
);
