/**
 * Random filters with a second evaluation in JavaScript. It shares no code with the parser and the compiler: it works on
 * the generated tree, from which the text of the filter is also printed.
 */
import * as fc from 'fast-check';
import type { DamlField, DamlType, PackageModel } from '../../../src/daml/package-model.ts';

const packageId = 'ab'.repeat(32);
const builtin = (name: 'int64' | 'text' | 'bool' | 'timestamp' | 'date'): DamlType => ({ kind: 'builtin', name });
const optional = (of: DamlType): DamlType => ({ kind: 'optional', of });
const named = (name: string): DamlType => ({ kind: 'named', name: `${packageId}:M:${name}`, arguments: [] });

const innerFields: readonly DamlField[] = [
  { name: 'label', type: optional(builtin('text')) },
  { name: 'count', type: builtin('int64') },
];

/** The type of the generated documents. */
export const documentType = named('Doc');
export const documentPackage: PackageModel = {
  packageId,
  name: 'made-up',
  version: '1.0.0',
  languageVersion: '2.1',
  templates: [],
  interfaces: [],
  dependencies: [],
  dataTypes: {
    'M:Doc': {
      kind: 'record',
      parameters: [],
      fields: [
        { name: 'owner', type: builtin('text') },
        { name: 'amount', type: { kind: 'numeric', scale: 10 } },
        { name: 'limit', type: optional({ kind: 'numeric', scale: 10 }) },
        { name: 'day', type: builtin('date') },
        { name: 'at', type: optional(builtin('timestamp')) },
        { name: 'open', type: builtin('bool') },
        { name: 'tags', type: { kind: 'list', of: builtin('text') } },
        { name: 'inner', type: optional(named('Inner')) },
        { name: 'notes', type: { kind: 'textmap', of: builtin('text') } },
        { name: 'shape', type: named('Shape') },
        { name: 'color', type: named('Color') },
      ],
    },
    'M:Inner': { kind: 'record', parameters: [], fields: innerFields },
    'M:Shape': {
      kind: 'variant',
      parameters: [],
      cases: [
        { name: 'Circle', type: { kind: 'numeric', scale: 10 } },
        { name: 'Named', type: named('Inner') },
      ],
    },
    'M:Color': { kind: 'enum', cases: ['Red', 'Green'] },
  },
};

const texts = ["it's", 'a "b"', 'abc', 'ABC', 'Ä', '', '10', "'; drop table rows; --", String.raw`back\slash $1 %_`];
const decimals = ['0', '0.0000000000', '10', '9.5', '10.0000000000', '-3.25', '99999999999999999999999999.5', '2'];
const days = ['2024-02-29', '2025-01-01', '1999-12-31'];
const times = [
  '2024-02-29T10:00:00Z',
  '2024-02-29T10:00:00.5Z',
  '2024-02-29T10:00:00.500Z',
  '2025-01-01T00:00:00.000001Z',
];

const textArb = fc.constantFrom(...texts);
const decimalArb = fc.constantFrom(...decimals);
const integerArb = fc.constantFrom(
  '0',
  '2',
  '-7',
  '10',
  '9007199254740993',
  '9223372036854775807',
  '-9223372036854775808',
);
const innerArb = fc.record({ label: fc.option(textArb), count: integerArb });

