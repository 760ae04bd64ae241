/** Reads packages that the test builds. They have features that other compilers do not use. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import { readPackageArchive } from '../../src/daml/package-archive.ts';
import type { DamlType } from '../../src/daml/package-model.ts';
import { fieldsOf } from './models.ts';
import { code, message, PackageBuilder } from './package-builder.ts';

const text: DamlType = { kind: 'builtin', name: 'text' };
const party: DamlType = { kind: 'builtin', name: 'party' };
const namedType = (name: string, ...args: readonly DamlType[]): DamlType => ({ kind: 'named', name, arguments: args });
const optional = (innerType: DamlType): DamlType => ({ kind: 'optional', of: innerType });
const numeric = (scale: number): DamlType => ({ kind: 'numeric', scale });

function failure(readValue: () => unknown): IndexerError {
  try {
    readValue();
  } catch (error) {
    if (error instanceof IndexerError) return error;
    throw error;
  }
  throw new Error('it was read');
}

describe('the package reader with rare language features', () => {
  it('resolves type synonyms of the same package', () => {
    const build = new PackageBuilder();
    const pair = build.synonym(build.typeName('Other', 'Maybe'), build.builtin(code.text));
    build.module('Other', [
      3,
      build.synonymDefinition('Maybe', ['a'], build.intern(build.builtin(code.optional, build.variable('a')))),
    ]);
    build.module('Main', [4, build.dataType('R', [build.field('x', build.builtin(code.list, build.intern(pair)))])]);
    const model = readPackageArchive(build.payload());
    expect(fieldsOf(model, 'Main:R')).toEqual([['x', { kind: 'list', of: optional(text) }]]);
  });

  it('reads curried type applications, and packages from the import table', () => {
    const build = new PackageBuilder();
    const tuple = build.intern(build.data(build.typeName('DA.Types', 'Tuple2', 'tuples')));
    const amount = build.apply(build.builtin(code.numeric), build.natural(7));
    build.module('Main', [
      4,
      build.dataType('R', [build.field('x', build.intern(build.apply(tuple, amount, build.builtin(code.party))))]),
    ]);
    const model = readPackageArchive(build.payload({ minor: 'dev' }));
    expect(model.languageVersion).toBe('2.dev');
    expect(model.dependencies).toEqual(['tuples']);
    expect(fieldsOf(model, 'Main:R')).toEqual([['x', namedType('tuples:DA.Types:Tuple2', numeric(7), party)]]);
  });

  it('reads Numeric with a parameter as scale, and treats functions as opaque', () => {
    const build = new PackageBuilder();
    const fields = [
      build.field('amount', build.builtin(code.numeric, build.variable('n'))),
      build.field('apply', build.builtin(code.arrow, build.builtin(code.text), build.builtin(code.text))),
    ];
    build.module('Main', [4, build.dataType('R', fields, { parameters: ['n'] })]);
    expect(readPackageArchive(build.payload()).dataTypes['Main:R']).toEqual({
      kind: 'record',
      parameters: ['n'],
      fields: [
        { name: 'amount', type: { kind: 'numeric' } },
        { name: 'apply', type: { kind: 'opaque' } },
      ],
    });
  });

  it('reads keys and interfaces of a template', () => {
    const build = new PackageBuilder();
    const template = message(
      [1, build.name('T')],
      [9, message([1, build.builtin(code.party)])],
      [10, message([1, build.typeName('I', 'Iface', 'elsewhere')])],
    );
    build.module('Main', [6, template]);
    const model = readPackageArchive(build.payload());
    expect(model.templates).toEqual([
      { moduleName: 'Main', entityName: 'T', choices: [], implements: ['elsewhere:I:Iface'], key: party },
    ]);
    expect(model.dependencies).toEqual(['elsewhere']);
  });

  it('keeps a field with the name __proto__', () => {
    const build = new PackageBuilder();
    build.module('Main', [4, build.dataType('R', [build.field('__proto__', build.builtin(code.text))])]);
    expect(fieldsOf(readPackageArchive(build.payload()), 'Main:R')).toEqual([['__proto__', text]]);
  });

  it.each([
    ['language version 1', message([2, message()], [3, '17']), 'Daml-LF 1'],
    ['an archive without a package', message([3, '1']), 'not contain a package of Daml-LF 2'],
    ['an invalid language version', new PackageBuilder().payload({ minor: '1; drop' }), 'version of Daml-LF'],
    ['an invalid package name', new PackageBuilder().payload({ name: 'a b' }), 'name'],
    ['an invalid package version', new PackageBuilder().payload({ version: 'x' }), 'version'],
    ['an empty archive', new Uint8Array(), 'not contain a package'],
  ])('rejects %s', (_, bytes, reason) => {
    const error = failure(() => readPackageArchive(bytes));
    expect([error.code, error.exitCode]).toEqual(['PACKAGE_UNREADABLE', 65]);
    expect(error.message).toContain(reason);
    expect(error.facts['packageId']).toBe(createHash('sha256').update(bytes).digest('hex'));
  });
});
