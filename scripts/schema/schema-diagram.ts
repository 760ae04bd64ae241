/** The history tables as a Mermaid entity relationship diagram, which pages and editors can render. */
import type { Table } from './schema-tables.ts';

/** Columns that refer to a row of another table. There are no foreign keys: the writer guarantees the references. */
const references: Readonly<Record<string, string>> = {
  template_pk: 'templates',
  interface_pk: 'templates',
  choice_pk: 'choices',
  synchronizer_pk: 'synchronizers',
  source_pk: 'synchronizers',
  target_pk: 'synchronizers',
  package_id: 'packages',
  view_name: 'typed_views',
  offset: 'updates',
  batch_offset: 'batches',
  ended_offset: 'updates',
  unhosted_since: 'updates',
  contract_id: 'contracts',
};
/** Tables whose "offset" is that of an activation. */
const activationTables = new Set(['interface_views', 'live', 'ended']);
/** Tables that refer to party sets of contracts; all others refer to party sets of events. */
const contractTables = new Set(['contracts', 'live', 'ended']);
/**
 * References that are drawn as lines. Lines for other references would cross the diagram and add nothing to the column
 * names.
 */
const indexedColumns = new Set(['offset', 'batch_offset', 'parties_pk']);

/** Tables of the history, in groups: with all tables next to each other, the diagram would be too wide to read. */
const historyTables = [
  'batches',
  'updates',
  'contract_parties',
  'contracts',
  'live',
  'ended',
  'interface_views',
  'event_parties',
  'exercises',
  'archives',
  'reassignments',
  'topology_events',
];

function diagram(allTables: readonly Table[]): string {
  const tables = historyTables.flatMap((name) => allTables.filter((table) => table.name === name));
  const lines = tables.flatMap((table) =>
    table.columns.flatMap(({ name }) => {
      const to = referenceOf(table.name, name);
      const isManyToOne = name === 'parties_pk' && activationTables.has(table.name);
      return to !== undefined && indexedColumns.has(name) && !isManyToOne
        ? [`  ${table.name} }o--|| ${to} : "${name}"`]
        : [];
    }),
  );
  return ['erDiagram', '  direction LR', ...lines, ...tables.map(renderTableBox)].join('\n');
}

function renderTableBox({ name: table, columns }: Table): string {
  const rows = columns.map(({ name, type, key }) => {
    const to = referenceOf(table, name);
    return `    ${type.replaceAll(' ', '_').replaceAll('"', '')} ${name}${key ? ' PK' : ''}${to === undefined ? '' : ` "→ ${to}"`}`;
  });
  return [`  ${table} {`, ...rows, '  }'].join('\n');
}

function referenceOf(table: string, column: string): string | undefined {
  const to = targetOf(table, column);
  return to === table ? undefined : to;
}

function targetOf(table: string, column: string): string | undefined {
  if (column === 'parties_pk' && !table.endsWith('_parties')) {
    return contractTables.has(table) ? 'contract_parties' : 'event_parties';
  }
  return column === 'offset' && activationTables.has(table) ? 'contracts' : references[column];
}

const beginMarker = '<!-- tables -->';
const end = '<!-- /tables -->';

/** The page with the diagram between its marks. @throws RangeError for a page that has no marks */
export function withDiagram(page: string, tables: readonly Table[]): string {
  const [from, to] = [page.indexOf(beginMarker), page.indexOf(end)];
  if (from < 0 || to < from) throw new RangeError(`expected ${beginMarker} and ${end} in the page`);
  return `${page.slice(0, from + beginMarker.length)}\n\n\`\`\`mermaid\n${diagram(tables)}\n\`\`\`\n\n${page.slice(to)}`;
}
