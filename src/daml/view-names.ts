/**
 * Names of the generated views, which should be easy to type: `<package>__<template>`, or
 * `<package>__<template>__<choice>` for a choice, in snake case. A name depends only on the object it names, unless two
 * names would be equal.
 */
import { hashedName, identifierLimit, withoutHumps } from './identifiers.ts';

/** Suffix of the view with all contracts of a template. */
export const historySuffix = '__history';

export interface NamedThing {
  readonly packageName: string;
  readonly moduleName: string;
  /** Name of the template or interface. */
  readonly entityName: string;
  /** Name of the choice; empty for a template or interface. */
  readonly choice: string;
}

/**
 * The last two words of the package, then the template, then the choice without a leading template name. If that name
 * is in use, the next candidates are: with the unchanged choice, with the complete package name, with the module as
 * well, and finally with a hash. Names have at most 63 bytes, or 54 for a template, which leaves space for `__history`.
 * Longer names lose words of the package from the left, then words of the module.
 * @param taken names of views of other objects; those with `__history` need not be listed
 */
export function viewName(thing: NamedThing, taken: ReadonlySet<string>): string {
  const limit = thing.choice === '' ? identifierLimit - historySuffix.length : identifierLimit;
  const candidates = candidatesOf(thing, limit);
  const free = candidates.find((name) => isFree(name, taken));
  if (free !== undefined) return free;
  const { packageName, moduleName, entityName, choice } = thing;
  const identity = [packageName, moduleName, entityName, choice].join(':');
  for (let number = 1; ; number++) {
    const name = hashedName(candidates.at(-1) ?? '', `${identity}:${String(number)}`, limit);
    if (isFree(name, taken)) return name;
  }
}

/** Candidates for the name, in the order in which they are tried. */
function candidatesOf({ packageName, moduleName, entityName, choice }: NamedThing, limit: number): readonly string[] {
  const [ofPackage, ofModule] = [snakeCase(packageName), snakeCase(moduleName)];
  const entity = snakeCase(entityName);
  const chosen = snakeCase(choice);
  const ends =
    choice === ''
      ? [[entity]]
      : [chosen.startsWith(`${entity}_`) ? chosen.slice(entity.length + 1) : chosen, chosen].map((end) => [
          entity,
          end,
        ]);
  const starts = [[lastTwoWords(ofPackage)], [ofPackage], [ofPackage, ofModule]];
  return starts.flatMap((start) => ends.map((end) => fitted(start, end, limit)));
}

/** Replaces each run of characters other than letters and digits by one `_`. */
function snakeCase(name: string): string {
  const plain = withoutHumps(name)
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  return plain === '' ? 'x' : plain;
}

/** A number or version belongs to the preceding word. */
function lastTwoWords(name: string): string {
  return name
    .split(/_(?!v?\d)/)
    .slice(-2)
    .join('_');
}

/** @param start the words of the package and of the module */
function fitted(start: readonly string[], end: readonly string[], limit: number): string {
  let parts = start;
  while (joinName(parts, end).length > limit) {
    const long = parts.findIndex((part) => part.includes('_'));
    if (long < 0) break;
    parts = parts.map((part, at) => (at === long ? part.slice(part.indexOf('_') + 1) : part));
  }
  return joinName(parts, end).slice(0, limit).replace(/_+$/, '');
}

/** Joins the parts of a name. A name that begins with a digit would need quotes. */
function joinName(start: readonly string[], end: readonly string[]): string {
  const name = [...start, ...end].join('__');
  return /^\d/.test(name) ? `_${name}` : name;
}

/**
 * Whether the name is free. A choice named History must not get the name of a template's second view, nor vice versa.
 */
function isFree(name: string, taken: ReadonlySet<string>): boolean {
  if (taken.has(name) || taken.has(name + historySuffix)) return false;
  return !name.endsWith(historySuffix) || !taken.has(name.slice(0, -historySuffix.length));
}
