/**
 * A participant may compute interface views again, so that they differ from the stored views. Tests which differences
 * `verify` accepts.
 */
import { describe, expect, it } from 'vitest';
import { addedBy, recomputedBy } from '../../src/cli/verify/computed-views.ts';
import { comparedRow } from '../../src/model/compared-rows.ts';

const [first, second, otherPackage, unread, unlisted] = ['a1', 'b2', 'c3', 'd4', 'e5'].map((two) => two.repeat(32)) as [
  string,
  string,
  string,
  string,
  string,
];
const packages = {
  names: new Map([
    [first, 'tokens'],
    [second, 'tokens'],
    [otherPackage, 'bonds'],
  ]),
  ids: new Set([first, second, otherPackage, unread]),
};

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
const failed = (
  message = 'NO_VETTED_INTERFACE_IMPLEMENTATION_PACKAGE(9,1f0a): none',
  by: string | null = null,
): Fields => fields(null, '9', message, by);

describe('a view counts as recomputed', () => {
  it.each<[string, Fields, Fields, string]>([
    ['if another version computed it', computed(first), computed(second, '{"added": null}'), `${first} ${second}`],
    ['if a package whose archive was not read computed it', computed(first), computed(unread), `${first} ${unread}`],
    ['if it fails because no version is vetted now', computed(first), failed(), `${first} none`],
    ['if it failed because no version was vetted then', failed(), computed(first), `none ${first}`],
    ['if the archive of neither version was read', computed(unread), computed(second), `${unread} ${second}`],
    ['if it fails in the named package', computed(first), failed('DAML_FAILURE(9,1f0a): odd', second), `${first} none`],
    [
      'if it failed in the named package',
      failed('DAML_FAILURE(9,1f0a): odd', first),
      computed(second),
      `none ${second}`,
    ],
    ['if it fails again in another request', failed(), failed('NO_VETTED(9,77aa): none'), 'none none'],
    ['if it was redacted', fields(null, '0', null, first), fields(null, '0', null, second), `${first} ${second}`],
  ])('%s', (_what, stored, sent, pair) => {
    expect(recomputedBy(stored, sent, packages)).toBe(pair);
  });
});

describe('a view counts as different', () => {
  it.each<[string, Fields, Fields]>([
    ['if its package is the same', computed(first), computed(first, '{}')],
    ['if its package belongs to another package name', computed(otherPackage), computed(first)],
    ['if its stored package is not a package id', computed('planted'), computed(first)],
    ['if it has no package', computed(null), computed(null, '{}')],
    ['if a stored failure has a value', fields('{}', '9', null, null), computed(first)],
    [
      'if a stored failure has a package that is not a package id',
      fields(null, '9', null, 'planted'),
      computed(second),
    ],
    [
      'if a stored failure has a package that the participant does not list',
      fields(null, '9', null, unlisted),
      failed(),
    ],
    ['if the participant does not list the stored package', computed(unlisted), computed(second)],
  ])('%s', (_what, stored, sent) => {
    expect(recomputedBy(stored, sent, packages)).toBeUndefined();
  });
});

describe('a view that is not stored', () => {
  it.each<[string, Fields, string | undefined]>([
    ['is added by a later version of the package of its contract', computed(second), `none ${second}`],
    ['is added by a package whose archive was not read', computed(unread), `none ${unread}`],
    ['is missing if the package of its contract computed it', computed(first), undefined],
    ['is missing if a package with another name computed it', computed(otherPackage), undefined],
    ['is missing if it could not be computed', failed(), undefined],
    ['is missing if its package is not named', computed(null), undefined],
  ])('%s', (_what, sent, pair) => {
    expect(addedBy(sent, first, packages)).toBe(pair);
  });
});
