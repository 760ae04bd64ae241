/**
 * Interface views that a participant has computed with another package than the stored views. It computes views for each response,
 * with the newest vetted version of the package; without a vetted one it sends a failure. Pure.
 */
import { comparedFields } from '../../model/compared-rows.ts';

type Fields = readonly (string | null)[];

/** Used instead of the package of a view that could not be computed. */
const none = 'none';
const isPackageId = /^[0-9a-f]{64}$/u;

/**
 * The packages that computed a view, before and now, as `THEN NOW`; undefined if the view should equal the stored one.
 * @param stored fields of the kind `view`
 * @param sent the fields that the participant sent
 * @param packageNames known names of packages by id: versions of a package have the same name
 */
export function recomputedBy(
  stored: Fields,
  sent: Fields,
  packageNames: ReadonlyMap<string, string>,
): string | undefined {
  const [then, now] = [computedBy(stored), computedBy(sent)];
  if (then === undefined || now === undefined) return undefined;
  // The message of a failure contains the id of the request.
  if (then === now) return then === none ? `${then} ${now}` : undefined;
  const [nameThen, nameNow] = [packageNames.get(then), packageNames.get(now)];
  if (nameThen !== undefined && nameNow !== undefined && nameThen !== nameNow) return undefined;
  return `${then} ${now}`;
}

/** Undefined if it is unknown: a participant before release 3.5 does not name the package. */
function computedBy(fields: Fields): string | undefined {
  const field = (name: (typeof comparedFields.view)[number]): string => fields[comparedFields.view.indexOf(name)] ?? '';
  const packageId = field('implementation_package_id');
  if (field('status_code') === '0') return isPackageId.test(packageId) ? packageId : undefined;
  return packageId === '' && ['', 'null'].includes(field('view')) ? none : undefined;
}
