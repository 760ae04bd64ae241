/** Views that a participant may compute differently than the stored ones, and views that count as different. */
import { describe, expect, it } from 'vitest';
import { isSameFailure, packageOfAddedView, packageOfRecomputation } from '../../src/cli/verify/computed-views.ts';
import { comparedRow } from '../../src/model/compared-rows.ts';

const [first, second, otherPackage, unreadPackage] = ['a1', 'b2', 'c3', 'd4'].map((digits) => digits.repeat(32)) as [
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

const computedViewRow = (packageId: string | null, view = '{"amount": "1"}'): Fields =>
  fields(view, '0', null, packageId);
const failedViewRow = (message = 'NO_VETTED_INTERFACE_IMPLEMENTATION_PACKAGE(9,1f0a): none'): Fields =>
  fields(null, '9', message, null);

describe('packageOfRecomputation() of a recomputed view', () => {
  it.each<[string, Fields, Fields, string]>([
    [
      'another version computes the view',
      computedViewRow(first),
      computedViewRow(second, '{"added": null}'),
      `${first} ${second}`,
    ],
    [
      'a package with an unread archive computes the view',
      computedViewRow(first),
      computedViewRow(unreadPackage),
      `${first} ${unreadPackage}`,
    ],
    ['the view fails, because no version is vetted now', computedViewRow(first), failedViewRow(), `${first} none`],
    ['the view failed before, because no version was vetted', failedViewRow(), computedViewRow(first), `none ${first}`],
    ['the view fails again in another request', failedViewRow(), failedViewRow('NO_VETTED(9,77aa): none'), 'none none'],
    ['another version fails', fields(null, '9', null, first), fields(null, '9', null, second), `${first} ${second}`],
    ['the view was redacted', fields(null, '0', null, first), fields(null, '0', null, second), `${first} ${second}`],
  ])('returns both packages if %s', (_caseName, storedView, sentView, pair) => {
    expect(packageOfRecomputation(storedView, sentView, packageNames)).toBe(pair);
  });
});

describe('packageOfRecomputation() of a different view', () => {
  it.each<[string, Fields, Fields]>([
    ['the package is the same', computedViewRow(first), computedViewRow(first, '{}')],
    ['the package has another name', computedViewRow(otherPackage), computedViewRow(first)],
    ['the stored package is not a package id', computedViewRow('planted'), computedViewRow(first)],
    ['no package is named', computedViewRow(null), computedViewRow(null, '{}')],
    ['a stored failure has a value', fields('{}', '9', null, null), computedViewRow(first)],
    ['a stored failure has the same package', fields(null, '9', null, first), computedViewRow(first)],
    ['a stored failure has no package id', fields(null, '9', null, 'planted'), computedViewRow(second)],
  ])('returns undefined if %s', (_caseName, storedView, sentView) => {
    expect(packageOfRecomputation(storedView, sentView, packageNames)).toBeUndefined();
  });
});

describe('packageOfAddedView()', () => {
  it('returns the package if a later version of the contract package computes the view', () => {
    expect(packageOfAddedView(computedViewRow(second), first, packageNames)).toBe(`none ${second}`);
  });

  it.each<[string, Fields]>([
    ['the package of the contract computes it', computedViewRow(first)],
    ['a package with another name computes it', computedViewRow(otherPackage)],
    ['a package without a stored name computes it', computedViewRow(unreadPackage)],
    ['the view fails', failedViewRow()],
    ['no package is named', computedViewRow(null)],
  ])('returns undefined if %s', (_caseName, sentView) => {
    expect(packageOfAddedView(sentView, first, packageNames)).toBeUndefined();
  });
});

describe('isSameFailure()', () => {
  const failed = (message: string): Fields => fields(null, '9', message, first);

  it('ignores the ids of the requests', () => {
    expect(isSameFailure(failed('DAML_FAILURE(9,1f0a): division'), failed('DAML_FAILURE(9,77bc): division'))).toBe(
      true,
    );
  });

  it.each<[string, Fields, Fields]>([
    ['the messages differ', failed('DAML_FAILURE(9,1f0a): division'), failed('DAML_FAILURE(9,1f0a): assertion')],
    ['the codes differ', failed('none'), fields(null, '10', 'none', first)],
    ['the packages differ', failed('none'), fields(null, '9', 'none', second)],
    ['no view failed', computedViewRow(first), computedViewRow(first)],
  ])('returns false if %s', (_caseName, storedView, sentView) => {
    expect(isSameFailure(storedView, sentView)).toBe(false);
  });
});
