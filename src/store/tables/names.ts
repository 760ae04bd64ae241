/** Dictionaries that assign numbers to names, and tables of packages and their typed views. */
import type { TableEntry } from './entry.ts';

/** The entry of tables without data of a single party. */
const forAll = { nodes: 'everywhere', writer: { insert: true }, limited: 'all' } as const;

export const nameTables = {
  contract_parties: {
    ...forAll,
    limited: ({ stakes }) => stakes,
    sizes: 'parties',
    isWritten: true,
  },
  event_parties: {
    ...forAll,
    limited: ({ takesPart }) => takesPart,
    sizes: 'parties',
    isWritten: true,
  },
  submitters: {
    ...forAll,
    limited: ({ mine }) => `party = any (${mine})`,
    sizes: 'completions',
  },
  synchronizers: forAll,
  templates: { ...forAll, writer: { insert: true, update: 'package_name' } },
  choices: forAll,
  template_interfaces: forAll,
  packages: { ...forAll, survivesReset: true },
  omitted_fields: { ...forAll, writer: { insert: true, update: 'fields' } },
  typed_views: { survivesReset: true, nodes: 'coordinator', limited: 'all', carried: 'wholly' },
  typed_columns: { survivesReset: true, nodes: 'coordinator', limited: 'all', carried: 'wholly' },
} as const satisfies Readonly<Record<string, TableEntry>>;
