/**
 * The views of schema typed as tables for other programs. The table of a template has all contracts of the template.
 * Their later state is in `contract_ends`. Choices have tables too. Interfaces have no tables, because their typed
 * views return only the contracts that are active now. Their rows are in `interface_views`.
 */
import { escapeIdentifier, type ClientBase } from 'pg';
import { freeName } from '../../daml/identifiers.ts';
import { historySuffix } from '../../daml/view-names.ts';
import { tablesOf } from '../connection/query-builder.ts';
import { readSchemas } from '../connection/read-schemas.ts';
import { withinRange, type StoredTable } from './stored-tables.ts';

/** Columns with the current state of a contract. All other columns never change. */
const changingColumns = ['status', 'is_active', 'archived_at_offset', 'archived_at'] as const;

interface Field {
  readonly name: string;
  readonly type: string;
  readonly description: string;
}

/** The typed views that exist and whose names (`typed.NAME`) `isRequested` accepts. */
export async function typedTables(
  client: ClientBase,
  schema: string,
  isRequested: (name: string) => boolean,
): Promise<readonly StoredTable[]> {
  const { typed: typedSchema } = readSchemas(schema);
  const views = await tablesOf(client)
    .selectFrom('typed_views')
    .select(['view_name', 'kind'])
    .orderBy('view_name')
    .execute();
  const tables: StoredTable[] = [];
  for (const { view_name: view, kind } of views) {
    if (kind === 'interface' || !isRequested(`typed.${view}`)) continue;
    const name = kind === 'template' ? `${view}${historySuffix}` : view;
    const columns = await columnsOf(client, typedSchema, name);
    if (columns.length > 0)
      tables.push(
        tableOf(
          `typed.${view}`,
          `${escapeIdentifier(typedSchema)}.${escapeIdentifier(name)}`,
          kind,
          columns,
          await fieldsOf(client, view),
        ),
      );
  }
  return tables;
}

function tableOf(
  name: string,
  view: string,
  kind: string,
  columns: readonly string[],
  fields: readonly Field[],
): StoredTable {
  const usedNames = new Set(fields.map((field) => field.name));
  const ownName = (column: string): string => freeName(column, usedNames);
  const offset = ownName(kind === 'template' ? 'created_at_offset' : 'exercised_at_offset');
  const omittedColumns = new Set<string>(kind === 'template' ? changingColumns.map(ownName) : []);
  const scales = numericScales(fields);
  const list = columns.filter((column) => !omittedColumns.has(column)).map((column) => `v.${escapeIdentifier(column)}`);
  return {
    name,
    offset,
    order: [offset, ownName('node_id')],
    redacted: {
      rows: kind === 'template' ? 'contracts' : 'exercises',
      contents: [
        ...usedNames,
        ...(kind === 'template' ? ['payload', 'contract_key'] : ['argument', 'result']).map(ownName),
      ],
      contractId: ownName('contract_id'),
    },
    namesPackages: true,
    scales,
    sql: `select ${list.join(', ')} from ${view} v where ${withinRange(`v.${escapeIdentifier(offset)}`)}`,
  };
}

async function columnsOf(client: ClientBase, schema: string, view: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select a.attname::text as name from pg_attribute a join pg_class c on c.oid = a.attrelid
       join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = $2 and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    [schema, view],
  );
  return rows.map(({ name }) => name);
}

async function fieldsOf(client: ClientBase, view: string): Promise<readonly Field[]> {
  return await tablesOf(client)
    .selectFrom('typed_columns')
    .select(['column_name as name', 'type', 'description'])
    .where('view_name', '=', view)
    .execute();
}

/** The number of digits is part of the Daml type. If it is a type parameter, the column is a text. */
function numericScales(fields: readonly Field[]): ReadonlyMap<string, number> {
  return new Map(
    fields.flatMap(({ name, type, description }) => {
      const scale = /: (?:Optional \(?)*Numeric (\d+)\)*$/.exec(description)?.[1];
      return type === 'numeric' && scale !== undefined ? [[name, Number(scale)] as const] : [];
    }),
  );
}
