/**
 * Finds interface views that a participant has computed with another package than the stored views. A participant
 * computes views for each response, with the newest vetted version of the package. If no version is vetted, it sends a
 * failure. Pure.
 */
import { comparedFields } from '../../model/compared-rows.ts';

type Fields = readonly (string | null)[];

/** Replaces the package of a view that could not be computed. */
const none = 'none';
const isPackageId = /^[0-9a-f]{64}$/u;

/**
 * The packages that computed the stored and the current view, as `THEN NOW`; undefined if the view should be equal to
 * the stored one.
 * @param stored fields of the kind `view`
 * @param sent the fields that the participant sent
 * @param packageNames known names of packages by id; versions of one package have the same name
 */
export function recomputedBy(
  stored: Fields,
  sent: Fields,
  packageNames: ReadonlyMap<string, string>,
): string | undefined {
  const [then, now] = [computedBy(stored), computedBy(sent)];
  if (then === undefined || now === undefined) return undefined;
  // The failure message contains the id of the request, so two failures may differ.
  if (then === now) return then === none ? `${then} ${now}` : undefined;
  const [nameThen, nameNow] = [packageNames.get(then), packageNames.get(now)];
  if (nameThen !== undefined && nameNow !== undefined && nameThen !== nameNow) return undefined;
  return `${then} ${now}`;
}

/** Package that computed a view; undefined if unknown, because a participant before release 3.5 does not name it. */
function computedBy(fields: Fields): string | undefined {
  const field = (name: (typeof comparedFields.view)[number]): string => fields[comparedFields.view.indexOf(name)] ?? '';
  const packageId = field('implementation_package_id');
  if (field('status_code') === '0') return isPackageId.test(packageId) ? packageId : undefined;
  return packageId === '' && ['', 'null'].includes(field('view')) ? none : undefined;
}
