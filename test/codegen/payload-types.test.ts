/** Generates types of packages that are built in the test. For each kind of type, some values fit and others do not. */
import { describe, expect, it } from 'vitest';
import {
  fits,
  generated,
  int,
  model,
  named,
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
    const types = generated(
      model('p1', {
        'Main:T': record({
          nested: optional(optional(int)),
          list: { kind: 'list', of: optional(text) },
          map: { kind: 'genmap', key: named('Main:Colour'), of: int },
          texts: { kind: 'textmap', of: { kind: 'numeric', scale: 10 } },
          id: { kind: 'contract_id', of: named('Main:T') },
          pair: named('Main:Pair', text, optional(int)),
          tree: named('Main:Tree', party),
          either: named('Main:Either', int, unit),
          note: optional(text),
        }),
        'Main:Colour': { kind: 'enum', cases: ['Red', "Off'White"] },
        'Main:Pair': record({ _1: variable('a'), _2: variable('b') }, ['a', 'b']),
        'Main:Tree': record({ value: variable('a'), below: { kind: 'list', of: named('Main:Tree', variable('a')) } }, [
          'a',
        ]),
        'Main:Either': variant({ Left: variable('a'), Right: variable('b') }, ['a', 'b']),
      }),
    );
    const value = `{ nested: [['1']], list: ['a', null], map: [['Red', '1'], ["Off'White", '2']], texts: { a: '1.0' }, id: '00ab',
      pair: { _1: 'x' }, tree: { value: 'p::1', below: [{ value: 'p::2', below: [] }] }, either: { tag: 'Right', value: {} } }`;
    const good = ['note: null', "note: 'n'", "nested: [], pair: { _1: 'x', _2: null }", 'nested: [[]]'];
    const bad = ['note: 1', 'nested: null', "map: [['Blue', '1']]", "either: { tag: 'Left', value: {} }", 'list: [1]'];
    const changed = (change: string): string => `{ ...good0, ${change} }`;
    await fits(types, [value, ...good.map(changed)], [...bad.map(changed), '{}']);
  });

  it('are renamed if their name is ambiguous, a TypeScript keyword or reserved', async () => {
    const own = model('p1', {
      'Main:T': record({
        class: named('Main:String'),
        'two words': named('Main:A.B'),
        "it's": named('Main:A_B'),
        date: named('Main:Date'),
        made: { kind: 'named', name: 'p2:Main:Array', arguments: [] },
        lower: { kind: 'named', name: 'p3:Main:Record', arguments: [] },
        any: named('Main:Box', text, int),
      }),
      'Main:String': record({ value: text }),
      'Main:A.B': record({ dotted: int }),
      'Main:A_B': record({ plain: int }),
      'Main:Date': record({ day: { kind: 'builtin', name: 'date' } }),
      'Main:Box': record({ string: variable('string'), number: variable('number') }, ['string', 'number']),
    });
    const others = [
      model('p2', { 'Main:Array': record({ capital: party }) }, { name: 'daml', templates: [] }),
      model('p3', { 'Main:Record': record({ small: party }) }, { name: 'DAML', templates: [] }),
    ];
    const value = (day: string): string =>
      `{ class: { value: '' }, 'two words': { dotted: '1' }, "it's": { plain: '1' }, date: { day: ${day} },
         made: { capital: '' }, lower: { small: '' }, any: { string: '', number: '1' } }`;
    const types = generated(own, ...others);
    await fits(types, [value("'2026-03-02'")], [value('1')]);
    expect(generated(...others, own)).toBe(types);
  });

  it('accept contracts of earlier versions and of other packages with the same name', async () => {
    const one = model('p1', { 'Main:T': record({ owner: party }) });
    const two = model(
      'p2',
      { 'Main:T': record({ owner: party, twice: optional(optional(int)), note: optional(text) }) },
      { version: '1.10.0' },
    );
    const older = generated(two, one);
    await fits(
      older,
      ["{ owner: '' }", "{ owner: '', twice: [] }", "{ owner: '', note: null }"],
      ["{ owner: '', note: 1 }"],
    );
    const unlawful = model('p3', { 'Main:T': record({ holder: party }) }, { version: '1.9.0' });
    const both = generated(unlawful, one, two);
    await fits(both, ["{ owner: '', note: 'n' }", "{ holder: '' }"], ["{ other: '' }"]);
    expect(both).toContain('/** Versions 1.0.0, 1.9.0, 1.10.0. */');
  });

  it('accept any value for fields of unknown type', async () => {
    const types = generated(
      model('p1', { 'Main:T': record({ far: { kind: 'named', name: 'p9:Far:Away', arguments: [] } }) }),
    );
    await fits(types, ['{ far: 1 }', '{ far: null }'], ['{}']);
  });
});