/** One row: typed columns, and a document as the ledger writes it. */
export interface Row {
  readonly name: string | null;
  readonly place: bigint | null;
  readonly amount: string | null;
  readonly at: string | null;
  readonly is_open: boolean | null;
  readonly parties: readonly string[] | null;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** The ledger omits optional fields at the end of a record that are None, and writes other ones as null. */
const documentArb = fc.record({
  owner: textArb,
  amount: decimalArb,
  limit: fc.option(decimalArb, { nil: undefined }),
  day: fc.constantFrom(...days),
  at: fc.option(fc.constantFrom(...times)),
  open: fc.boolean(),
  tags: fc.array(textArb, { maxLength: 3 }),
  inner: fc.option(innerArb),
  notes: fc.dictionary(fc.constantFrom('a/b', 'c'), textArb),
  shape: fc.oneof(
    fc.record({ tag: fc.constant('Circle'), value: decimalArb }),
    fc.record({ tag: fc.constant('Named'), value: innerArb }),
  ),
  color: fc.constantFrom('Red', 'Green'),
});

export const rowArb: fc.Arbitrary<Row> = fc.record({
  name: fc.option(textArb),
  place: fc.option(fc.constantFrom(0n, 2n, -5n, 9007199254740993n)),
  amount: fc.option(decimalArb),
  at: fc.option(fc.constantFrom(...times)),
  is_open: fc.option(fc.boolean()),
  parties: fc.option(fc.array(textArb, { maxLength: 3 })),
  payload: documentArb,
});

type Kind = 'text' | 'number' | 'integer' | 'boolean' | 'date' | 'time' | 'texts';

interface Field {
  readonly text: string;
  readonly kind: Kind;
  readonly read: (row: Row) => unknown;
}

const inside = (row: Row, ...keys: readonly string[]): unknown =>
  keys.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined,
    row.payload,
  );

const fields: readonly Field[] = [
  { text: 'name', kind: 'text', read: (row) => row.name },
  { text: '"place"', kind: 'integer', read: (row) => row.place },
  { text: 'amount', kind: 'number', read: (row) => row.amount },
  { text: 'at', kind: 'time', read: (row) => row.at },
  { text: 'is_open', kind: 'boolean', read: (row) => row.is_open },
  { text: 'parties', kind: 'texts', read: (row) => row.parties },
  { text: 'payload.owner', kind: 'text', read: (row) => inside(row, 'owner') },
  { text: 'payload.amount', kind: 'number', read: (row) => inside(row, 'amount') },
  { text: 'payload."limit"', kind: 'number', read: (row) => inside(row, 'limit') },
  { text: 'payload.day', kind: 'date', read: (row) => inside(row, 'day') },
  { text: 'payload.at', kind: 'time', read: (row) => inside(row, 'at') },
  { text: 'payload.open', kind: 'boolean', read: (row) => inside(row, 'open') },
  { text: 'payload.tags', kind: 'texts', read: (row) => inside(row, 'tags') },
  { text: 'payload.inner.label', kind: 'text', read: (row) => inside(row, 'inner', 'label') },
  { text: 'payload.inner.count', kind: 'number', read: (row) => inside(row, 'inner', 'count') },
  { text: 'payload.notes."a/b"', kind: 'text', read: (row) => inside(row, 'notes', 'a/b') },
  { text: 'payload.shape.tag', kind: 'text', read: (row) => inside(row, 'shape', 'tag') },
  { text: 'payload.shape.value.count', kind: 'number', read: (row) => inside(row, 'shape', 'value', 'count') },
  { text: 'payload.color', kind: 'text', read: (row) => inside(row, 'color') },
];

/** A filter: its text, and its own evaluation. */
export interface ModelFilter {
  readonly text: string;
  readonly matches: (row: Row) => boolean;
}

const quoted = (value: string): string => `'${value.replaceAll("'", "''")}'`;

const literalArbs: Readonly<Record<Exclude<Kind, 'texts'>, fc.Arbitrary<{ text: string; value: unknown }>>> = {
  text: textArb.map((value) => ({ text: quoted(value), value })),
  number: fc.tuple(decimalArb, fc.boolean()).map(([value, isQuoted]) => ({
    text: isQuoted ? quoted(value) : value,
    value,
  })),
  integer: fc
    .constantFrom('0', '2', '-5', '9007199254740993', '9007199254740992')
    .map((value) => ({ text: value, value })),
  boolean: fc.boolean().map((value) => ({ text: String(value), value })),
  date: fc.constantFrom(...days).map((value) => ({ text: quoted(value), value })),
  time: fc.constantFrom(...times).map((value) => ({ text: quoted(value), value })),
};

