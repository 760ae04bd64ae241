/** Views that a participant may compute differently than the stored ones, and views that count as different. */
import { describe, expect, it } from 'vitest';
import { recomputedBy } from '../../src/cli/verify/computed-views.ts';
import { comparedRow } from '../../src/model/compared-rows.ts';

const [first, second, otherPackage, unread] = ['a1', 'b2', 'c3', 'd4'].map((two) => two.repeat(32)) as [
  string,
  string,
  string,
  string,
];
const packageNames = new Map([
  [first, 'tokens'],
  [second, 'tokens'],
  [otherPackage, 'bonds'],
]);

type Fields = readonly (string | null)[];

function fields(view: string | null, code: string, message: string | null, packageId: string | null): Fields {
  return comparedRow('view', 'view', {
    view,
    status_code: code,
    status_message: message,
    status_details: null,
    implementation_package_id: packageId,
  }).fields;
}

const computed = (packageId: string | null, view = '{"amount": "1"}'): Fields => fields(view, '0', null, packageId);
const failed = (message = 'NO_VETTED_INTERFACE_IMPLEMENTATION_PACKAGE(9,1f0a): none'): Fields =>
  fields(null, '9', message, null);

describe('a view is recomputed', () => {
  it.each<[string, Fields, Fields, string]>([
    ['by another version', computed(first), computed(second, '{"added": null}'), `${first} ${second}`],
    ['by a package whose archive was not read', computed(first), computed(unread), `${first} ${unread}`],
    ['and fails, because no version is vetted now', computed(first), failed(), `${first} none`],
    ['that failed, because no version was vetted then', failed(), computed(first), `none ${first}`],
    ['and fails again, in another request', failed(), failed('NO_VETTED(9,77aa): none'), 'none none'],
    ['that was redacted', fields(null, '0', null, first), fields(null, '0', null, second), `${first} ${second}`],
  ])('%s', (_what, stored, sent, pair) => {
    expect(recomputedBy(stored, sent, packageNames)).toBe(pair);
  });
});

describe('a view is different', () => {
  it.each<[string, Fields, Fields]>([
    ['although the package is the same', computed(first), computed(first, '{}')],
    ['if the package has another name, which is that of another contract', computed(otherPackage), computed(first)],
    ['if the stored package is not a package id', computed('planted'), computed(first)],
    ['if no package is named', computed(null), computed(null, '{}')],
    ['if a stored failure has a value', fields('{}', '9', null, null), computed(first)],
    ['if a stored failure has a package', fields(null, '9', null, first), computed(second)],
  ])('%s', (_what, stored, sent) => {
    expect(recomputedBy(stored, sent, packageNames)).toBeUndefined();
  });
});
