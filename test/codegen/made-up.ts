/** Packages for tests, and programs with values of the generated types. */
import { expect } from 'vitest';
import { typescriptOf } from '../../packages/codegen/src/typescript/typescript.ts';
import type { DamlField, DamlType, DataType, PackageModel, TemplateModel } from '../../src/daml/package-model.ts';
import { byNameAndVersion } from '../../src/daml/package-order.ts';
import * as typeWalk from '../../src/daml/type-walk.ts';
import { compileErrors } from './compiled.ts';

export const int: DamlType = { kind: 'builtin', name: 'int64' };
export const text: DamlType = { kind: 'builtin', name: 'text' };
export const party: DamlType = { kind: 'builtin', name: 'party' };
export const unit: DamlType = { kind: 'builtin', name: 'unit' };
export const optional = (innerType: DamlType): DamlType => ({ kind: 'optional', of: innerType });
export const variable = (name: string): DamlType => ({ kind: 'variable', name });
export const namedType = (name: string, ...args: DamlType[]): DamlType => ({
  kind: 'named',
  name: `p1:${name}`,
  arguments: args,
});
export const record = (fields: Readonly<Record<string, DamlType>>, parameters: readonly string[] = []): DataType => ({
  kind: 'record',
  parameters,
  fields: partsOf(fields),
});
export const variant = (cases: Readonly<Record<string, DamlType>>, parameters: readonly string[] = []): DataType => ({
  kind: 'variant',
  parameters,
  cases: partsOf(cases),
});

function partsOf(types: Readonly<Record<string, DamlType>>): readonly DamlField[] {
  return Object.entries(types).map(([name, type]) => ({ name, type }));
}

export function template(entityName: string, choices: TemplateModel['choices'] = []): TemplateModel {
  return { moduleName: 'Main', entityName, choices, implements: [], key: undefined };
}

export function model(
  packageId: string,
  dataTypes: Readonly<Record<string, DataType>>,
  overrides: Partial<PackageModel> = {},
): PackageModel {
  const templates = [template('T')];
  const defaults = { name: 'made-up', version: '1.0.0', languageVersion: '2.1', interfaces: [], dependencies: [] };
  return { packageId, templates, dataTypes, ...defaults, ...overrides };
}

export function generatedCode(...packages: readonly PackageModel[]): string {
  return typescriptOf({
    packages,
    names: new Set(packages.map(({ name }) => name)),
    views: undefined,
    functions: { ...typeWalk, byNameAndVersion },
  });
}

/** A program with values that fit the payload of `made-up:Main:T`, and values that the compiler must reject. */
function program(validValues: readonly string[], bad: readonly string[] = []): string {
  return [
    "import type { Templates } from './ledger.js';",
    "type T = Templates['made-up:Main:T']['payload'];",
    ...validValues.map((value, index) => `export const good${String(index)}: T = ${value};`),
    ...bad.map((value, index) => `// @ts-expect-error\nexport const bad${String(index)}: T = ${value};`),
  ].join('\n');
}

/** Expects that the compiler accepts `good` as values of the type, and rejects `bad`. */
export async function checkTypes(types: string, validValues: readonly string[], bad: readonly string[]): Promise<void> {
  expect(await compileErrors({ 'ledger.ts': types, 'use.ts': program(validValues, bad) })).toBe('');
}
