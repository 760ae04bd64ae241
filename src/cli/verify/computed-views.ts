/**
 * Finds interface views that a participant has computed with another package than the stored views. A participant
 * computes views for each response, with the newest vetted version of the package. If no version is vetted, it sends a
 * failure. Pure.
 */
import { comparedFields } from '../../model/compared-rows.ts';

type Fields = readonly (string | null)[];

/** The packages that a comparison knows. */
export interface KnownPackages {
  /** Names by package id, as far as they are known: versions of a package have the same name. */
  readonly names: ReadonlyMap<string, string>;
  /** The ids that the participant lists. */
  readonly ids: ReadonlySet<string>;
}

/** Used instead of the package of a view that could not be computed, or did not exist. */
const none = 'none';
const isPackageId = /^[0-9a-f]{64}$/u;

/**
 * The packages that computed the stored and the current view, as `THEN NOW`; undefined if the view should be equal to
 * the stored one.
 * @param stored fields of the kind `view`
 * @param sent the fields that the participant sent
 */
export function recomputedBy(stored: Fields, sent: Fields, packages: KnownPackages): string | undefined {
  const [then, now] = [computedBy(stored), computedBy(sent)];
  if (then === undefined || now === undefined || !isKnown(field(stored, 'implementation_package_id'), packages))
    return undefined;
  // The failure message contains the id of the request, so two failures may differ.
  if (then === now) return then === none ? `${then} ${now}` : undefined;
  if (!haveOneName(then, now, packages)) return undefined;
  return `${then} ${now}`;
}

/**
 * `none NOW` for a view that is not stored, if the package of the contract did not compute it, but a later version of the
 * package that implements another interface. Undefined if the view is missing.
 * @param contractPackage the package of the template in the create
 */
export function addedBy(sent: Fields, contractPackage: string, packages: KnownPackages): string | undefined {
  const now = computedBy(sent);
  if (now === undefined || now === none || now === contractPackage) return undefined;
  return haveOneName(contractPackage, now, packages) ? `${none} ${now}` : undefined;
}

function isKnown(id: string, { names, ids }: KnownPackages): boolean {
  return id === '' || names.has(id) || ids.has(id);
}

/** Names that are not known count as equal. */
function haveOneName(then: string, now: string, { names }: KnownPackages): boolean {
  const [nameThen, nameNow] = [names.get(then), names.get(now)];
  return nameThen === undefined || nameNow === undefined || nameThen === nameNow;
}

/** Package that computed a view; undefined if unknown, because a participant before release 3.5 does not name it. */
function computedBy(fields: Fields): string | undefined {
  const packageId = field(fields, 'implementation_package_id');
  if (field(fields, 'status_code') === '0') return isPackageId.test(packageId) ? packageId : undefined;
  // A failed view may name the package that failed.
  const isEmpty = ['', 'null'].includes(field(fields, 'view'));
  return isEmpty && (packageId === '' || isPackageId.test(packageId)) ? none : undefined;
}

function field(fields: Fields, name: (typeof comparedFields.view)[number]): string {
  return fields[comparedFields.view.indexOf(name)] ?? '';
}
