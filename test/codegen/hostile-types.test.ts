/**
 * Generates types of packages that could break the generated file by their names, incompatible versions or nested
 * arguments.
 */
import { describe, expect, it } from 'vitest';
import type { DamlType, PackageModel, TemplateModel } from '../../src/daml/package-model.ts';
import { complaints } from './compiled.ts';
import { fits, generated, int, model, named, optional, party, record, text, variable, variant } from './made-up.ts';

const list = (of: DamlType): DamlType => ({ kind: 'list', of });
const from = (packageId: string, name: string, ...args: DamlType[]): DamlType => ({
  kind: 'named',
  name: `${packageId}:${name}`,
  arguments: args,
});

/**
 * Names that have a meaning for the compiler, for objects or for the generated file, and names that are easily
 * confused.
 */
const words = (
  'eval arguments constructor __proto__ prototype toString hasOwnProperty let static yield await async undefined NaN type require ' +
  'exports module default globalThis Promise Array Partial Record Date Object string unique out using DB db Templates ContractOf ' +
  "Interval daml Daml DAML Last Json a-b a_b A-B a_b_2 a.b $ $$ _ __ 1st Ünï x*/y it's"
).split(' ');
/** Names without dots, because a dot separates the parts of a module name. */
const modules = words.filter((word) => !word.includes('.'));

function hostile(packageId: string, name: string): PackageModel {
  const types = words.map((word) => from(packageId, `Main:${word}`, text));
  const choice = (word: string, at: number) => ({
    name: word,
    consuming: true,
    argument: types[at] ?? text,
    result: optional(text),
  });
  const template: TemplateModel = {
    moduleName: 'Main',
    entityName: 'T',
    choices: words.map(choice),
    implements: [],
    key: from(packageId, 'Main:Fields', ...words.map(() => optional(int))),
  };
  return model(
    packageId,
    {
      ...Object.fromEntries(
        words.map((word, at) => [`Main:${word}`, record({ [`own${String(at)}`]: variable(word) }, [word])]),
      ),
      ...Object.fromEntries(modules.map((word) => [`${word}.Main.${word}:T`, variant({ [word]: text })])),
      'Main:Fields': {
        kind: 'record',
        parameters: words,
        fields: words.map((word) => ({ name: word, type: variable(word) })),
      },
      'Main:T': {
        kind: 'record',
        parameters: [],
        fields: [
          ...words.map((word, at) => ({ name: word, type: types[at] ?? text })),
          ...modules.map((word) => ({ name: `in ${word}`, type: from(packageId, `${word}.Main.${word}:T`) })),
        ],
      },
    },
    { name, version: '1.0 */ 0', templates: [template] },
  );
}

