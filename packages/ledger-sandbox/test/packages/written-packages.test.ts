/** The package reader of the client reads the packages that the sandbox generates. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readPackageArchive } from '../../../../src/daml/package-archive.ts';
import type { PackageModel } from '../../../../src/daml/package-model.ts';
import { interfaceDefinition, nonconsuming, record, template, variant } from '../../src/daml-lf/declaration.ts';
import { archiveOf, writePackage } from '../../src/daml-lf/package-writer.ts';
import { readType } from '../../src/daml-lf/type-notation.ts';
import { initialLicensing, licensingUpgrade } from '../../src/demo/packages/applications.ts';
import { demoPackages } from '../../src/demo/sandbox.ts';
import { templateTypes } from '../../src/demo/packages/library.ts';
import { readArchive } from '../../src/packages/archive.ts';

const allPackages = [...demoPackages, licensingUpgrade];

describe('the packages of the demo', () => {
  it.each(allPackages.map((ownPackage) => [`${ownPackage.name} ${ownPackage.version}`, ownPackage] as const))(
    '%s is read as it is declared',
    (_, ownPackage) => {
      const model = readPackageArchive(archiveOf(ownPackage), ownPackage.id);
      expect(createHash('sha256').update(ownPackage.payload).digest('hex')).toBe(ownPackage.id);
      expect([model.name, model.version, model.languageVersion]).toEqual([ownPackage.name, ownPackage.version, '2.1']);
      const names = (entities: PackageModel['templates'] | PackageModel['interfaces']): readonly string[] =>
        entities.map(({ moduleName, entityName }) => `${moduleName}:${entityName}`);
      expect(names(model.templates)).toEqual(ownPackage.templates);
      expect(names(model.interfaces)).toEqual(ownPackage.interfaces);
      for (const id of model.dependencies) expect(allPackages.map((otherModel) => otherModel.id)).toContain(id);
      const { id, templates, interfaces } = readArchive(archiveOf(ownPackage));
      expect({ id, templates, interfaces }).toEqual({
        id: ownPackage.id,
        templates: ownPackage.templates,
        interfaces: ownPackage.interfaces,
      });
    },
  );

  it('differ in the upgrade only by an additional Optional field at the end of a license', () => {
    const [old, upgradedModel] = [initialLicensing, licensingUpgrade].map((ownPackage) => {
      const text = JSON.stringify(readPackageArchive(ownPackage.payload)).replaceAll(ownPackage.id, 'itself');
      return JSON.parse(text) as PackageModel;
    });
    const fieldsOf = (model: PackageModel | undefined): readonly string[] => {
      const license = model?.dataTypes['Licensing.License:License'];
      return license?.kind === 'record' ? license.fields.map(({ name }) => name) : [];
    };
    expect(fieldsOf(upgradedModel)).toEqual([...fieldsOf(old), 'seats']);
    const withoutLicense = (model: PackageModel | undefined): object => ({
      ...model,
      version: '',
      dataTypes: { ...model?.dataTypes, 'Licensing.License:License': undefined },
    });
    expect(withoutLicense(upgradedModel)).toEqual(withoutLicense(old));
  });
});

describe('the notation of types', () => {
  it('reads applied types, lists, pairs and units', () => {
    const text = { kind: 'builtin', code: 7, arguments: [] };
    const list = { kind: 'builtin', code: 10, arguments: [text] };
    expect(readType('[Text]')).toEqual(list);
    expect(readType('Map Text [Text]')).toEqual({ kind: 'builtin', code: 11, arguments: [text, list] });
    expect(readType('Optional (Box Text a)')).toEqual({
      kind: 'builtin',
      code: 9,
      arguments: [{ kind: 'named', name: 'Box', arguments: [text, { kind: 'variable', name: 'a' }] }],
    });
    expect(readType('(Text, ())')).toEqual({
      kind: 'named',
      name: 'DA.Types:Tuple2',
      arguments: [text, { kind: 'builtin', code: 0, arguments: [] }],
    });
  });

  it.each(['', '[Text', 'Text]', '(Text, Text', 'a Text', '10 Text', '{}'])('refuses %j', (source) => {
    expect(() => readType(source)).toThrow('which is not a type');
  });
});

describe('a declaration', () => {
  const declare = (modules: Parameters<typeof writePackage>[0]['modules']): PackageModel =>
    readPackageArchive(writePackage({ name: 'tried', version: '0.1.0', imports: [templateTypes], modules }).payload);

  it('may have enums, variants, parameters and a Numeric of any scale', () => {
    const { dataTypes, packageId } = declare({
      Main: {
        Colour: { kind: 'enum', cases: ['Red', 'Blue'] },
        Box: record({ content: 'a', size: 'Numeric 4' }, 'a'),
        Shape: variant({ Empty: '()', Square: { side: 'Int', colour: 'Colour' }, Boxed: 'Box Text' }),
      },
    });
    expect(dataTypes['Main:Colour']).toEqual({ kind: 'enum', cases: ['Red', 'Blue'] });
    expect(dataTypes['Main:Box']).toEqual({
      kind: 'record',
      parameters: ['a'],
      fields: [
        { name: 'content', type: { kind: 'variable', name: 'a' } },
        { name: 'size', type: { kind: 'numeric', scale: 4 } },
      ],
    });
    const shape = dataTypes['Main:Shape'];
    expect(shape?.kind === 'variant' ? shape.cases[1]?.type : undefined).toEqual({
      kind: 'named',
      name: `${packageId}:Main:Shape.Square`,
      arguments: [],
    });
  });

  it('resolves names in its module first, then in its package, and requires a module if there are several', () => {
    const { templates } = declare({
      One: { Thing: record({}), Seen: template({ thing: 'Thing' }, { implements: ['Viewed'] }) },
      Two: {
        Thing: record({}),
        ThingView: record({}),
        Viewed: interfaceDefinition('ThingView', { Viewed_Look: nonconsuming({ at: 'One:Thing' }, 'Thing') }),
      },
    });
    expect(templates[0]?.implements[0]).toMatch(/:Two:Viewed$/);
    expect(() => declare({ Three: { Bad: record({ field: 'Missing' }) } })).toThrow('no type is named Missing');
    const duplicatedNames = {
      A: { Thing: record({}) },
      B: { Thing: record({}) },
      C: { Bad: record({ field: 'Thing' }) },
    };
    expect(() => declare(duplicatedNames)).toThrow('more than one type is named Thing');
    expect(() => declare({ D: { Seen: template({}, { implements: ['Thing'] }), Thing: record({}) } })).toThrow(
      'Thing is implemented, but is not an interface',
    );
  });
});
