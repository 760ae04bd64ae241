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

it('a type whose arguments grow with each step ends as a field of unknown type, in little time', () => {
  const began = performance.now();
  const packages = (): PackageModel => packageModel;
  let types: readonly DamlType[] = [
    { kind: 'named', name: 'p:M:Nest', arguments: [{ kind: 'builtin', name: 'text' }] },
  ];
  expect(documentKind(stepInto(types, 'value', packages), packages)).toBe('text');
  for (let step = 0; step < 9; step += 1) types = stepInto(types, 'next', packages);
  expect(documentKind(types, packages)).toBe('any');
  expect(performance.now() - began).toBeLessThan(1_000);
});
