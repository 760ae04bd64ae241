/**
 * Generates types of packages that could break the generated file by their names, incompatible versions or nested
 * arguments.
 */
import { describe, expect, it } from 'vitest';
import type { DamlType, PackageModel, TemplateModel } from '../../src/daml/package-model.ts';
import { compileErrors } from './compiled.ts';
import {
  checkTypes,
  generatedCode,
  int,
  model,
  namedType,
  optional,
  party,
  record,
  text,
  variable,
  variant,
} from './made-up.ts';

const list = (innerType: DamlType): DamlType => ({ kind: 'list', of: innerType });
const from = (packageId: string, name: string, ...args: DamlType[]): DamlType => ({
  kind: 'named',
  name: `${packageId}:${name}`,
  arguments: args,
});

/**
 * Names that have a meaning for the compiler, for objects or for the generated file, and names that are easily
 * confused.
 */
const identifiers = (
  'eval arguments constructor __proto__ prototype toString hasOwnProperty let static yield await async undefined NaN type require ' +
  'exports module default globalThis Promise Array Partial Record Date Object string unique out using DB db Templates ContractOf ' +
  "Interval daml Daml DAML Last Json a-b a_b A-B a_b_2 a.b $ $$ _ __ 1st Ünï x*/y it's"
).split(' ');
/** Names without dots, because a dot separates the parts of a module name. */
const modules = identifiers.filter((identifier) => !identifier.includes('.'));

function hostileModel(packageId: string, name: string): PackageModel {
  const types = identifiers.map((identifier) => from(packageId, `Main:${identifier}`, text));
  const choice = (identifier: string, index: number) => ({
    name: identifier,
    consuming: true,
    argument: types[index] ?? text,
    result: optional(text),
  });
  const template: TemplateModel = {
    moduleName: 'Main',
    entityName: 'T',
    choices: identifiers.map(choice),
    implements: [],
    key: from(packageId, 'Main:Fields', ...identifiers.map(() => optional(int))),
  };
  return model(
    packageId,
    {
      ...Object.fromEntries(
        identifiers.map((identifier, index) => [
          `Main:${identifier}`,
          record({ [`own${String(index)}`]: variable(identifier) }, [identifier]),
        ]),
      ),
      ...Object.fromEntries(
        modules.map((identifier) => [`${identifier}.Main.${identifier}:T`, variant({ [identifier]: text })]),
      ),
      'Main:Fields': {
        kind: 'record',
        parameters: identifiers,
        fields: identifiers.map((identifier) => ({ name: identifier, type: variable(identifier) })),
      },
      'Main:T': {
        kind: 'record',
        parameters: [],
        fields: [
          ...identifiers.map((identifier, index) => ({ name: identifier, type: types[index] ?? text })),
          ...modules.map((identifier) => ({
            name: `in ${identifier}`,
            type: from(packageId, `${identifier}.Main.${identifier}:T`),
          })),
        ],
      },
    },
    { name, version: '1.0 */ 0', templates: [template] },
  );
}

