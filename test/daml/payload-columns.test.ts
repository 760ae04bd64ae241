/** Tests the columns that are derived from the type of a payload. */
import { describe, expect, it } from 'vitest';
import type { DamlField, DamlType, DataType, PackageModel } from '../../src/daml/package-model.ts';
import { columnsOf, type PayloadColumn } from '../../src/daml/payload-columns.ts';
import { modelOf, type, lookup } from './models.ts';

/** `name type path` of each column. */
function summarizeColumns(columns: readonly PayloadColumn[]): readonly string[] {
  return columns.map((column) => `${column.name} ${column.type} ${column.path.join('.')}`);
}

function record(fields: Readonly<Record<string, DamlType>>, parameters: readonly string[] = []): DataType {
  const list: readonly DamlField[] = Object.entries(fields).map(([name, fieldType]) => ({ name, type: fieldType }));
  return { kind: 'record', parameters, fields: list };
}

function columns(dataTypes: PackageModel['dataTypes'], reservedNames?: ReadonlySet<string>): readonly string[] {
  return summarizeColumns(columnsOf('p:M:R', lookup(modelOf(dataTypes)), reservedNames));
}

describe('columnsOf()', () => {
  it('splits records down to the third level, and keeps the fourth level in one column', () => {
    const dataTypes = {
      'M:R': record({ a: type.named('p:M:S') }),
      'M:S': record({ b: type.named('p:M:T') }),
      'M:T': record({ c: type.named('p:M:U'), d: type.text }),
      'M:U': record({ e: type.text }),
    };
    expect(columns(dataTypes)).toEqual(['a_b_c jsonb a.b.c', 'a_b_d text a.b.d']);
  });

  it('does not split recursive types', () => {
    const dataTypes = { 'M:R': record({ text: type.text, next: type.optional(type.named('p:M:R')) }) };
    expect(columns(dataTypes)).toEqual(['text text text', 'next jsonb next']);
  });

  it('replaces type parameters by their arguments', () => {
    const dataTypes = {
      'M:R': record({ x: type.named('p:M:Pair', type.int64, type.named('p:M:Pair', type.party, type.bool)) }),
      'M:Pair': record({ _1: type.variable('a'), _2: type.optional(type.variable('b')) }, ['a', 'b']),
    };
    expect(columns(dataTypes)).toEqual(['x__1 bigint x._1', 'x__2__1 text x._2._1', 'x__2__2 boolean x._2._2']);
  });

  it('returns no column for unit, and jsonb columns for ambiguous nulls', () => {
    const fields = {
      nothing: type.unit,
      maybe: type.optional(type.unit),
      nested: type.optional(type.optional(type.text)),
      list: type.optional({ kind: 'list', of: type.text }),
      empty: type.named('p:M:Empty'),
    };
    expect(columns({ 'M:R': record(fields), 'M:Empty': record({}) })).toEqual([
      'maybe jsonb maybe',
      'nested jsonb nested',
      'list jsonb list',
    ]);
  });

  it('treats an Optional of an Optional argument as one Optional', () => {
    const dataTypes = {
      'M:R': record({ x: type.named('p:M:Box', type.optional(type.text)) }),
      'M:Box': record({ inside: type.optional(type.variable('a')) }, ['a']),
    };
    expect(columns(dataTypes)).toEqual(['x_inside text x.inside']);
  });

  it('returns a text column for an enum, and tag and value columns for a variant', () => {
    const dataTypes: PackageModel['dataTypes'] = {
      'M:R': record({ colour: type.optional(type.named('p:M:Colour')), shape: type.optional(type.named('p:M:Shape')) }),
      'M:Colour': { kind: 'enum', cases: ['Red'] },
      'M:Shape': { kind: 'variant', parameters: [], cases: [{ name: 'Square', type: type.int64 }] },
    };
    expect(columns(dataTypes)).toEqual(['colour text colour', 'shape_tag text shape.tag', 'shape jsonb shape']);
  });

  it('treats only RelTime of the standard library as a duration', () => {
    const dataTypes = {
      'M:R': record({ x: type.named('p:M:RelTime') }),
      'M:RelTime': record({ microseconds: type.int64 }),
    };
    expect(columns(dataTypes)).toEqual(['x_microseconds bigint x.microseconds']);
  });

  it('converts names to snake case', () => {
    const fields = {
      createdAt: type.text,
      settlementURL: type.text,
      HTTPServer: type.text,
      tx2Hash: type.text,
      a$u0027: type.text,
    };
    expect(columns({ 'M:R': record(fields) }).map((column) => column.split(' ')[0])).toEqual([
      'created_at',
      'settlement_url',
      'http_server',
      'tx2_hash',
      'a_u0027',
    ]);
  });

  it('adds numbers to duplicate names', () => {
    const fields = { fooBar: type.text, foo: type.named('p:M:S'), foo_bar: type.text, payload: type.text };
    const dataTypes = { 'M:R': record(fields), 'M:S': record({ bar: type.text }) };
    expect(columns(dataTypes, new Set(['payload']))).toEqual([
      'foo_bar text fooBar',
      'foo_bar_2 text foo.bar',
      'foo_bar_3 text foo_bar',
      'payload_2 text payload',
    ]);
  });

  it('truncates long names and adds a different ending for each path', () => {
    const longName = 'a'.repeat(80);
    const fields = { [`${longName}X`]: type.text, [`${longName}Y`]: type.text };
    const names = columnsOf('p:M:R', lookup(modelOf({ 'M:R': record(fields) }))).map(({ name }) => name);
    for (const name of names) expect(name).toMatch(/^a{56}_[0-9a-f]{6}$/);
    expect(new Set(names).size).toBe(2);
  });

  it('keeps records in one column if a view would otherwise have too many columns', () => {
    const manyFields = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}`, type.named('p:M:S')]));
    const someFields = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`g${index}`, type.text]));
    const foundColumns = columns({ 'M:R': record(manyFields), 'M:S': record(someFields) });
    expect(foundColumns).toHaveLength(40);
    expect(foundColumns[0]).toBe('f0 jsonb f0');
    const wideFields = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`h${index}`, type.text]));
    expect(columns({ 'M:R': record(wideFields) })).toHaveLength(1000);
  });

  it('returns no columns for a payload that is unknown or not a record', () => {
    expect(columns({ 'M:R': { kind: 'enum', cases: [] } })).toEqual([]);
    expect(columns({})).toEqual([]);
    expect(columnsOf('q:M:R', () => undefined)).toEqual([]);
  });
});
