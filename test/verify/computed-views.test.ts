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

describe('recomputedBy() of a recomputed view', () => {
  it.each<[string, Fields, Fields, string]>([
    ['another version computes the view', computed(first), computed(second, '{"added": null}'), `${first} ${second}`],
    ['a package with an unread archive computes the view', computed(first), computed(unread), `${first} ${unread}`],
    ['the view fails, because no version is vetted now', computed(first), failed(), `${first} none`],
    ['the view failed before, because no version was vetted', failed(), computed(first), `none ${first}`],
    ['the view fails again in another request', failed(), failed('NO_VETTED(9,77aa): none'), 'none none'],
    ['the view was redacted', fields(null, '0', null, first), fields(null, '0', null, second), `${first} ${second}`],
  ])('returns both packages if %s', (_what, stored, sent, pair) => {
    expect(recomputedBy(stored, sent, packageNames)).toBe(pair);
  });
});

describe('recomputedBy() of a different view', () => {
  it.each<[string, Fields, Fields]>([
    ['the package is the same', computed(first), computed(first, '{}')],
    ['the package has another name', computed(otherPackage), computed(first)],
    ['the stored package is not a package id', computed('planted'), computed(first)],
    ['no package is named', computed(null), computed(null, '{}')],
    ['a stored failure has a value', fields('{}', '9', null, null), computed(first)],
    ['a stored failure has a package', fields(null, '9', null, first), computed(second)],
  ])('returns undefined if %s', (_what, stored, sent) => {
    expect(recomputedBy(stored, sent, packageNames)).toBeUndefined();
  });
});