describe('generated types', () => {
  it('compile with arbitrary names of packages, modules, types, fields and choices', async () => {
    const otherModels = identifiers.map((identifier, index) =>
      model(`q${String(index)}`, { 'Main:T': record({ [identifier]: text }) }, { name: identifier }),
    );
    const types = generatedCode(hostileModel('p1', 'made-up'), ...otherModels);
    const value = (change: string): string =>
      `{ ...{} as T, 'constructor': { own2: '' }, 'a-b': { own${String(identifiers.indexOf('a-b'))}: '' }, ${change} }`;
    const validValue = value(`'a_b': { own${String(identifiers.indexOf('a_b'))}: '' }, ['__proto__']: { own3: '' }`);
    await checkTypes(types, [validValue], [value(`'a_b': { own${String(identifiers.indexOf('a-b'))}: '' }`)]);
    const templateTypes = identifiers.map(
      (identifier) => `[${JSON.stringify(`${identifier}:Main:T`)}]: ${JSON.stringify(identifier)}`,
    );
    const usageSource = `import type { Templates } from './ledger.cjs';
      export const packages: { readonly [N in Exclude<keyof Templates, 'made-up:Main:T'>]: keyof Templates[N]['payload'] } = {${templateTypes.join()}};`;
    expect(await compileErrors({ 'ledger.cts': types, 'use.ts': usageSource })).toBe('');
  });

  it('compile for versions of a type with different type parameters', async () => {
    const { key: _contractKey, ...keylessTemplate } = model('p1', {}).templates[0] as TemplateModel;
    const keyed = (key: DamlType): readonly TemplateModel[] => [{ ...keylessTemplate, key }];
    const firstModel = model(
      'p1',
      { 'Main:T': record({ box: namedType('Main:Box', int) }), 'Main:Box': record({ first: variable('a') }, ['a']) },
      { templates: keyed(party) },
    );
    const secondModel = model(
      'p2',
      {
        'Main:T': record({ box: from('p2', 'Main:Box', int, text), second: int }),
        'Main:Box': record({ left: variable('x'), right: variable('y') }, ['x', 'y']),
      },
      { version: '2.0.0', templates: keyed(from('p2', 'Main:Box', text, text)) },
    );
    const thirdModel = model(
      'p3',
      { 'Main:T': record({ box: from('p3', 'Main:Box') }), 'Main:Box': { kind: 'enum', cases: ['Shut', 'Open'] } },
      { version: '3.0.0' },
    );
    const largeModel = model(
      'p4',
      {
        'Main:T': record({ box: from('p4', 'Main:Box', int) }),
        'Main:Box': variant({ Full: variable('b') }, ['b']),
      },
      { version: '0.9.0' },
    );
    const types = generatedCode(firstModel, secondModel, thirdModel, largeModel);
    await checkTypes(
      types,
      [
        "{ box: { first: '1' } }",
        "{ box: { tag: 'Full', value: '1' } }",
        "{ box: { left: '1', right: 'r' }, second: '2' }",
        "{ box: 'Shut' }",
      ],
      ['{ box: { first: 1 } }', "{ box: { left: '1', right: 1 }, second: '2' }", "{ box: 'Ajar' }"],
    );
    expect(generatedCode(largeModel, thirdModel, secondModel, firstModel)).toBe(types);
    for (const name of ['type Box =', 'type Box_1<A> =', 'type Box_2<X, Y> =']) expect(types).toContain(name);
    expect(types).toContain('readonly key: null | made_up.Main.Box_2<string, string> | daml.Party;');
  });

  it('contain one type for two versions whose type parameters differ only in name', async () => {
    const boxedModel = (
      packageId: string,
      parameter: string,
      addedTypes: Readonly<Record<string, DamlType>>,
    ): PackageModel =>
      model(
        packageId,
        {
          'Main:T': record({ box: from(packageId, 'Main:Box', int, text) }),
          'Main:Box': record({ [`one`]: variable(parameter), two: variable('b'), ...addedTypes }, [parameter, 'b']),
        },
        { version: `${packageId.slice(1)}.0.0` },
      );
    const types = generatedCode(boxedModel('p1', 'a', {}), boxedModel('p2', 'z', { note: optional(optional(int)) }));
    await checkTypes(types, ["{ box: { one: '1', two: '' } }"], ["{ box: { one: '1', two: '', note: '1' } }"]);
    expect(types).not.toContain('} | {');
  });
});

