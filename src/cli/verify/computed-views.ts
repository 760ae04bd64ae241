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

/**
 * Package that computed a view, or that failed to. Undefined if it is unknown, because a participant before release 3.5
 * does not name it.
 */
function computedBy(fields: Fields): string | undefined {
  const packageId = fieldOf(fields, 'implementation_package_id');
  if (fieldOf(fields, 'status_code') === '0') return isPackageId.test(packageId) ? packageId : undefined;
  if (!['', 'null'].includes(fieldOf(fields, 'view'))) return undefined;
  if (packageId === '') return noPackage;
  return isPackageId.test(packageId) ? packageId : undefined;
}

function fieldOf(fields: Fields, name: (typeof comparedFields.view)[number]): string {
  return fields[comparedFields.view.indexOf(name)] ?? '';
}

/** The id of a request in the message of a failure: a category and hexadecimal digits in parentheses. */
const requestId = /\(\d+,[0-9a-f]+\)/gu;

/** Whether two failures of the same package differ only in the ids of the requests that failed. */
export function isSameFailure(storedFields: Fields, ledgerFields: Fields): boolean {
  const textOf = (fields: Fields): string =>
    JSON.stringify(fields.map((field) => field?.replaceAll(requestId, '()') ?? null));
  return fieldOf(storedFields, 'status_code') !== '0' && textOf(storedFields) === textOf(ledgerFields);
}

/**
 * The packages of a view that is not stored, as {@link packageOfRecomputation} returns them. Undefined if the view
 * should be stored, because the package of the contract itself has computed it.
 * @param contractPackage package id of the template with which the contract was created
 */
export function packageOfAddedView(
  ledgerFields: Fields,
  contractPackage: string,
  packageNames: ReadonlyMap<string, string>,
): string | undefined {
  const now = computedBy(ledgerFields);
  if (now === undefined || now === noPackage || now === contractPackage) return undefined;
  const [contractName, currentName] = [packageNames.get(contractPackage), packageNames.get(now)];
  return contractName !== undefined && contractName === currentName ? `${noPackage} ${now}` : undefined;
}
