/** Generates types of packages that are built in the test. For each kind of type, some values fit and others do not. */
import { describe, expect, it } from 'vitest';
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
  unit,
  variable,
  variant,
} from './made-up.ts';

describe('generated payload types', () => {
  it('accept values in the ledger format and reject other values', async () => {
    const types = generatedCode(
      model('p1', {
        'Main:T': record({
          nested: optional(optional(int)),
          list: { kind: 'list', of: optional(text) },
          map: { kind: 'genmap', key: namedType('Main:Colour'), of: int },
          texts: { kind: 'textmap', of: { kind: 'numeric', scale: 10 } },
          id: { kind: 'contract_id', of: namedType('Main:T') },
          pair: namedType('Main:Pair', text, optional(int)),
          tree: namedType('Main:Tree', party),
          either: namedType('Main:Either', int, unit),
          note: optional(text),
        }),
        'Main:Colour': { kind: 'enum', cases: ['Red', "Off'White"] },
        'Main:Pair': record({ _1: variable('a'), _2: variable('b') }, ['a', 'b']),
        'Main:Tree': record(
          { value: variable('a'), below: { kind: 'list', of: namedType('Main:Tree', variable('a')) } },
          ['a'],
        ),
        'Main:Either': variant({ Left: variable('a'), Right: variable('b') }, ['a', 'b']),
      }),
    );
    const value = `{ nested: [['1']], list: ['a', null], map: [['Red', '1'], ["Off'White", '2']], texts: { a: '1.0' }, id: '00ab',
      pair: { _1: 'x' }, tree: { value: 'p::1', below: [{ value: 'p::2', below: [] }] }, either: { tag: 'Right', value: {} } }`;
    const validLiterals = ['note: null', "note: 'n'", "nested: [], pair: { _1: 'x', _2: null }", 'nested: [[]]'];
    const bad = ['note: 1', 'nested: null', "map: [['Blue', '1']]", "either: { tag: 'Left', value: {} }", 'list: [1]'];
    const changedPayload = (change: string): string => `{ ...good0, ${change} }`;
    await checkTypes(types, [value, ...validLiterals.map(changedPayload)], [...bad.map(changedPayload), '{}']);
  });

  it('are renamed if their name is ambiguous, a TypeScript keyword or reserved', async () => {
    const ownModel = model('p1', {
      'Main:T': record({
        class: namedType('Main:String'),
        'two words': namedType('Main:A.B'),
        "it's": namedType('Main:A_B'),
        date: namedType('Main:Date'),
        made: { kind: 'named', name: 'p2:Main:Array', arguments: [] },
        lower: { kind: 'named', name: 'p3:Main:Record', arguments: [] },
        any: namedType('Main:Box', text, int),
      }),
      'Main:String': record({ value: text }),
      'Main:A.B': record({ dotted: int }),
      'Main:A_B': record({ plain: int }),
      'Main:Date': record({ day: { kind: 'builtin', name: 'date' } }),
      'Main:Box': record({ string: variable('string'), number: variable('number') }, ['string', 'number']),
    });
    const otherModels = [
      model('p2', { 'Main:Array': record({ capital: party }) }, { name: 'daml', templates: [] }),
      model('p3', { 'Main:Record': record({ small: party }) }, { name: 'DAML', templates: [] }),
    ];
    const value = (day: string): string =>
      `{ class: { value: '' }, 'two words': { dotted: '1' }, "it's": { plain: '1' }, date: { day: ${day} },
         made: { capital: '' }, lower: { small: '' }, any: { string: '', number: '1' } }`;
    const types = generatedCode(ownModel, ...otherModels);
    await checkTypes(types, [value("'2026-03-02'")], [value('1')]);
    expect(generatedCode(...otherModels, ownModel)).toBe(types);
  });

  it('accept contracts of earlier versions and of other packages with the same name', async () => {
    const firstModel = model('p1', { 'Main:T': record({ owner: party }) });
    const secondModel = model(
      'p2',
      { 'Main:T': record({ owner: party, twice: optional(optional(int)), note: optional(text) }) },
      { version: '1.10.0' },
    );
    const olderCode = generatedCode(secondModel, firstModel);
    await checkTypes(
      olderCode,
      ["{ owner: '' }", "{ owner: '', twice: [] }", "{ owner: '', note: null }"],
      ["{ owner: '', note: 1 }"],
    );
    const unlawful = model('p3', { 'Main:T': record({ holder: party }) }, { version: '1.9.0' });
    const combinedCode = generatedCode(unlawful, firstModel, secondModel);
    await checkTypes(combinedCode, ["{ owner: '', note: 'n' }", "{ holder: '' }"], ["{ other: '' }"]);
    expect(combinedCode).toContain('/** Versions 1.0.0, 1.9.0, 1.10.0. */');
  });

  it('accept any value for fields of unknown type', async () => {
    const types = generatedCode(
      model('p1', { 'Main:T': record({ far: { kind: 'named', name: 'p9:Far:Away', arguments: [] } }) }),
    );
    await checkTypes(types, ['{ far: 1 }', '{ far: null }'], ['{}']);
  });
});
