/**
 * Compiles filters to conditions of SQL. Names of columns come from {@link FilterFields}; paths and values are
 * parameters. A value that does not have the form of its type does not match; it is not an error.
 */
import { escapeIdentifier } from 'pg';
import type { Condition, FieldPath, Filter, Literal } from './filter.ts';
import type { DocumentKind } from './document-types.ts';
import { findField, type ColumnKind, type FilterField, type FilterFields } from './fields.ts';
import { filterError } from './tokens.ts';

/** A condition of SQL, and the values of its parameters. */
export interface CompiledFilter {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Where the condition is used. */
export interface FilterPlace {
  /** Alias of the relation in the statement. */
  readonly alias: string;
  /** Number of parameters of the statement before those of the filter. */
  readonly parametersBefore: number;
}

/**
 * Compiles a filter. Plan the statement with the values of its parameters (`plan_cache_mode = force_custom_plan`), so
 * that indexes on fields of the payload are used.
 * @throws IndexerError FIELD_UNKNOWN; FILTER_INVALID if a field cannot be compared in this way
 */
export function compileFilter(filter: Filter, fields: FilterFields, place: FilterPlace): CompiledFilter {
  const compiler = new FilterCompiler(fields, place);
  const text = compiler.condition(filter);
  return { text, values: compiler.values };
}

/** A value to order rows by, as SQL of this type. It is null if the field is missing or has another form. */
export interface CompiledOrder extends CompiledFilter {
  readonly type: string;
}

/** Compiles a field to order rows by. A field of an unknown type is ordered as a text. @throws as `compileFilter` */
export function compileOrder(field: FieldPath, fields: FilterFields, place: FilterPlace): CompiledOrder {
  const compiler = new FilterCompiler(fields, place);
  const { text, kind } = compiler.order(field);
  return { text, type: sqlTypes[kind], values: compiler.values };
}

/** The kind as which the values of a field are compared. */
type ComparedKind = 'text' | 'integer' | 'number' | 'boolean' | 'time' | 'date';

const sqlTypes: Readonly<Record<ComparedKind, string>> = {
  text: 'text',
  integer: 'bigint',
  number: 'numeric',
  boolean: 'boolean',
  time: 'timestamptz',
  date: 'text',
};

const expectedValues: Readonly<Record<ComparedKind, string>> = {
  text: "a text in single quotes, such as 'abc'",
  integer: 'an integer between -2^63 and 2^63 - 1',
  number: 'a number with at most 38 digits, such as 10.5',
  boolean: 'true or false',
  time: "a time in UTC, such as '2026-01-31T12:00:00Z'",
  date: "a date, such as '2026-01-31'",
};

class FilterCompiler {
  readonly #fields: FilterFields;
  readonly #place: FilterPlace;
  readonly values: unknown[] = [];

  constructor(fields: FilterFields, place: FilterPlace) {
    this.#fields = fields;
    this.#place = place;
  }

  condition(filter: Filter): string {
    switch (filter.kind) {
      case 'and':
      case 'or':
        return `(${filter.parts.map((part) => this.condition(part)).join(` ${filter.kind} `)})`;
      case 'not':
        // A comparison with null is null in SQL, and false in a filter.
        return `(${this.condition(filter.part)} is not true)`;
      case 'compare':
      case 'in':
      case 'has':
      case 'null':
      default:
        return `(${this.#single(filter)})`;
    }
  }

  order(path: FieldPath): { readonly text: string; readonly kind: ComparedKind } {
    const field = findField(this.#fields, path);
    if (field.kind === 'texts' || field.kind === 'object') {
      throw filterError(
        `rows cannot be ordered by ${path.steps.join('.')}, which has fields or is a list`,
        path.position,
      );
    }
    const kind = field.kind === 'any' ? 'text' : field.kind;
    const value = this.#value(field, kind);
    return { text: kind === 'text' || kind === 'date' ? `(${value} collate "C")` : value, kind };
  }

  #single(condition: Condition): string {
    const field = findField(this.#fields, condition.field);
    if (condition.kind === 'null') return `${this.#text(field)} is ${condition.isNull ? '' : 'not '}null`;
    if (condition.kind === 'has') return this.#has(field, condition);
    const literals = condition.kind === 'in' ? condition.literals : [condition.literal];
    const kinds = new Set(literals.map((literal) => comparedKind(field.kind, literal, condition)));
    const [kind] = kinds;
    if (kind === undefined || kinds.size > 1) throw mixedError(condition);
    const texts = literals.map((literal) => valueText(kind, literal, condition));
    const value = this.#value(field, kind);
    if (condition.kind === 'in') return `${value} = any (${this.#parameter(texts, `${sqlTypes[kind]}[]`)})`;
    const { operator } = condition;
    const isOrdered = operator !== '=' && operator !== '!=';
    if (isOrdered && kind === 'boolean') throw fieldError(condition, 'is true or false: compare it with = or !=');
    // The order of texts does not depend on the locale of the database.
    const collated = isOrdered && (kind === 'text' || kind === 'date') ? `${value} collate "C"` : value;
    return `${collated} ${operator === '!=' ? '<>' : operator} ${this.#parameter(texts[0], sqlTypes[kind])}`;
  }

  #has(field: FilterField, condition: Extract<Condition, { kind: 'has' }>): string {
    const { literal } = condition;
    if (field.kind !== 'texts' && field.kind !== 'any') throw fieldError(condition, 'is not a list of texts');
    if (literal.kind !== 'text') throw fieldError(condition, `is compared with ${expectedValues.text}`);
    const value = this.#parameter(literal.value, 'text');
    if (field.path === undefined) return `${value} = any (${this.#column(field)})`;
    const list = `(${this.#column(field)} #> ${this.#parameter(field.path, 'text[]')})`;
    return `jsonb_typeof(${list}) = 'array' and ${list} @> to_jsonb(${value})`;
  }

