import { expect, it } from 'vitest';
import type { DamlType, PackageModel } from '../../../src/daml/package-model.ts';
import { documentKind, stepInto } from '../../../src/store/filters/document-types.ts';

const argument: DamlType = { kind: 'variable', name: 'a' };
const wide: DamlType = { kind: 'named', name: 'p:M:Wide', arguments: Array.from({ length: 20 }, () => argument) };
const nested: DamlType = { kind: 'named', name: 'p:M:Nest', arguments: [wide] };

/** `data Nest a = Nest { next : Nest (Wide a … a), value : a }` */
const packageModel = {
  packageId: 'p',
  dataTypes: {
    'M:Nest': {
      kind: 'record',
      parameters: ['a'],
      fields: [
        { name: 'next', type: nested },
        { name: 'value', type: argument },
      ],
    },
  },
} as unknown as PackageModel;

it('a type whose arguments grow with each step ends as a field of unknown type, and stays small', () => {
  const packages = (): PackageModel => packageModel;
  let types: readonly DamlType[] = [
    { kind: 'named', name: 'p:M:Nest', arguments: [{ kind: 'builtin', name: 'text' }] },
  ];
  expect(documentKind(stepInto(types, 'value', packages), packages)).toBe('text');
  for (let step = 0; step < 9; step += 1) {
    types = stepInto(types, 'next', packages);
    // Without the bound, the text is 20 times as long after each step.
    expect(JSON.stringify(types).length).toBeLessThan(100_000);
  }
  expect(documentKind(types, packages)).toBe('any');
});
