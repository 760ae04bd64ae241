/**
 * Which views of interfaces a participant has computed again with something else than when they were stored. It computes them
 * for each answer, with the newest version of the package that is vetted; without one it sends a failure. Pure.
 */
import { comparedFields } from '../../model/compared-rows.ts';

type Fields = readonly (string | null)[];

/** Stands for the package of a view that could not be computed. */
const none = 'none';
const isPackageId = /^[0-9a-f]{64}$/u;

/**
 * The packages that computed a view, then and now, as `THEN NOW`; undefined where it should be what is stored.
 * @param stored fields of the kind `view`
 * @param sent the same, of the participant
 * @param packageNames names of packages by id, as far as they are known: versions of one package have one name
 */
export function recomputedBy(
  stored: Fields,
  sent: Fields,
  packageNames: ReadonlyMap<string, string>,
): string | undefined {
  const [then, now] = [computedBy(stored), computedBy(sent)];
  if (then === undefined || now === undefined) return undefined;
  // The message of a failure names the request that it is the answer to.
  if (then === now) return then === none ? `${then} ${now}` : undefined;
  const [nameThen, nameNow] = [packageNames.get(then), packageNames.get(now)];
  if (nameThen !== undefined && nameNow !== undefined && nameThen !== nameNow) return undefined;
  return `${then} ${now}`;
}

/** Undefined where it cannot be told: a participant before release 3.5 names no package. */
function computedBy(fields: Fields): string | undefined {
  const field = (name: (typeof comparedFields.view)[number]): string => fields[comparedFields.view.indexOf(name)] ?? '';
  const packageId = field('implementation_package_id');
  if (field('status_code') === '0') return isPackageId.test(packageId) ? packageId : undefined;
  return packageId === '' && ['', 'null'].includes(field('view')) ? none : undefined;
}