  /** The value, cast if the text has the form of the type. */
  #value(field: FilterField, kind: ComparedKind): string {
    const text = this.#text(field);
    if (field.path === undefined || kind === 'text' || kind === 'date') return text;
    const [form, type] = forms[kind];
    return `(case when ${text} ~ '${form}' then (${text})::${type} end)`;
  }

  #text(field: FilterField): string {
    if (field.path === undefined || field.path.length === 0) return this.#column(field);
    const [step] = field.path;
    // For an expression in one of these forms, Postgres uses the indexes of `index create`.
    return field.path.length === 1
      ? `(${this.#column(field)} ->> ${this.#parameter(step, 'text')})`
      : `(${this.#column(field)} #>> ${this.#parameter(field.path, 'text[]')})`;
  }

  #column({ column }: FilterField): string {
    return `${this.#place.alias}.${escapeIdentifier(column)}`;
  }

  #parameter(value: unknown, type: string): string {
    this.values.push(value);
    return `$${String(this.#place.parametersBefore + this.values.length)}::${type}`;
  }
}

/** The form of a text that can be cast, and the type. A field of an unknown type may have any text. */
const forms: Readonly<Record<Exclude<ComparedKind, 'text' | 'date'>, readonly [form: string, type: string]>> = {
  integer: [String.raw`^-?[0-9]{1,18}$`, 'bigint'],
  number: [String.raw`^-?[0-9]{1,40}(\.[0-9]{1,40})?$`, 'numeric'],
  boolean: ['^(true|false)$', 'boolean'],
  time: [
    String.raw`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?Z$`,
    'timestamptz',
  ],
};

/** The kind as which a field is compared. The value determines it if the type of the field is not known. */
function comparedKind(kind: ColumnKind | DocumentKind, literal: Literal, condition: Condition): ComparedKind {
  if (kind === 'any') return literal.kind;
  if (kind === 'texts') throw fieldError(condition, "is a list: write has 'abc'");
  if (kind === 'object') throw fieldError(condition, 'has fields or is a list: name a field of it, or test is null');
  return kind;
}

/** The text of a value as Postgres reads it. @throws IndexerError FILTER_INVALID if the value has another kind */
function valueText(kind: ComparedKind, literal: Literal, condition: Condition): string {
  const text = String(literal.value);
  if (isOfKind(kind, literal, text)) return text;
  throw fieldError(condition, `is compared with ${expectedValues[kind]}`);
}

function isOfKind(kind: ComparedKind, literal: Literal, text: string): boolean {
  switch (kind) {
    case 'boolean':
      return literal.kind === 'boolean';
    case 'text':
      return literal.kind === 'text';
    case 'number':
      return literal.kind !== 'boolean' && /^-?\d{1,38}(?:\.\d{1,38})?$/.test(text);
    case 'integer':
      return (
        literal.kind !== 'boolean' && /^-?\d{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)
      );
    case 'time':
      return literal.kind === 'text' && isTime(text);
    case 'date':
    default:
      return literal.kind === 'text' && isDate(text);
  }
}

function isTime(text: string): boolean {
  const [, date = ''] = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z$/.exec(text) ?? [];
  return isDate(date);
}

/** Whether the date exists: JavaScript would read February 30 as March 2. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text < '0001') return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function mixedError(condition: Condition): Error {
  return fieldError(condition, 'is compared with values of several kinds');
}

function fieldError({ field }: Condition, problem: string): Error {
  return filterError(`field ${field.steps.join('.')} ${problem}`, field.position);
}
