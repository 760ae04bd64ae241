/** Names of the generated views. */
import { identifierLimit, shortName } from './short-name.ts';

/** What the view of all contracts of a template has at the end of its name. */
export const historySuffix = '__history';

/**
 * `<package>__<template>`, in lower case with `_` for everything but letters and digits; with the module between the two
 * when that is taken. At most 54 bytes, so that the name with `__history` at its end fits.
 * @param taken names of views of other things; those with `__history` need not be listed
 */
export function templateViewName(
  packageName: string,
  moduleName: string,
  entityName: string,
  taken: ReadonlySet<string>,
): string {
  return freeName([packageName], moduleName, [entityName], identifierLimit - historySuffix.length, taken);
}

/** The same as for a template. */
export function interfaceViewName(
  packageName: string,
  moduleName: string,
  entityName: string,
  taken: ReadonlySet<string>,
): string {
  return templateViewName(packageName, moduleName, entityName, taken);
}

/** `<package>__<template>__<choice>`, or with the module when that is taken; at most 63 bytes. */
export function choiceViewName(
  packageName: string,
  moduleName: string,
  entityName: string,
  choice: string,
  taken: ReadonlySet<string>,
): string {
  return freeName([packageName], moduleName, [entityName, choice], identifierLimit, taken);
}

function freeName(
  before: readonly string[],
  moduleName: string,
  after: readonly string[],
  limit: number,
  taken: ReadonlySet<string>,
): string {
  const identity = [...before, moduleName, ...after].join(':');
  const brief = shortName(joined([...before, ...after]), identity, limit);
  if (isFree(brief, taken)) return brief;
  const full = joined([...before, moduleName, ...after]);
  let candidate = shortName(full, identity, limit);
  // Names that differ in capitals alone, or in what `_` stands for, are still the same here.
  for (let number = 2; !isFree(candidate, taken); number++) {
    candidate = shortName(full.padEnd(limit + 1, '_'), `${identity}:${number}`, limit);
  }
  return candidate;
}

function joined(parts: readonly string[]): string {
  return parts.map((part) => part.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_')).join('__');
}

/** A choice called History must not get the name of the template's second view, nor the other way round. */
function isFree(name: string, taken: ReadonlySet<string>): boolean {
  if (taken.has(name) || taken.has(name + historySuffix)) return false;
  return !name.endsWith(historySuffix) || !taken.has(name.slice(0, -historySuffix.length));
}
