/** Dictionaries that assign numbers to names, and tables of packages and their typed views. */
import type { TableEntry } from './entry.ts';

/** The entry of tables without data of a single party. */
const readableByAll = { nodes: 'everywhere', writer: { insert: true }, limited: 'all' } as const;

export const dictionaryTables = {
  contract_parties: {
    ...readableByAll,
    limited: ({ stakes: stakeholderSql }) => stakeholderSql,
    sizes: 'parties',
    isWritten: true,
  },
  event_parties: {
    ...readableByAll,
    limited: ({ takesPart: involvedSql }) => involvedSql,
    sizes: 'parties',
    isWritten: true,
  },
  submitters: {
    ...readableByAll,
    limited: ({ mine: partyArray }) => `party = any (${partyArray})`,
    sizes: 'completions',
  },
  synchronizers: readableByAll,
  templates: { ...readableByAll, writer: { insert: true, update: 'package_name' } },
  choices: readableByAll,
  template_interfaces: readableByAll,
  packages: { ...readableByAll, survivesReset: true },
  omitted_fields: { ...readableByAll, writer: { insert: true, update: 'fields' } },
  typed_views: { survivesReset: true, nodes: 'coordinator', limited: 'all', carried: 'wholly' },
  typed_columns: { survivesReset: true, nodes: 'coordinator', limited: 'all', carried: 'wholly' },
} as const satisfies Readonly<Record<string, TableEntry>>;
