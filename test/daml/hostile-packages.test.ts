/** Tests packages that no compiler wrote. The reader must either read or reject each of them within a short time. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { omittedFieldsOf } from '../../src/daml/optional-fields.ts';
import { columnsOf } from '../../src/daml/payload-columns.ts';
import { attempt, longestMs, mutate, mutation } from './mutated-archives.ts';
import { code, message, PackageBuilder } from './package-builder.ts';
import { expectProperty } from '../support/chance/property.ts';

function richPackage(): Uint8Array {
  const build = new PackageBuilder();
  const pairType = build.typeName('Main', 'Pair');
  const pair = build.intern(build.data(pairType, build.builtin(code.text), build.builtin(code.int64)));
  const maybeType = build.synonym(build.typeName('Main', 'Maybe'), pair);
  build.module(
    'Main',
    [3, build.synonymDefinition('Maybe', ['a'], build.builtin(code.optional, build.variable('a')))],
    [
      4,
      build.dataType(
        'Pair',
        ['a', 'b'].map((typeName) => build.field(typeName, build.variable(typeName))),
        { parameters: ['a', 'b'] },
      ),
    ],
    [
      4,
      build.dataType('T', [build.field('x', maybeType), build.field('next', build.data(build.typeName('Main', 'T')))]),
    ],
    [6, message([1, build.name('T')], [9, message([1, build.builtin(code.party)])])],
    [8, message([2, build.name('I')], [6, pair])],
  );
  return build.payload();
}

describe('the package reader with mutated archives', () => {
  it('reads or rejects a small package', () => {
    const originalArchive = richPackage();
    expect(attempt(originalArchive)).toMatchObject({ name: 'built' });
    expectProperty(
      fc.property(mutation, (change) => {
        const outcome = attempt(mutate(originalArchive, change));
        if (typeof outcome === 'string') return;
        for (const name of Object.keys(outcome.dataTypes)) {
          columnsOf(`${outcome.packageId}:${name}`, () => outcome);
          omittedFieldsOf(`${outcome.packageId}:${name}`, () => outcome);
        }
      }),
      3000,
    );
  });

  it('reads or rejects arbitrary bytes', () => {
    expectProperty(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void attempt(bytes)),
      2000,
    );
  });
});

describe('the package reader with crafted packages', () => {
  it('rejects types that double in size with each entry of the type table', () => {
    const build = new PackageBuilder();
    let type = build.intern(build.builtin(code.text));
    for (let line = 0; line < 60; line++) type = build.intern(build.builtin(11, type, type));
    build.module('Main', [4, build.dataType('R', [build.field('x', type)])]);
    expect(attempt(build.payload())).toContain('a type is too large');
  });

  it('rejects many types that are too large in total', () => {
    const build = new PackageBuilder();
    let type = build.intern(build.builtin(code.text));
    for (let line = 0; line < 11; line++) type = build.intern(build.builtin(11, type, type));
    const fields = Array.from({ length: 100 }, (_, index) => build.field(`x${index}`, type));
    build.module('Main', [4, build.dataType('R', fields)]);
    expect(attempt(build.payload())).toContain('its types have more than');
  });

  it('rejects a long chain of nested types', () => {
    const build = new PackageBuilder();
    let type = build.intern(build.builtin(code.text));
    for (let line = 0; line < 20_000; line++) type = build.intern(build.builtin(code.list, type));
    build.module('Main', [4, build.dataType('R', [build.field('x', type)])]);
    expect(attempt(build.payload())).toContain('levels');
  });

  it('rejects fields with deeper and deeper types', () => {
    const build = new PackageBuilder();
    let type = build.intern(build.builtin(code.text));
    const fields = Array.from({ length: 110 }, (_, index) => {
      type = build.intern(build.builtin(code.list, type));
      return build.field(`x${index}`, type);
    });
    build.module('Main', [4, build.dataType('R', fields)]);
    expect(attempt(build.payload())).toContain('levels');
  });

  it('rejects a type with very many arguments', () => {
    const build = new PackageBuilder();
    const args = Array.from({ length: 20_000 }, () => build.builtin(code.text));
    const type = build.data(build.typeName('Main', 'R'), ...args);
    build.module('Main', [4, build.dataType('R', [build.field('x', type)])]);
    expect(attempt(build.payload())).toContain('arguments');
  });

  it('accepts a large type table whose entries are not used', () => {
    const build = new PackageBuilder();
    let type = build.intern(build.builtin(code.text));
    for (let line = 0; line < 20_000; line++) type = build.intern(build.apply(type, build.builtin(code.text)));
    build.module('Main', [4, build.dataType('R', [build.field('x', build.builtin(code.text))])]);
    expect(attempt(build.payload())).toMatchObject({ name: 'built' });
  });

  it('rejects an entry of the type table that refers to itself', () => {
    const build = new PackageBuilder();
    const self = build.intern(build.builtin(code.list, message([8, 0])));
    build.module('Main', [4, build.dataType('R', [build.field('x', self)])]);
    expect(attempt(build.payload())).toContain('no earlier interned type 0');
  });

  it('rejects a deeply nested type that does not use the type table', () => {
    const build = new PackageBuilder();
    let type = build.builtin(code.text);
    for (let level = 0; level < 2000; level++) type = build.builtin(code.list, type);
    build.module('Main', [4, build.dataType('R', [build.field('x', type)])]);
    expect(attempt(build.payload())).toContain('levels');
  });

  it('rejects type synonyms that refer to themselves', () => {
    const build = new PackageBuilder();
    const [a, b] = ['A', 'B'].map((name) => build.synonym(build.typeName('Main', name)));
    build.module(
      'Main',
      [3, build.synonymDefinition('A', [], b ?? message())],
      [3, build.synonymDefinition('B', [], a ?? message())],
      [4, build.dataType('R', [build.field('x', a ?? message())])],
    );
    expect(attempt(build.payload())).toContain('refers to itself');
  });

  it('rejects type synonyms that double in size with each use', () => {
    const build = new PackageBuilder();
    const useType = (level: number, innerType: Uint8Array): Uint8Array =>
      build.synonym(build.typeName('Main', `S${level}`), innerType);
    const a = build.variable('a');
    const synonyms = Array.from({ length: 40 }, (_, level) => {
      const body = level === 0 ? build.builtin(11, a, a) : useType(level - 1, useType(level - 1, a));
      return [3, build.synonymDefinition(`S${level}`, ['a'], body)] as const;
    });
    build.module('Main', ...synonyms, [
      4,
      build.dataType('R', [build.field('x', useType(39, build.builtin(code.text)))]),
    ]);
    expect(typeof attempt(build.payload())).toBe('string');
  });

  it('rejects a few strings that form very many names', () => {
    const build = new PackageBuilder();
    const longText = build.text('A'.repeat(60_000));
    const definitions = Array.from({ length: 400 }, () => {
      const name = build.segments([longText]);
      return [4, message([2, name], [4, 1], [5, message()])] as const;
    });
    build.module('Main', ...definitions);
    expect(attempt(build.payload())).toContain('characters');
  });

  it('rejects invalid names', () => {
    const build = new PackageBuilder();
    build.module('Main', [4, build.dataType('R', [build.field('x"; drop', build.builtin(code.text))])]);
    expect(attempt(build.payload())).toContain('not an identifier');
  });

  it('accepts data types that refer to each other many times', () => {
    const build = new PackageBuilder();
    const levels = Array.from({ length: 30 }, (_, level) => {
      const innerType = level === 0 ? build.builtin(code.text) : build.data(build.typeName('Main', `L${level - 1}`));
      const fields = Array.from({ length: 60 }, (_, index) => build.field(`f${index}`, innerType));
      return [4, build.dataType(`L${level}`, [...fields, build.field('last', build.builtin(9, innerType))])] as const;
    });
    build.module('Main', ...levels);
    const model = attempt(build.payload());
    if (typeof model === 'string') throw new Error(model);
    const cpuBefore = process.cpuUsage();
    const columns = columnsOf(`${model.packageId}:Main:L29`, () => model);
    const omittedFields = omittedFieldsOf(`${model.packageId}:Main:L29`, () => model);
    expect(process.cpuUsage(cpuBefore).user / 1_000).toBeLessThan(longestMs);
    expect(columns).toHaveLength(61);
    expect(omittedFields).toBeDefined();
  });
});