describe('trailing record fields', () => {
  const pair = (firstType: DamlType, secondType: DamlType): DamlType => namedType('Main:Pair', firstType, secondType);
  const dataTypes = {
    'Main:Pair': record({ _1: variable('z'), _2: variable('a') }, ['z', 'a']),
    'Main:Inside': record({ pair: pair(text, variable('a')), size: int }, ['a']),
    'Main:Around': record({ inside: list(namedType('Main:Inside', variable('c'))) }, ['c']),
    'Main:Case': variant({ Plain: pair(int, variable('a')), Deep: namedType('Main:Case', variable('a')) }, ['a']),
    'Main:Tree': record({ pair: pair(text, variable('a')), below: list(namedType('Main:Tree', variable('a'))) }, ['a']),
    'Main:Chain': record({ value: variable('a'), next: optional(namedType('Main:Chain', pair(text, variable('a')))) }, [
      'a',
    ]),
    'Main:Long': record({ first: variable('a'), note: optional(int), last: variable('b') }, ['a', 'b']),
  };
  const optionalType = optional(int);
  const tree = (pairText: string, depth: number): string =>
    `{ pair: ${pairText}, below: [${depth === 0 ? '' : tree(pairText, depth - 1)}] }`;

  const cases: readonly (readonly [string, DamlType, readonly string[], readonly string[]])[] = [
    [
      'an argument',
      pair(text, optionalType),
      ["{ _1: '' }", "{ _1: '', _2: null }", "{ _1: '', _2: '1' }"],
      ['{}', "{ _2: '1' }", "{ _1: '', _2: 1 }"],
    ],
    ['no Optional', pair(optionalType, text), ["{ _1: null, _2: '' }"], ["{ _2: '' }", '{ _1: null }']],
    [
      'both arguments',
      pair(optionalType, optional(text)),
      ['{}', "{ _1: '1' }", "{ _1: null, _2: 's' }"],
      ['{ _1: 1 }'],
    ],
    [
      'an Optional in an Optional',
      pair(text, optional(optionalType)),
      ["{ _1: '', _2: [] }", "{ _1: '', _2: [['1']] }"],
      ["{ _1: '' }"],
    ],
    [
      'an argument of an argument',
      namedType('Main:Around', optionalType),
      ["{ inside: [{ pair: { _1: '' }, size: '1' }] }"],
      ["{ inside: [{ pair: {}, size: '1' }] }", '{}'],
    ],
    [
      'the same without Optional',
      namedType('Main:Around', text),
      ["{ inside: [{ pair: { _1: '', _2: '' }, size: '1' }] }"],
      ["{ inside: [{ pair: { _1: '' }, size: '1' }] }"],
    ],
    [
      'a case of a variant',
      namedType('Main:Case', optionalType),
      ["{ tag: 'Deep', value: { tag: 'Plain', value: { _1: '1' } } }"],
      ["{ tag: 'Plain', value: {} }"],
    ],
    ['any depth', namedType('Main:Tree', optionalType), [tree("{ _1: '' }", 9)], [tree('{}', 0)]],
    [
      'any depth without Optional',
      namedType('Main:Tree', text),
      [tree("{ _1: '', _2: '' }", 9)],
      [tree("{ _1: '' }", 4)],
    ],
    [
      'arguments that grow',
      namedType('Main:Chain', optionalType),
      ['{}', "{ value: null, next: { value: { _1: '' }, next: { value: { _1: '', _2: { _1: '' } } } } }"],
      [
        "{ value: null, next: { value: '1' } }",
        "{ value: null, next: { value: { _1: '' }, next: { value: { _1: '' } } } }",
      ],
    ],
    [
      'fields between',
      namedType('Main:Long', optionalType, optionalType),
      ['{}', "{ first: '1' }", "{ first: null, note: '1' }"],
      ['{ note: 1 }'],
    ],
    [
      'fields before what is there',
      namedType('Main:Long', optionalType, text),
      ["{ first: null, note: null, last: '' }"],
      ["{ first: null, last: '' }", "{ note: null, last: '' }"],
    ],
  ];

  it('are optional if a type argument at any depth is an Optional, otherwise required', async () => {
    const fields = Object.fromEntries(cases.map(([name, type]) => [name, type]));
    const types = generatedCode(model('p1', { ...dataTypes, 'Main:T': record({ ...fields, end: int }) }));
    const values = (list: readonly string[], name: string): readonly string[] =>
      list.map((value) => `{ ...{} as T, '${name}': ${value} }`);
    await checkTypes(
      types,
      cases.flatMap(([name, , validValues]) => values(validValues, name)),
      cases.flatMap(([name, , , bad]) => values(bad, name)),
    );
  });

  it('are optional if an earlier version has fewer fields', async () => {
    const firstModel = model('p1', { 'Main:T': record({ note: optional(text) }) });
    const secondModel = model(
      'p2',
      { 'Main:T': record({ note: optional(text), twice: optional(optional(int)) }) },
      { version: '2.0.0' },
    );
    await checkTypes(generatedCode(firstModel, secondModel), ['{}', "{ note: 'n', twice: [] }"], ['{ twice: null }']);
  });
});

describe('generated types', () => {
  it('accept Numeric with any scale, including a scale parameter', async () => {
    const scales = Array.from({ length: 38 }, (_, scale) => [`s${String(scale)}`, { kind: 'numeric', scale }] as const);
    const types = generatedCode(
      model('p1', {
        'Main:T': record({ ...Object.fromEntries(scales), any: namedType('Main:Any', { kind: 'opaque' }) }),
        'Main:Any': record({ amount: { kind: 'numeric' } }, ['n']),
      }),
    );
    const value = (amount: string): string =>
      `{ ${scales.map(([name]) => `${name}: '1.0'`).join(', ')}, any: { amount: ${amount} } }`;
    await checkTypes(types, [value("'0.1'")], [value('0.1')]);
  });

  it('accept maps with any key type', async () => {
    const types = generatedCode(
      model('p1', {
        'Main:T': record({
          texts: { kind: 'textmap', of: { kind: 'textmap', of: optional(int) } },
          pairs: {
            kind: 'genmap',
            key: namedType('Main:K', optional(text)),
            of: list({ kind: 'textmap', of: namedType('Main:T') }),
          },
          deep: { kind: 'genmap', key: { kind: 'genmap', key: int, of: int }, of: optional(optional(party)) },
        }),
        'Main:K': record({ id: int, note: variable('a') }, ['a']),
      }),
    );
    const value = (change = ''): string =>
      `{ texts: { ['__proto__']: { constructor: null }, '': {} }, pairs: [[{ id: '1' }, [{}]]], deep: [[[['1', '2']], []]]${change} }`;
    await checkTypes(
      types,
      [value()],
      [value(", pairs: [[{ id: '1', note: 1 }, []]]"), value(', pairs: { a: [] }'), value(", deep: [[[['1']], []]]")],
    );
  });
});