describe('generated types', () => {
  it('compile with arbitrary names of packages, modules, types, fields and choices', async () => {
    const others = words.map((word, at) =>
      model(`q${String(at)}`, { 'Main:T': record({ [word]: text }) }, { name: word }),
    );
    const types = generated(hostile('p1', 'made-up'), ...others);
    const value = (change: string): string =>
      `{ ...{} as T, 'constructor': { own2: '' }, 'a-b': { own${String(words.indexOf('a-b'))}: '' }, ${change} }`;
    const fine = value(`'a_b': { own${String(words.indexOf('a_b'))}: '' }, ['__proto__']: { own3: '' }`);
    await fits(types, [fine], [value(`'a_b': { own${String(words.indexOf('a-b'))}: '' }`)]);
    const own = words.map((word) => `[${JSON.stringify(`${word}:Main:T`)}]: ${JSON.stringify(word)}`);
    const use = `import type { Templates } from './ledger.cjs';
      export const packages: { readonly [N in Exclude<keyof Templates, 'made-up:Main:T'>]: keyof Templates[N]['payload'] } = {${own.join()}};`;
    expect(await complaints({ 'ledger.cts': types, 'use.ts': use })).toBe('');
  });

  it('compile for versions of a type with different type parameters', async () => {
    const { key: _none, ...keyless } = model('p1', {}).templates[0] as TemplateModel;
    const keyed = (key: DamlType): readonly TemplateModel[] => [{ ...keyless, key }];
    const one = model(
      'p1',
      { 'Main:T': record({ box: named('Main:Box', int) }), 'Main:Box': record({ first: variable('a') }, ['a']) },
      { templates: keyed(party) },
    );
    const two = model(
      'p2',
      {
        'Main:T': record({ box: from('p2', 'Main:Box', int, text), second: int }),
        'Main:Box': record({ left: variable('x'), right: variable('y') }, ['x', 'y']),
      },
      { version: '2.0.0', templates: keyed(from('p2', 'Main:Box', text, text)) },
    );
    const three = model(
      'p3',
      { 'Main:T': record({ box: from('p3', 'Main:Box') }), 'Main:Box': { kind: 'enum', cases: ['Shut', 'Open'] } },
      { version: '3.0.0' },
    );
    const four = model(
      'p4',
      {
        'Main:T': record({ box: from('p4', 'Main:Box', int) }),
        'Main:Box': variant({ Full: variable('b') }, ['b']),
      },
      { version: '0.9.0' },
    );
    const types = generated(one, two, three, four);
    await fits(
      types,
      [
        "{ box: { first: '1' } }",
        "{ box: { tag: 'Full', value: '1' } }",
        "{ box: { left: '1', right: 'r' }, second: '2' }",
        "{ box: 'Shut' }",
      ],
      ['{ box: { first: 1 } }', "{ box: { left: '1', right: 1 }, second: '2' }", "{ box: 'Ajar' }"],
    );
    expect(generated(four, three, two, one)).toBe(types);
    for (const name of ['type Box =', 'type Box_1<A> =', 'type Box_2<X, Y> =']) expect(types).toContain(name);
    expect(types).toContain('readonly key: null | made_up.Main.Box_2<string, string> | daml.Party;');
  });

  it('contain one type for two versions whose type parameters differ only in name', async () => {
    const boxed = (packageId: string, parameter: string, added: Readonly<Record<string, DamlType>>): PackageModel =>
      model(
        packageId,
        {
          'Main:T': record({ box: from(packageId, 'Main:Box', int, text) }),
          'Main:Box': record({ [`one`]: variable(parameter), two: variable('b'), ...added }, [parameter, 'b']),
        },
        { version: `${packageId.slice(1)}.0.0` },
      );
    const types = generated(boxed('p1', 'a', {}), boxed('p2', 'z', { note: optional(optional(int)) }));
    await fits(types, ["{ box: { one: '1', two: '' } }"], ["{ box: { one: '1', two: '', note: '1' } }"]);
    expect(types).not.toContain('} | {');
  });
});

