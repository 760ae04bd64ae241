/** Types of view columns: the type that node-postgres returns by default, and null if a value can be missing. Pure. */
import type { DamlType, PackageModel, RelationColumn, RelationSubject, StoredRelation } from 'ledger-indexer/codegen';
import { literalText } from './identifiers.ts';
import type { KnownTypes } from './known-types.ts';
import { canBeNull } from './never-null.ts';
import type { PayloadTypes } from './payload-types.ts';
import { templateName, type LedgerTypes } from './ledger-types.ts';

/** TypeScript types by the names that Postgres gives its types. Array types are not listed here. */
const postgresTypes: Readonly<Record<string, string>> = {
  boolean: 'boolean',
  smallint: 'number',
  integer: 'number',
  'double precision': 'number',
  real: 'number',
  'timestamp with time zone': 'Date',
  'timestamp without time zone': 'Date',
  date: 'Date',
  interval: 'Interval',
  json: 'daml.Json',
  jsonb: 'daml.Json',
  bytea: 'Uint8Array',
};

/**
 * TypeScript types of array elements. The driver parses these element types, returns elements of all other types as
 * text, and rounds elements of type numeric.
 */
const elementTexts: Readonly<Record<string, string>> = { ...postgresTypes, numeric: 'number' };

/**
 * The TypeScript type of a Postgres type. Types for which the driver has no parser are text, such as int8 and numeric,
 * which would lose digits as a number.
 */
export function driverText(type: string): string {
  if (!type.endsWith('[]')) return postgresTypes[type] ?? 'string';
  return `${elementTexts[type.slice(0, -2)] ?? 'string'}[]`;
}

/** Information about one database that the column types depend on. */
export interface ColumnContext {
  readonly known: KnownTypes;
  readonly types: PayloadTypes;
  readonly ledger: LedgerTypes;
  /** Whether contents may have been redacted. */
  readonly redacted: boolean;
}

export function columnText(relation: StoredRelation, column: RelationColumn, context: ColumnContext): string {
  const { subject, role, name } = relation;
  if (subject === undefined) {
    return withNull(driverText(column.type), canBeNull(`${role}.${name}`, column.name, context.redacted));
  }
  if (Object.hasOwn(subject.fields, column.name)) return fieldText(subject, column, context);
  const nullable = canBeNull(subject.kind, column.name, context.redacted);
  return withNull(contentType(subject, column, context.ledger) ?? driverText(column.type), nullable);
}

/** Type of a column that holds the complete payload, key, argument, result or view. */
function contentType(
  subject: RelationSubject,
  { name, type }: RelationColumn,
  ledger: LedgerTypes,
): string | undefined {
  if (type !== 'jsonb') return undefined;
  const reference = ledger.findTypeReference(subject);
  const fieldKey = { payload: 'payload', contract_key: 'key', view: 'view', argument: 'argument', result: 'result' }[
    name
  ];
  return reference === undefined || fieldKey === undefined ? undefined : `${reference}[${literalText(fieldKey)}]`;
}

function fieldText(subject: RelationSubject, column: RelationColumn, context: ColumnContext): string {
  const { known: knownTypes, redacted } = context;
  const field = subject.fields[column.name];
  if (field === undefined) return withNull(driverText(column.type), true);
  const versions = knownTypes.versionsOf(subject.packageName).flatMap((model) => rootOf(subject, model) ?? []);
  const resolvedFields = versions.map((root) => follow(root, field.path, context));
  const texts = new Set(resolvedFields.flatMap((resolvedField) => resolvedField?.text(field.type) ?? []));
  const isAlways =
    resolvedFields.length > 0 &&
    resolvedFields.every((resolvedField) => resolvedField?.isAlways === true) &&
    !subject.isUnread &&
    !isShared(subject, column.name);
  const text = texts.size === 0 ? driverText(column.type) : [...texts].sort().join(' | ');
  return withNull(text, !isAlways || redacted || subject.kind === 'interface');
}

/**
 * Whether another column is created from the same field, or from a field within it. Then each column has values only
 * for its own versions.
 */
function isShared(subject: RelationSubject, name: string): boolean {
  const ownField = subject.fields[name];
  if (ownField === undefined || ownField.type === 'text' || ownField.type === 'jsonb') return false;
  const start = ownField.path.join('\0');
  const nestedFields = Object.entries(subject.fields).filter(([other, { path }]) => {
    const text = path.join('\0');
    return other !== name && (text === start || text.startsWith(`${start}\0`));
  });
  return nestedFields.length > 0;
}

/** The data type whose fields become the columns of a subject. */
function rootOf({ kind, moduleName, entityName, choice }: RelationSubject, model: PackageModel): DamlType | undefined {
  const isNamed = (entity: { readonly moduleName: string; readonly entityName: string }): boolean =>
    entity.moduleName === moduleName && entity.entityName === entityName;
  const template = model.templates.find(isNamed);
  const interfaceModel = model.interfaces.find(isNamed);
  if (kind === 'interface') return interfaceModel?.view;
  if (kind === 'choice') return (template ?? interfaceModel)?.choices.find(({ name }) => name === choice)?.argument;
  if (template === undefined) return undefined;
  return { kind: 'named', name: `${model.packageId}:${templateName({ moduleName, entityName })}`, arguments: [] };
}

interface ResolvedField {
  /** Whether the value is always present. */
  readonly isAlways: boolean;
  /** TypeScript type of a column with this Postgres type; undefined for the type that the driver returns. */
  text(type: string): string | undefined;
}

/** Follows a path from a type to the type at its end; undefined if the path does not exist. */
function follow(
  root: DamlType,
  path: readonly string[],
  { known: knownTypes, types }: ColumnContext,
): ResolvedField | undefined {
  const { bindParameters, fieldType, findDataType } = knownTypes.functions;
  let type = root;
  let isAlways = true;
  for (const [index, key] of path.entries()) {
    if (type.kind !== 'named') return undefined;
    const definition = findDataType(type.name, knownTypes.lookup);
    const isLast = index === path.length - 1;
    if (definition?.kind === 'variant' && isLast && key === 'tag') {
      const tags = definition.cases.map(({ name }) => literalText(name)).join(' | ');
      return { isAlways, text: () => (tags === '' ? undefined : tags) };
    }
    const field = definition?.kind === 'record' ? definition.fields.find(({ name }) => name === key) : undefined;
    if (field === undefined || definition?.kind !== 'record') return undefined;
    type = fieldType(field.type, bindParameters(definition.parameters, type.arguments));
    if (type.kind === 'optional' && type.of.kind !== 'optional') {
      isAlways = false;
      type = type.of;
    }
  }
  return { isAlways, text: (column) => (column === 'jsonb' || column === 'text' ? types.text(type) : undefined) };
}

function withNull(text: string, nullable: boolean): string {
  return nullable && text !== 'unknown' ? `${text} | null` : text;
}
