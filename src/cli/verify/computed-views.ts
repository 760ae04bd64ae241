/**
 * Finds interface views that a participant has computed with another package than the stored views. A participant
 * computes views for each response, with the newest vetted version of the package. If no version is vetted, it sends a
 * failure. Pure.
 */
import { comparedFields } from '../../model/compared-rows.ts';

type Fields = readonly (string | null)[];

/** Replaces the package of a view that could not be computed. */
const noPackage = 'none';
const isPackageId = /^[0-9a-f]{64}$/u;

/**
 * The packages that computed the stored and the current view, as `THEN NOW`; undefined if the view should be equal to
 * the stored one.
 * @param storedFields fields of the kind `view`
 * @param ledgerFields the fields that the participant sent
 * @param packageNames known names of packages by id; versions of one package have the same name
 */
export function packageOfRecomputation(
  storedFields: Fields,
  ledgerFields: Fields,
  packageNames: ReadonlyMap<string, string>,
): string | undefined {
  const [previousPackage, now] = [computedBy(storedFields), computedBy(ledgerFields)];
  if (previousPackage === undefined || now === undefined) return undefined;
  // The failure message contains the id of the request, so two failures may differ.
  if (previousPackage === now) return previousPackage === noPackage ? `${previousPackage} ${now}` : undefined;
  const [previousName, currentName] = [packageNames.get(previousPackage), packageNames.get(now)];
  if (previousName !== undefined && currentName !== undefined && previousName !== currentName) return undefined;
  return `${previousPackage} ${now}`;
}

/** Package that computed a view; undefined if unknown, because a participant before release 3.5 does not name it. */
function computedBy(fields: Fields): string | undefined {
  const field = (name: (typeof comparedFields.view)[number]): string => fields[comparedFields.view.indexOf(name)] ?? '';
  const packageId = field('implementation_package_id');
  if (field('status_code') === '0') return isPackageId.test(packageId) ? packageId : undefined;
  return packageId === '' && ['', 'null'].includes(field('view')) ? noPackage : undefined;
}