describe('trailing record fields', () => {
  const pair = (one: DamlType, two: DamlType): DamlType => named('Main:Pair', one, two);
  const dataTypes = {
    'Main:Pair': record({ _1: variable('z'), _2: variable('a') }, ['z', 'a']),
    'Main:Inside': record({ pair: pair(text, variable('a')), size: int }, ['a']),
    'Main:Around': record({ inside: list(named('Main:Inside', variable('c'))) }, ['c']),
    'Main:Case': variant({ Plain: pair(int, variable('a')), Deep: named('Main:Case', variable('a')) }, ['a']),
    'Main:Tree': record({ pair: pair(text, variable('a')), below: list(named('Main:Tree', variable('a'))) }, ['a']),
    'Main:Chain': record({ value: variable('a'), next: optional(named('Main:Chain', pair(text, variable('a')))) }, [
      'a',
    ]),
    'Main:Long': record({ first: variable('a'), note: optional(int), last: variable('b') }, ['a', 'b']),
  };
  const none = optional(int);
  const tree = (pairText: string, depth: number): string =>
    `{ pair: ${pairText}, below: [${depth === 0 ? '' : tree(pairText, depth - 1)}] }`;

  const cases: readonly (readonly [string, DamlType, readonly string[], readonly string[]])[] = [
    [
      'an argument',
      pair(text, none),
      ["{ _1: '' }", "{ _1: '', _2: null }", "{ _1: '', _2: '1' }"],
      ['{}', "{ _2: '1' }", "{ _1: '', _2: 1 }"],
    ],
    ['no Optional', pair(none, text), ["{ _1: null, _2: '' }"], ["{ _2: '' }", '{ _1: null }']],
    ['both arguments', pair(none, optional(text)), ['{}', "{ _1: '1' }", "{ _1: null, _2: 's' }"], ['{ _1: 1 }']],
    [
      'an Optional in an Optional',
      pair(text, optional(none)),
      ["{ _1: '', _2: [] }", "{ _1: '', _2: [['1']] }"],
      ["{ _1: '' }"],
    ],
    [
      'an argument of an argument',
      named('Main:Around', none),
      ["{ inside: [{ pair: { _1: '' }, size: '1' }] }"],
      ["{ inside: [{ pair: {}, size: '1' }] }", '{}'],
    ],
    [
      'the same without Optional',
      named('Main:Around', text),
      ["{ inside: [{ pair: { _1: '', _2: '' }, size: '1' }] }"],
      ["{ inside: [{ pair: { _1: '' }, size: '1' }] }"],
    ],
    [
      'a case of a variant',
      named('Main:Case', none),
      ["{ tag: 'Deep', value: { tag: 'Plain', value: { _1: '1' } } }"],
      ["{ tag: 'Plain', value: {} }"],
    ],
    ['any depth', named('Main:Tree', none), [tree("{ _1: '' }", 9)], [tree('{}', 0)]],
    ['any depth without Optional', named('Main:Tree', text), [tree("{ _1: '', _2: '' }", 9)], [tree("{ _1: '' }", 4)]],
    [
      'arguments that grow',
      named('Main:Chain', none),
      ['{}', "{ value: null, next: { value: { _1: '' }, next: { value: { _1: '', _2: { _1: '' } } } } }"],
      [
        "{ value: null, next: { value: '1' } }",
        "{ value: null, next: { value: { _1: '' }, next: { value: { _1: '' } } } }",
      ],
    ],
    [
      'fields between',
      named('Main:Long', none, none),
      ['{}', "{ first: '1' }", "{ first: null, note: '1' }"],
      ['{ note: 1 }'],
    ],
    [
      'fields before what is there',
      named('Main:Long', none, text),
      ["{ first: null, note: null, last: '' }"],
      ["{ first: null, last: '' }", "{ note: null, last: '' }"],
    ],
  ];

  it('are optional if a type argument at any depth is an Optional, otherwise required', async () => {
    const fields = Object.fromEntries(cases.map(([name, type]) => [name, type]));
    const types = generated(model('p1', { ...dataTypes, 'Main:T': record({ ...fields, end: int }) }));
    const values = (list: readonly string[], name: string): readonly string[] =>
      list.map((value) => `{ ...{} as T, '${name}': ${value} }`);
    await fits(
      types,
      cases.flatMap(([name, , good]) => values(good, name)),
      cases.flatMap(([name, , , bad]) => values(bad, name)),
    );
  });

  it('are optional if an earlier version has fewer fields', async () => {
    const one = model('p1', { 'Main:T': record({ note: optional(text) }) });
    const two = model(
      'p2',
      { 'Main:T': record({ note: optional(text), twice: optional(optional(int)) }) },
      { version: '2.0.0' },
    );
    await fits(generated(one, two), ['{}', "{ note: 'n', twice: [] }"], ['{ twice: null }']);
  });
});

describe('generated types', () => {
  it('accept Numeric with any scale, including a scale parameter', async () => {
    const scales = Array.from({ length: 38 }, (_, scale) => [`s${String(scale)}`, { kind: 'numeric', scale }] as const);
    const types = generated(
      model('p1', {
        'Main:T': record({ ...Object.fromEntries(scales), any: named('Main:Any', { kind: 'opaque' }) }),
        'Main:Any': record({ amount: { kind: 'numeric' } }, ['n']),
      }),
    );
    const value = (amount: string): string =>
      `{ ${scales.map(([name]) => `${name}: '1.0'`).join(', ')}, any: { amount: ${amount} } }`;
    await fits(types, [value("'0.1'")], [value('0.1')]);
  });

  it('accept maps with any key type', async () => {
    const types = generated(
      model('p1', {
        'Main:T': record({
          texts: { kind: 'textmap', of: { kind: 'textmap', of: optional(int) } },
          pairs: {
            kind: 'genmap',
            key: named('Main:K', optional(text)),
            of: list({ kind: 'textmap', of: named('Main:T') }),
          },
          deep: { kind: 'genmap', key: { kind: 'genmap', key: int, of: int }, of: optional(optional(party)) },
        }),
        'Main:K': record({ id: int, note: variable('a') }, ['a']),
      }),
    );
    const value = (change = ''): string =>
      `{ texts: { ['__proto__']: { constructor: null }, '': {} }, pairs: [[{ id: '1' }, [{}]]], deep: [[[['1', '2']], []]]${change} }`;
    await fits(
      types,
      [value()],
      [value(", pairs: [[{ id: '1', note: 1 }, []]]"), value(', pairs: { a: [] }'), value(", deep: [[[['1']], []]]")],
    );
  });
});
