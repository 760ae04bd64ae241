/** Tests which fields a payload can omit, and how omitted values are completed in the format of the ledger. */
import { describe, expect, it } from 'vitest';
import { omittedFieldsOf, type OmittedFields } from '../../src/daml/optional-fields.ts';
import type { DamlType, DataType, PackageModel } from '../../src/daml/package-model.ts';
import { lookup, modelOf, type } from './models.ts';

function record(fields: Readonly<Record<string, DamlType>>, parameters: readonly string[] = []): DataType {
  return {
    kind: 'record',
    parameters,
    fields: Object.entries(fields).map(([name, fieldType]) => ({ name, type: fieldType })),
  };
}

function omittedFields(dataTypes: PackageModel['dataTypes']): OmittedFields | undefined {
  return omittedFieldsOf('p:M:R', lookup(modelOf(dataTypes)));
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const isObject = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Copied from the example in the documentation of OmittedFields. */
function complete(value: Json, with_: OmittedFields | null | undefined): Json {
  if (with_ === undefined || with_ === null || value === null) return value;
  if ('items' in with_)
    return Array.isArray(value) ? value.map((element: Json) => complete(element, with_.items)) : value;
  if ('entries' in with_) {
    if (!Array.isArray(value)) return value;
    return value.map((pair: Json) =>
      Array.isArray(pair)
        ? pair.map((element: Json, index) => complete(element, with_.entries[index === 0 ? 0 : 1]))
        : pair,
    );
  }
  if (!isObject(value)) return value;
  if ('values' in with_) return mapFields(value, (_, element) => complete(element, with_.values));
  if ('cases' in with_) {
    const caseOptions = typeof value['tag'] === 'string' ? with_.cases[value['tag']] : undefined;
    return { ...value, value: complete(value['value'] ?? null, caseOptions) };
  }
  return mapFields({ ...with_.nulls, ...value }, (name, fieldValue) => complete(fieldValue, with_.fields?.[name]));
}

function mapFields(value: { readonly [key: string]: Json }, change: (name: string, fieldValue: Json) => Json): Json {
  return Object.fromEntries(Object.entries(value).map(([name, fieldValue]) => [name, change(name, fieldValue)]));
}

const innerModel = record({ id: type.text, note: type.optional(type.text) });

describe('omitted fields', () => {
  it('include only Optional fields at the end of a record', () => {
    const fields = {
      a: type.optional(type.text),
      b: type.text,
      c: type.optional(type.text),
      d: type.optional(type.int64),
    };
    expect(omittedFields({ 'M:R': record(fields) })).toEqual({ nulls: { c: null, d: null } });
    expect(omittedFields({ 'M:R': record({ a: type.optional(type.text), b: type.text }) })).toBeUndefined();
  });

  it('exclude nested Optionals, because their None is written as []', () => {
    const nestedOptional = type.optional(type.optional(type.named('p:M:S')));
    const omissionsFound = omittedFields({
      'M:R': record({ a: type.optional(type.text), b: nestedOptional }),
      'M:S': innerModel,
    });
    expect(omissionsFound).toEqual({ nulls: {}, fields: { b: { items: { items: { nulls: { note: null } } } } } });
    expect(complete({ a: null, b: [[{ id: '1' }]] }, omissionsFound)).toEqual({
      a: null,
      b: [[{ id: '1', note: null }]],
    });
    expect(complete({ a: null, b: [[]] }, omissionsFound)).toEqual({ a: null, b: [[]] });
  });

  it('include fields that are Optional because of a type argument', () => {
    const dataTypes = {
      'M:R': record({ box: type.named('p:M:Box', type.optional(type.text)) }),
      'M:Box': record({ inside: type.variable('a') }, ['a']),
    };
    expect(omittedFields(dataTypes)).toEqual({ nulls: {}, fields: { box: { nulls: { inside: null } } } });
  });

  it('include fields in optional values, lists, maps and variants', () => {
    const s = type.named('p:M:S');
    const dataTypes: PackageModel['dataTypes'] = {
      'M:R': record({
        list: type.list(s),
        texts: { kind: 'textmap', of: s },
        pairs: { kind: 'genmap', key: type.party, of: s },
        choice: type.named('p:M:V'),
        maybe: type.optional(s),
      }),
      'M:S': innerModel,
      'M:V': {
        kind: 'variant',
        parameters: [],
        cases: [
          { name: 'One', type: s },
          { name: 'None', type: type.unit },
        ],
      },
    };
    const omissionsFound = omittedFields(dataTypes);
    const nulls = { nulls: { note: null } };
    expect(omissionsFound).toEqual({
      nulls: { maybe: null },
      fields: {
        list: { items: nulls },
        texts: { values: nulls },
        pairs: { entries: [null, nulls] },
        choice: { cases: { One: nulls } },
        maybe: nulls,
      },
    });
    const minimalPayload = { id: '1' };
    const payload = { id: '1', note: null };
    const storedPayload = {
      list: [minimalPayload],
      texts: { k: minimalPayload },
      pairs: [['p', minimalPayload]],
      choice: { tag: 'One', value: minimalPayload },
    };
    expect(complete(storedPayload, omissionsFound)).toEqual({
      list: [payload],
      texts: { k: payload },
      pairs: [['p', payload]],
      choice: { tag: 'One', value: payload },
      maybe: null,
    });
    expect(
      complete({ ...storedPayload, choice: { tag: 'None', value: {} }, maybe: minimalPayload }, omissionsFound),
    ).toMatchObject({
      choice: { tag: 'None', value: {} },
      maybe: payload,
    });
  });

  it('exclude fields of recursive types and of unknown packages', () => {
    const fields = { next: type.optional(type.named('p:M:R')), other: type.optional(type.named('q:M:R')) };
    expect(omittedFields({ 'M:R': record(fields) })).toEqual({ nulls: { next: null, other: null } });
  });

  it('include fields inside nested tuples', () => {
    const pair = (a: DamlType, b: DamlType): DamlType => type.named('p:M:Pair', a, b);
    const dataTypes = {
      'M:R': record({ x: pair(type.text, pair(type.named('p:M:S'), type.text)) }),
      'M:Pair': record({ _1: type.variable('a'), _2: type.variable('b') }, ['a', 'b']),
      'M:S': innerModel,
    };
    const second = { nulls: {}, fields: { _1: { nulls: { note: null } } } };
    expect(omittedFields(dataTypes)).toEqual({ nulls: {}, fields: { x: { nulls: {}, fields: { _2: second } } } });
  });

  it('include only three levels of a parameterized type that contains itself', () => {
    const dataTypes = {
      'M:R': record({ chain: type.named('p:M:Chain', type.text) }),
      'M:Chain': record({ next: type.optional(type.named('p:M:Chain', type.list(type.variable('a')))) }, ['a']),
    };
    expect(JSON.stringify(omittedFields(dataTypes)).match(/"next":null/g)).toHaveLength(3);
  });

  it('include a field called __proto__', () => {
    const fields = Object.fromEntries([['__proto__', type.optional(type.text)]]);
    expect(JSON.stringify(omittedFields({ 'M:R': record(fields) }))).toBe('{"nulls":{"__proto__":null}}');
  });
});