/** Compares exactly, in the order of the kind. */
function compare(kind: Kind, left: unknown, right: unknown): number {
  if (kind === 'number' || kind === 'integer') return sign(scaled(String(left)) - scaled(String(right)));
  if (kind === 'time') return sign(micros(String(left)) - micros(String(right)));
  if (typeof left === 'boolean') return Number(left) - Number(right);
  return Buffer.compare(Buffer.from(String(left)), Buffer.from(String(right)));
}

function sign(value: bigint): number {
  if (value === 0n) return 0;
  return value < 0n ? -1 : 1;
}

function scaled(decimal: string): bigint {
  const [integer = '', fraction = ''] = decimal.split('.');
  return BigInt(`${integer}${fraction.padEnd(10, '0')}`);
}

function micros(time: string): bigint {
  const [seconds = '', fraction = ''] = time.slice(0, -1).split('.');
  return BigInt(Date.parse(`${seconds}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}

const holds: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

const isMissing = (value: unknown): boolean => value === null || value === undefined;

function comparisonArb(field: Field & { readonly kind: Exclude<Kind, 'texts'> }): fc.Arbitrary<ModelFilter> {
  const operators = field.kind === 'boolean' ? ['=', '!=', '<>'] : Object.keys(holds);
  return fc.tuple(fc.constantFrom(...operators), literalArbs[field.kind]).map(([operator, { text, value }]) => ({
    text: `${field.text} ${operator} ${text}`,
    matches: (row) => {
      const found = field.read(row);
      return !isMissing(found) && holds[operator]?.(compare(field.kind, found, value)) === true;
    },
  }));
}

function listArb(field: Field & { readonly kind: Exclude<Kind, 'texts'> }): fc.Arbitrary<ModelFilter> {
  return fc.array(literalArbs[field.kind], { minLength: 1, maxLength: 3 }).map((literals) => ({
    text: `${field.text} IN (${literals.map(({ text }) => text).join(', ')})`,
    matches: (row) => {
      const found = field.read(row);
      return !isMissing(found) && literals.some(({ value }) => compare(field.kind, found, value) === 0);
    },
  }));
}

function nullArb(field: Field): fc.Arbitrary<ModelFilter> {
  return fc.boolean().map((isNull) => ({
    text: `${field.text} is ${isNull ? '' : 'not '}null`,
    matches: (row) => isMissing(field.read(row)) === isNull,
  }));
}

function hasArb(field: Field): fc.Arbitrary<ModelFilter> {
  return textArb.map((value) => ({
    text: `${field.text} has ${quoted(value)}`,
    matches: (row) => {
      const found = field.read(row);
      return Array.isArray(found) && found.includes(value);
    },
  }));
}

const conditionArb: fc.Arbitrary<ModelFilter> = fc.constantFrom(...fields).chain((field) => {
  const { kind } = field;
  if (kind === 'texts') return fc.oneof(hasArb(field), nullArb(field));
  return fc.oneof(comparisonArb({ ...field, kind }), listArb({ ...field, kind }), nullArb(field));
});

/** Random filters. Parentheses are written only where the precedence needs them, or at random. */
export const filterArb: fc.Arbitrary<ModelFilter> = fc.letrec<{ filter: ModelFilter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    conditionArb,
    fc.tuple(tie('filter'), tie('filter')).map(([left, right]) => ({
      text: `(${left.text}) and (${right.text})`,
      matches: (row: Row) => left.matches(row) && right.matches(row),
    })),
    fc.tuple(tie('filter'), tie('filter')).map(([left, right]) => ({
      text: `(${left.text}) OR (${right.text})`,
      matches: (row: Row) => left.matches(row) || right.matches(row),
    })),
    tie('filter').map((part) => ({ text: `not (${part.text})`, matches: (row: Row) => !part.matches(row) })),
    // Without parentheses: and binds closer than or.
    fc.tuple(conditionArb, conditionArb, conditionArb).map(([first, second, third]) => ({
      text: `${first.text} or not ${second.text} and ${third.text}`,
      matches: (row: Row) => first.matches(row) || (!second.matches(row) && third.matches(row)),
    })),
  ),
})).filter;
