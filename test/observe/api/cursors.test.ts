import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Cursors, type CursorScope } from '../../../src/observe/api/cursors.ts';
import { expectProperty } from '../../support/chance/property.ts';

const key = fc.array(fc.option(fc.string({ unit: 'grapheme' })), { minLength: 1, maxLength: 5 });
const scope: CursorScope = { caller: 'token-1', route: 'contracts', arguments: { party: 'alice::12', limit: 3 } };

describe('Cursors', () => {
  it('read what they wrote for the same scope', () => {
    const cursors = new Cursors();
    expectProperty(
      fc.property(key, (values) => {
        const text = cursors.write(values, scope);
        expect(text).toMatch(/^[\w-]+$/);
        expect(cursors.read(text, scope)).toEqual(values);
        const otherLimit = { ...scope, arguments: { ...scope.arguments, limit: 9, cursor: text, at_least_offset: 7 } };
        expect(cursors.read(text, otherLimit)).toEqual(values);
      }),
    );
  });

  it.each<[string, CursorScope]>([
    ['another caller', { ...scope, caller: 'token-2' }],
    ['another route', { ...scope, route: 'updates' }],
    ['another parameter', { ...scope, arguments: { ...scope.arguments, party: 'bob::12' } }],
    ['an additional parameter', { ...scope, arguments: { ...scope.arguments, state: 'all' } }],
    ['a missing parameter', { ...scope, arguments: { limit: 3 } }],
  ])('refuse a cursor for %s', (_, otherScope) => {
    const cursors = new Cursors();
    expect(cursors.read(cursors.write(['1'], scope), otherScope)).toBeUndefined();
  });

  it('refuse a cursor with any changed byte, and one of another process', () => {
    const cursors = new Cursors();
    const text = cursors.write(['42', null], scope);
    expect(new Cursors().read(text, scope)).toBeUndefined();
    const bytes = Buffer.from(text, 'base64url');
    for (const index of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(cursors.read(changed.toString('base64url'), scope), String(index)).toBeUndefined();
    }
    for (const other of ['', 'A', '****', text.slice(0, 10)]) expect(cursors.read(other, scope)).toBeUndefined();
  });
});
